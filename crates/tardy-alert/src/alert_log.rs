//! The alerts of an archive: a log of what was raised, of states that were set, and of runs that were looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tardy_archive::{Address, ArchiveError, Log, sha256};

use crate::alert::{Alert, Note, State};
use crate::raise::Finding;

const FILE: &str = "alerts.jsonl";
const CHECKED: &str = "checked.jsonl";
/// Digits of an identity.
const ID_DIGITS: usize = 16;

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    /// An alert was raised.
    Raised { at: String, id: String, rule: String, board: String, run: Address, text: String },
    /// Another run broke the rule of an alert that is pending.
    Again { at: String, id: String, run: Address, text: String },
    /// A person set a state.
    Set { id: String, note: Note },
    /// A webhook has received what the first `lines` lines say.
    Told { url: String, lines: usize },
}

/// The alerts of an archive.
#[derive(Debug)]
pub struct AlertLog {
    log: Log,
    checked_log: Log,
    checked: BTreeSet<Address>,
    alerts: BTreeMap<String, Alert>,
    /// The identities of alerts in the order in which they were raised.
    order: Vec<String>,
    /// Of each line of the log the alert that it is about.
    subjects: Vec<Option<String>>,
    /// How many lines each webhook knows.
    told: BTreeMap<String, usize>,
}

impl AlertLog {
    /// Opens the alerts of the archive at `archive`.
    ///
    /// # Errors
    /// If the file system does not permit it, or the log is damaged.
    pub fn open(archive: &Path) -> Result<Self, ArchiveError> {
        Ok(Self::of(Log::open(archive, FILE)?, Log::open(archive, CHECKED)?))
    }

    /// The alerts of an archive that may only be read: changing them fails.
    ///
    /// # Errors
    /// If the log is damaged.
    pub fn open_to_read(archive: &Path) -> Result<Self, ArchiveError> {
        Ok(Self::of(Log::open_to_read(archive, FILE)?, Log::open_to_read(archive, CHECKED)?))
    }

    fn of((log, events): (Log, Vec<Event>), (checked_log, checked): (Log, Vec<Address>)) -> Self {
        let mut opened = Self {
            log,
            checked_log,
            checked: checked.into_iter().collect(),
            alerts: BTreeMap::new(),
            order: Vec::new(),
            subjects: Vec::new(),
            told: BTreeMap::new(),
        };
        events.into_iter().for_each(|event| opened.apply(event));
        opened
    }

    /// All alerts, the newest first.
    pub fn alerts(&self) -> impl Iterator<Item = &Alert> {
        self.order.iter().rev().filter_map(|id| self.alerts.get(id))
    }

    /// An alert by its identity.
    pub fn alert(&self, id: &str) -> Option<&Alert> {
        self.alerts.get(id)
    }

    /// Whether no run was looked at yet.
    pub fn is_new(&self) -> bool {
        self.checked.is_empty()
    }

    /// Whether a run was looked at.
    pub fn is_checked(&self, run: &Address) -> bool {
        self.checked.contains(run)
    }

