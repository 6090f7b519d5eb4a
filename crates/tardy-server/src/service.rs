//! What all requests share.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::body::Bytes;
use axum::http::StatusCode;
use tardy_alert::{AlertLog, Rules, RulesError};
use tardy_archive::{Action, ArchiveError, Audit, AuditLine, Store, records_directory};
use tardy_site::archive::{About, Served};
use tardy_sys::files;

use crate::access::rates::Rates;
use crate::access::token::Tokens;
use crate::access::who::Who;
use crate::answer::Refusal;
use crate::boards::Changes;
use crate::clock::now;
use crate::metrics::Metrics;
use crate::serve_error::ServeError;
use crate::settings::{OpenStore, Settings};
use crate::sharing::{News, locked};
use crate::writer::Writer;

/// Rules are used when they have not been written for this long.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// The file that a server holds.
const LOCK: &str = "lock";
const LOCK_MODE: u32 = 0o600;
/// Rendered pages are kept up to this many bytes.
const PAGES_MAX: usize = 64 << 20;

/// What all requests share.
pub(crate) struct Service {
    pub(crate) settings: Settings,
    pub(crate) rates: Rates,
    pub(crate) metrics: Metrics,
    pub(crate) changes: Changes,
    pub(crate) writer: Writer,
    pub(crate) alerts: Mutex<AlertLog>,
    pub(crate) audit: Arc<Mutex<Audit>>,
    pub(crate) news: Arc<News>,
    /// Held so that one server at a time changes the records.
    _lock: Option<File>,
    open: Arc<OpenStore>,
    tokens: Mutex<(Option<SystemTime>, Arc<Tokens>)>,
    pages: Mutex<BTreeMap<String, (String, Bytes)>>,
}

/// The lock of the server of these records.
fn lock(archive: &Path) -> Result<File, ServeError> {
    let directory = records_directory(archive)?;
    let opened = directory.own_file(LOCK.as_ref(), LOCK_MODE);
    let file = opened.map_err(ArchiveError::io(directory.path().join(LOCK)))?;
    files::hold(&file).map_err(|_| ServeError::Served(archive.to_owned()))?;
    Ok(file)
}

impl Service {
    /// Opens the records of the archive.
    pub(crate) fn new(settings: Settings, open: OpenStore) -> Result<Self, ServeError> {
        let archive = &settings.archive;
        let (lock, audit, alerts) = match settings.may_write {
            true => (Some(lock(archive)?), Audit::open(archive)?, AlertLog::open(archive)?),
            false => (None, Audit::open_to_read(archive)?, AlertLog::open_to_read(archive)?),
        };
        let open = Arc::new(open);
        let audit = Arc::new(Mutex::new(audit));
        let news = Arc::new(News::default());
        Ok(Self {
            rates: Rates::default(),
            metrics: Metrics::default(),
            changes: Changes::default(),
            writer: Writer::start(Arc::clone(&open), Arc::clone(&audit), Arc::clone(&news)),
            alerts: Mutex::new(alerts),
            audit,
            news,
            _lock: lock,
            open,
            tokens: Mutex::default(),
            pages: Mutex::default(),
            settings,
        })
    }

    /// Opens the archive.
    pub(crate) fn store(&self) -> Result<Box<dyn Store>, ArchiveError> {
        (self.open)()
    }

    /// What pages say about themselves.
    pub(crate) fn about(&self) -> About {
        let pending_alerts = locked(&self.alerts).alerts().filter(|alert| alert.state.is_pending()).count();
        About {
            archive: String::new(),
            command: String::new(),
            made_by: self.settings.made_by.clone(),
            served: Some(Served { pending_alerts }),
        }
    }

    /// The tokens, read again if their file changed: a revoked token is refused at once.
    pub(crate) fn tokens(&self) -> Result<Arc<Tokens>, Refusal> {
        let changed =
            std::fs::metadata(Tokens::path(&self.settings.archive)).and_then(|data| data.modified()).ok();
        let mut known = locked(&self.tokens);
        if known.0 != changed || changed.is_none() {
            let tokens = Tokens::read(&self.settings.archive).map_err(|error| {
                eprintln!("tardy serve: {error}");
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the server cannot read its tokens")
            })?;
            *known = (changed, Arc::new(tokens));
        }
        Ok(Arc::clone(&known.1))
    }

    /// The rules of alerts.
    ///
    /// # Errors
    /// What is wrong with them, which is reported too. No run may count as looked at until they are mended.
    pub(crate) fn rules(&self) -> Result<Rules, RulesError> {
        if !self.settings.may_write {
            // Another server of the archive raises alerts.
            return Ok(Rules::default());
        }
        Rules::read(&self.settings.archive)
            .inspect_err(|error| self.news.report_once(&format!("no alerts are raised: {error}")))
    }

    /// Whether nobody has just written the rules. An editor's file is empty for a moment, and that would be no rules at all.
    pub(crate) fn rules_are_settled(&self) -> bool {
        let modified =
            std::fs::metadata(Rules::path(&self.settings.archive)).and_then(|data| data.modified());
        // A time in the future is one of a clock that jumped.
        !modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < SETTLED_AFTER))
    }

    /// Adds a line to the audit log.
    pub(crate) fn note(
        &self,
        who: &Who,
        action: Action,
        subject: &str,
        detail: &str,
    ) -> Result<(), ArchiveError> {
        locked(&self.audit).add(&[AuditLine {
            at: now(),
            who: who.name(),
            action,
            subject: subject.to_owned(),
            detail: detail.to_owned(),
        }])
    }

    /// The page of this name that was made from what `digest` stands for, made now if it was not.
    pub(crate) fn page<E>(
        &self,
        name: &str,
        digest: &str,
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<Bytes, E> {
        if let Some((known, page)) = locked(&self.pages).get(name)
            && known == digest
        {
            return Ok(page.clone());
        }
        let page = Bytes::from(make()?);
        let mut pages = locked(&self.pages);
        if pages.values().map(|(_, page)| page.len()).sum::<usize>() + page.len() > PAGES_MAX {
            pages.clear();
        }
        pages.insert(name.to_owned(), (digest.to_owned(), page.clone()));
        Ok(page)
    }
}
