//! What all requests share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use tardy_alert::{AlertLog, Rules, State};
use tardy_archive::{Action, ArchiveError, Audit, AuditLine, Store};
use tardy_site::archive::{About, Served};

use crate::access::Who;
use crate::access::rates::Rates;
use crate::access::token::Tokens;
use crate::answer::Refusal;
use crate::boards::Changes;
use crate::clock::now;
use crate::metrics::Metrics;
use crate::writer::Writer;

/// Opens the archive. Requests open it for themselves, so that an index that is made again is noticed.
pub type OpenStore = Box<dyn Fn() -> Result<Box<dyn Store>, ArchiveError> + Send + Sync>;

/// Rendered pages are kept up to this many bytes.
const PAGES_MAX: usize = 64 << 20;

/// Who may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Anyone who reaches the server.
    Anyone,
    /// Holders of a token with the scope `read`.
    Tokens,
}

/// How the server was asked to work.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory that has the archive's records: tokens, alerts, the audit log.
    pub archive: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The names by which it may be asked, besides `localhost` and addresses in numbers.
    pub names: Vec<String>,
    /// Who may read.
    pub reading: Reading,
    /// The program, for pages.
    pub made_by: String,
}

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
    open: Arc<OpenStore>,
    tokens: Mutex<(Option<SystemTime>, Arc<Tokens>)>,
    pages: Mutex<BTreeMap<String, (String, Arc<String>)>>,
}

impl Service {
    /// Opens the records of the archive.
    pub(crate) fn new(settings: Settings, open: OpenStore) -> Result<Self, ArchiveError> {
        let open = Arc::new(open);
        let audit = Arc::new(Mutex::new(Audit::open(&settings.archive)?));
        let news = Arc::new(News::default());
        Ok(Self {
            rates: Rates::default(),
            metrics: Metrics::default(),
            changes: Changes::default(),
            writer: Writer::start(Arc::clone(&open), Arc::clone(&audit), Arc::clone(&news)),
            alerts: Mutex::new(AlertLog::open(&settings.archive)?),
            audit,
            news,
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
        let alerts = locked(&self.alerts);
        let pending_alerts = [State::Open, State::Acknowledged].map(|state| alerts.count(state)).iter().sum();
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

    /// The rules of alerts. Wrong ones are reported, and there are none then.
    pub(crate) fn rules(&self) -> Rules {
        Rules::read(&self.settings.archive).unwrap_or_else(|error| {
            self.news.report_once(&format!("no alerts: {error}"));
            Rules::default()
        })
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
    ) -> Result<Arc<String>, E> {
        if let Some((known, page)) = locked(&self.pages).get(name)
            && known == digest
        {
            return Ok(Arc::clone(page));
        }
        let page = Arc::new(make()?);
        let mut pages = locked(&self.pages);
        if pages.values().map(|(_, page)| page.len()).sum::<usize>() + page.len() > PAGES_MAX {
            pages.clear();
        }
        pages.insert(name.to_owned(), (digest.to_owned(), Arc::clone(&page)));
        Ok(page)
    }
}

/// Locks what no holder leaves half changed, even if it panics.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the threads that follow what happens: runs that were added, states that were set, the end of the server.
#[derive(Debug, Default)]
pub(crate) struct News {
    state: Mutex<NewsState>,
    changed: Condvar,
    reported: Mutex<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NewsState {
    count: u64,
    ended: bool,
}

impl News {
    /// Something happened.
    pub(crate) fn tell(&self) {
        locked(&self.state).count += 1;
        self.changed.notify_all();
    }

    /// The server ends.
    pub(crate) fn end(&self) {
        locked(&self.state).ended = true;
        self.changed.notify_all();
    }

    /// Waits until something happened since the caller's `seen`, or for `at_most`. Returns false when the server ends.
    pub(crate) fn wait(&self, seen: &mut u64, at_most: Duration) -> bool {
        let state = locked(&self.state);
        let nothing_new = |state: &mut NewsState| state.count == *seen && !state.ended;
        let (state, _) = self
            .changed
            .wait_timeout_while(state, at_most, nothing_new)
            .unwrap_or_else(PoisonError::into_inner);
        *seen = state.count;
        !state.ended
    }

    /// Reports a problem that lasts, once.
    pub(crate) fn report_once(&self, problem: &str) {
        let mut reported = locked(&self.reported);
        if *reported != problem {
            eprintln!("tardy serve: {problem}");
            problem.clone_into(&mut reported);
        }
    }
}