    /// Notes that runs were looked at.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn note_checked(&mut self, runs: Vec<Address>) -> Result<(), ArchiveError> {
        self.checked_log.add(&runs)?;
        self.checked.extend(runs);
        Ok(())
    }

    /// Raises alerts for these findings. A finding about a pending alert of the same rule and board belongs to that one. One about a
    /// run that already raised an alert changes nothing. Returns whether anything changed.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn raise(&mut self, findings: &[Finding], at: &str) -> Result<bool, ArchiveError> {
        let mut changed = false;
        for finding in findings {
            let Finding { rule, board, run, text } = finding;
            let id = sha256(format!("{rule}\n{board}\n{run}").as_bytes())[..ID_DIGITS].to_owned();
            let same =
                |alert: &&Alert| alert.rule == *rule && alert.board == *board && alert.state.is_pending();
            let (at, run, text) = (at.to_owned(), run.clone(), text.clone());
            let event = match self.alerts.values().find(same) {
                Some(alert) if alert.last_run == run || alert.run == run => continue,
                Some(alert) => Event::Again { at, id: alert.id.clone(), run, text },
                None if self.alerts.contains_key(&id) => continue,
                None => Event::Raised { at, id, rule: rule.clone(), board: board.clone(), run, text },
            };
            self.add(event)?;
            changed = true;
        }
        Ok(changed)
    }

    /// Sets the state of an alert, and returns the alert with it; `None` if there is no such alert.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn set(&mut self, id: &str, note: Note) -> Result<Option<&Alert>, ArchiveError> {
        if self.alerts.contains_key(id) {
            self.add(Event::Set { id: id.to_owned(), note })?;
        }
        Ok(self.alerts.get(id))
    }

    /// How many alerts have this state.
    pub fn count(&self, state: State) -> usize {
        self.alerts.values().filter(|alert| alert.state == state).count()
    }

    /// The alerts with news for a webhook, each once, and the number of lines that it knows when it has received them. A webhook that is
    /// new receives nothing of what happened before.
    pub fn news_for(&self, url: &str) -> Option<(Vec<Alert>, usize)> {
        let known = *self.told.get(url)?;
        let mut ids: Vec<&String> = self.subjects.get(known..).unwrap_or_default().iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        let alerts: Vec<Alert> = ids.into_iter().filter_map(|id| self.alerts.get(id)).cloned().collect();
        (!alerts.is_empty()).then_some((alerts, self.subjects.len()))
    }

    /// Whether the log has this webhook.
    pub fn knows_webhook(&self, url: &str) -> bool {
        self.told.contains_key(url)
    }

    /// Notes that a webhook knows what the first `lines` lines say; without a number, all that are there.
    ///
    /// # Errors
    /// If the file system fails.
    pub fn note_told(&mut self, url: &str, lines: Option<usize>) -> Result<(), ArchiveError> {
        let lines = lines.unwrap_or(self.subjects.len());
        self.add(Event::Told { url: url.to_owned(), lines })
    }

    fn add(&mut self, event: Event) -> Result<(), ArchiveError> {
        self.log.add(std::slice::from_ref(&event))?;
        self.apply(event);
        Ok(())
    }

    fn apply(&mut self, event: Event) {
        let subject = match event {
            Event::Raised { at, id, rule, board, run, text } => {
                let alert = Alert {
                    id: id.clone(),
                    rule,
                    board,
                    raised_at: at,
                    last_run: run.clone(),
                    run,
                    runs: 1,
                    text,
                    state: State::Open,
                    notes: Vec::new(),
                };
                self.order.push(id.clone());
                self.alerts.insert(id.clone(), alert);
                Some(id)
            }
            Event::Again { id, run, text, .. } => {
                if let Some(alert) = self.alerts.get_mut(&id) {
                    alert.runs += 1;
                    (alert.last_run, alert.text) = (run, text);
                }
                Some(id)
            }
            Event::Set { id, note } => {
                if let Some(alert) = self.alerts.get_mut(&id) {
                    alert.state = note.state;
                    alert.notes.push(note);
                }
                Some(id)
            }
            Event::Told { url, lines } => {
                self.told.insert(url, lines.min(self.subjects.len() + 1));
                None
            }
        };
        self.subjects.push(subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str, run: &str) -> Finding {
        let text = format!("{run} is late");
        Finding { rule: rule.to_owned(), board: "rack3".to_owned(), run: Address::of(run.as_bytes()), text }
    }

    fn note(state: State) -> Note {
        let [at, by, text] = ["2026-11-26T00:00:00Z", "anna", "a new cable"].map(str::to_owned);
        Note { at, by, state, text }
    }

    const NOW: &str = "2026-11-26T12:00:00Z";

    #[test]
    fn later_runs_belong_to_a_pending_alert_and_raise_another_after_it_was_fixed() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = AlertLog::open(directory.path()).unwrap();
        assert!(log.raise(&[finding("loop", "one")], NOW).unwrap());
        assert!(!log.raise(&[finding("loop", "one")], NOW).unwrap(), "the same run again");
        assert!(log.raise(&[finding("loop", "two"), finding("other", "two")], NOW).unwrap());
        let first = log.alerts().last().unwrap().clone();
        assert_eq!((first.runs, &first.last_run), (2, &Address::of(b"two")));
        assert_eq!(log.alerts().count(), 2, "another rule is another alert");

        log.set(&first.id, note(State::Fixed)).unwrap().unwrap();
        assert!(!log.raise(&[finding("loop", "one")], NOW).unwrap(), "the run that raised the fixed one");
        log.raise(&[finding("loop", "three")], NOW).unwrap();
        assert_eq!(log.alerts().count(), 3);
        assert_eq!([State::Open, State::Fixed].map(|state| log.count(state)), [2, 1]);

        let again = AlertLog::open(directory.path()).unwrap();
        assert!(again.alerts().eq(log.alerts()), "nothing is lost");
        assert_eq!(again.alert(&first.id).unwrap().notes, [note(State::Fixed)]);
    }

    #[test]
    fn an_unknown_alert_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = AlertLog::open(directory.path()).unwrap();
        assert!(log.set("0123", note(State::Fixed)).unwrap().is_none());
    }

    #[test]
    fn a_webhook_is_told_what_happened_since_it_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = AlertLog::open(directory.path()).unwrap();
        log.raise(&[finding("loop", "one")], NOW).unwrap();
        assert!(log.news_for("http://a").is_none(), "it is not known");
        log.note_told("http://a", None).unwrap();
        assert!(log.news_for("http://a").is_none(), "nothing is new");
        log.raise(&[finding("other", "one"), finding("other", "two")], NOW).unwrap();
        let (alerts, lines) = log.news_for("http://a").unwrap();
        assert_eq!(alerts.iter().map(|alert| alert.runs).collect::<Vec<_>>(), [2]);
        let mut log = AlertLog::open(directory.path()).unwrap();
        assert!(log.news_for("http://a").is_some(), "also after a crash");
        log.note_told("http://a", Some(lines)).unwrap();
        assert!(AlertLog::open(directory.path()).unwrap().news_for("http://a").is_none());
    }

    #[test]
    fn runs_that_were_looked_at_are_known() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = AlertLog::open(directory.path()).unwrap();
        assert!(log.is_new());
        log.note_checked(vec![Address::of(b"one")]).unwrap();
        let again = AlertLog::open(directory.path()).unwrap();
        assert!(again.is_checked(&Address::of(b"one")) && !again.is_checked(&Address::of(b"two")));
    }
}
