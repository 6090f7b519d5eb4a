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
use crate::sharing::locked;

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
            match follower.look() {
                Ok(()) | Err(ArchiveError::Unknown(_)) => {}
                Err(error) => service.news.report_once(&error.to_string()),
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
        self.runs(&*store, &rules, added, &boards, rules_changed)?;
        for board in &boards {
            if rules_changed || !self.service.changes.is_current(board) {
                self.board(&*store, &rules, board)?;
            }
        }
        (self.mark, self.rules) = (Some(mark), rules);
        Ok(())
    }

    /// The first time that an archive is served, the newest run of each board is looked at later, and the others never: an archive of
    /// years would raise an alert for each of its boards.
    fn begin(&mut self, store: &dyn Store) -> Result<(), ArchiveError> {
        if !self.has_begun && locked(&self.service.alerts).is_new() {
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
        match store.open(address) {
            Ok(run) => Ok(of_run(rules, address, &run)),
            // It was deleted since, or is damaged, which 'archive verify' reports.
            Err(error @ (ArchiveError::Unknown(_) | ArchiveError::Damaged { .. })) => {
                self.service.news.report_once(&error.to_string());
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
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
