//! The thread that looks at what was added, by pushes or by other processes: it finds the newest change of each board, and raises
//! alerts.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tardy_alert::{Rules, of_history, of_run};
use tardy_archive::{Address, ArchiveError, BoardRuns, Mark, Query, Store};
use tardy_compare::history;
use tardy_present::history as shown;

use crate::clock::now;
use crate::service::{SETTLED_AFTER, Service};
use crate::sharing::{Panicked, caught, locked};

/// How long runs that another process adds may stay unnoticed.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How much longer than a look the pause after it is. A look reads all runs of each board that has a new one: without a pause it would
/// take a CPU from those who push, once for each batch.
const PAUSE: u32 = 3;
/// Runs that are looked at before that is noted.
const AT_A_TIME: usize = 64;

/// Follows until the server ends.
pub(crate) fn follow(service: &Service) {
    let mut seen = 0;
    let mut follower = Follower { service, mark: None, rules: Rules::default(), has_begun: false };
    loop {
        let began = Instant::now();
        let wait = if service.rules_are_settled() {
            match caught(|| follower.look()) {
                Ok(Ok(()) | Err(ArchiveError::Unknown(_))) | Err(Panicked) => {}
                Ok(Err(error)) => service.news.report_once(&error.to_string()),
            }
            LOOK_EVERY
        } else {
            SETTLED_AFTER
        };
        if !service.news.pause(began.elapsed() * PAUSE) || !service.news.wait(&mut seen, wait) {
            return;
        }
    }
}

struct Follower<'a> {
    service: &'a Service,
    mark: Option<Mark>,
    rules: Rules,
    has_begun: bool,
}

impl Follower<'_> {
    fn look(&mut self) -> Result<(), ArchiveError> {
        let store = self.service.store()?;
        self.begin(&*store)?;
        let Ok(rules) = self.service.rules() else { return Ok(()) };
        let (added, mark) = store.added_since(self.mark.as_ref())?;
        let rules_changed = rules != self.rules;
        if added.is_empty() && !rules_changed && self.mark.is_some() {
            return Ok(());
        }
        let boards = store.boards()?;
        if self.service.settings.may_write {
            self.runs(&*store, &rules, added, &boards, rules_changed)?;
        }
        for board in &boards {
            if rules_changed || !self.service.changes.is_current(board) {
                match caught(|| self.board(&*store, &rules, board)) {
                    Ok(Err(error)) if !error.is_of_one_run() => return Err(error),
                    Ok(Ok(())) => {}
                    outcome => self.note_unreadable(&board.machine, outcome.ok().and_then(Result::err)),
                }
            }
        }
        (self.mark, self.rules) = (Some(mark), rules);
        Ok(())
    }

    /// The first time that an archive is served, the newest run of each board is looked at later, and the others never: an archive of
    /// years would raise an alert for each of its boards.
    fn begin(&mut self, store: &dyn Store) -> Result<(), ArchiveError> {
        if !self.has_begun && self.service.settings.may_write && locked(&self.service.alerts).is_new() {
            let newest: BTreeSet<Address> = store.boards()?.into_iter().map(|board| board.newest.0).collect();
            let (runs, _) = store.added_since(None)?;
            let older = runs.into_iter().filter(|run| !newest.contains(run)).collect();
            locked(&self.service.alerts).note_checked(older)?;
        }
        self.has_begun = true;
        Ok(())
    }

    /// Looks at runs that were added, and if the rules changed, at the newest run of each board.
    fn runs(
        &self,
        store: &dyn Store,
        rules: &Rules,
        added: Vec<Address>,
        boards: &[BoardRuns],
        rules_changed: bool,
    ) -> Result<(), ArchiveError> {
        let mut unchecked: Vec<Address> = {
            let alerts = locked(&self.service.alerts);
            added.into_iter().filter(|run| !alerts.is_checked(run)).collect()
        };
        if rules_changed {
            let known: BTreeSet<Address> = unchecked.iter().cloned().collect();
            let newest: BTreeSet<&Address> = boards.iter().map(|board| &board.newest.0).collect();
            unchecked.extend(newest.into_iter().filter(|run| !known.contains(run)).cloned());
        }
        for runs in unchecked.chunks(AT_A_TIME) {
            let mut findings = Vec::new();
            for run in runs {
                if !rules.rules.is_empty() {
                    findings.extend(self.findings(store, rules, run)?);
                }
            }
            let mut alerts = locked(&self.service.alerts);
            if alerts.raise(&findings, &now())? {
                self.service.news.tell();
            }
            let unknown = runs.iter().filter(|run| !alerts.is_checked(run)).cloned().collect();
            alerts.note_checked(unknown)?;
        }
        Ok(())
    }

    fn findings(
        &self,
        store: &dyn Store,
        rules: &Rules,
        address: &Address,
    ) -> Result<Vec<tardy_alert::Finding>, ArchiveError> {
        match caught(|| store.open(address).map(|run| of_run(rules, address, &run))) {
            Ok(Ok(findings)) => Ok(findings),
            Ok(Err(error)) if !error.is_of_one_run() => Err(error),
            // It was deleted since, or cannot be read. The others are looked at.
            outcome => {
                self.note_unreadable(&address.to_string(), outcome.ok().and_then(Result::err));
                Ok(Vec::new())
            }
        }
    }

    /// Reports a run or a board for which no alert is raised. Without an error, the program's output has the reason.
    fn note_unreadable(&self, what: &str, error: Option<ArchiveError>) {
        let reason = error.map_or_else(|| "a fault of tardy".to_owned(), |error| error.to_string());
        self.service.news.report_once(&format!(
            "no alert is raised for {what}: {reason}; 'tardy archive verify' lists every run that cannot be read"
        ));
    }

    fn board(&self, store: &dyn Store, rules: &Rules, board: &BoardRuns) -> Result<(), ArchiveError> {
        let runs = store.find(&Query::of_machine(&board.machine))?;
        let entries = runs.iter().map(|(_, entry)| entry.history.clone()).collect();
        let history = history::of(entries, history::MOST_P, history::LEAST_CHANGE);
        let findings = of_history(rules, &board.machine, &history, &runs);
        if locked(&self.service.alerts).raise(&findings, &now())? {
            self.service.news.tell();
        }
        self.service.changes.note(board, shown::newest_change(&history));
        Ok(())
    }
}
