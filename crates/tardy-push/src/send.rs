//! Sending what waits in a spool.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use tardy_archive::Address;

use crate::sender::{Failure, Sender};
use crate::spool::{Spool, SpoolError};

/// The wait after the first failed attempt. Each further one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait between attempts.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// What became of the runs of a spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Runs that the target has on its disk now, and whether it had them before.
    pub sent: Vec<(Address, bool)>,
    /// Runs that it refuses, where they are now, and why.
    pub refused: Vec<(Address, PathBuf, String)>,
    /// How many wait.
    pub waiting: usize,
    /// Why they wait; `None` if none does.
    pub waiting_because: Option<String>,
}

/// Sends all runs of a spool. If the target does not answer, attempts are repeated until `patience` is over; runs that were not sent then
/// wait in the spool.
///
/// # Errors
/// If the spool fails.
pub fn send_all(spool: &Spool, sender: &mut dyn Sender, patience: Duration) -> Result<Report, SpoolError> {
    let end = Instant::now() + patience;
    let mut report = Report::default();
    let mut wait = FIRST_WAIT;
    loop {
        let Some(failure) = send_until_failure(spool, sender, &mut report)? else {
            return Ok(report);
        };
        let (reason, asked) = match failure {
            Failure::Later(reason, asked) => (reason, asked),
            Failure::Stopped(reason) | Failure::Refused(reason) => {
                return waiting(spool, report, reason);
            }
        };
        let pause = asked.unwrap_or(wait).min(WAIT_MAX);
        if Instant::now() + pause > end {
            return waiting(spool, report, reason);
        }
        thread::sleep(pause);
        wait = (wait * 2).min(WAIT_MAX);
    }
}

fn waiting(spool: &Spool, report: Report, reason: String) -> Result<Report, SpoolError> {
    Ok(Report { waiting: spool.waiting()?.len(), waiting_because: Some(reason), ..report })
}

/// Sends runs until one cannot be sent now. Runs that the target refuses do not hold up the others.
fn send_until_failure(
    spool: &Spool,
    sender: &mut dyn Sender,
    report: &mut Report,
) -> Result<Option<Failure>, SpoolError> {
    for run in spool.waiting()? {
        let compressed = spool.read(&run)?;
        match sender.send(&run.address, &compressed) {
            Ok(known) => {
                spool.remove(&run)?;
                report.sent.push((run.address, known));
            }
            Err(Failure::Refused(reason)) => {
                let aside = spool.put_aside(&run)?;
                report.refused.push((run.address, aside, reason));
            }
            Err(failure) => return Ok(Some(failure)),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = include_str!("../../tardy-present/tests/runs/steady.run.json");

    struct Fake(Vec<Result<bool, Failure>>);

    impl Sender for Fake {
        fn send(&mut self, _: &Address, compressed: &[u8]) -> Result<bool, Failure> {
            assert!(tardy_archive::is_compressed(compressed));
            self.0.remove(0)
        }
    }

    fn content(id: &str) -> Vec<u8> {
        let mut run = tardy_record::file::from_text(RUN.as_bytes()).unwrap();
        run.origin.id = id.to_owned();
        tardy_record::file::to_text(&run).into_bytes()
    }

    fn spool(runs: &[&str]) -> (tempfile::TempDir, Spool) {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::open(directory.path(), &"http://farm".parse().unwrap()).unwrap();
        for run in runs {
            spool.add("idle.run.json", &content(run)).unwrap();
        }
        (directory, spool)
    }

    #[test]
    fn what_was_sent_is_removed_and_what_is_refused_is_put_aside() {
        let (_directory, spool) = spool(&["one", "two", "three"]);
        let mut fake = Fake(vec![Ok(false), Err(Failure::Refused("not a run".to_owned())), Ok(true)]);
        let report = send_all(&spool, &mut fake, Duration::ZERO).unwrap();
        assert_eq!(report.sent.iter().map(|(_, known)| *known).collect::<Vec<_>>(), [false, true]);
        let (_, aside, reason) = &report.refused[0];
        assert!(aside.is_file() && reason == "not a run");
        assert_eq!((report.waiting, report.waiting_because), (0, None));
        assert_eq!(spool.waiting().unwrap(), []);
    }

    #[test]
    fn what_cannot_be_sent_waits_and_is_sent_by_the_next_call() {
        let (_directory, spool) = spool(&["one", "two"]);
        let away = || Err(Failure::Later("the network is away".to_owned(), None));
        let report = send_all(&spool, &mut Fake(vec![Ok(false), away()]), Duration::ZERO).unwrap();
        assert_eq!((report.sent.len(), report.waiting), (1, 1));
        assert_eq!(report.waiting_because.as_deref(), Some("the network is away"));
        let stopped = Err(Failure::Stopped("the token is not known".to_owned()));
        let report = send_all(&spool, &mut Fake(vec![stopped]), Duration::from_secs(9999)).unwrap();
        assert_eq!(report.waiting, 1, "no time helps");
        assert_eq!(send_all(&spool, &mut Fake(vec![Ok(false)]), Duration::ZERO).unwrap().sent.len(), 1);
    }

    #[test]
    fn attempts_are_repeated_while_there_is_patience() {
        let (_directory, spool) = spool(&["one"]);
        let soon = || Err(Failure::Later("busy".to_owned(), Some(Duration::from_millis(1))));
        let mut fake = Fake(vec![soon(), soon(), Ok(false)]);
        assert_eq!(send_all(&spool, &mut fake, Duration::from_secs(60)).unwrap().sent.len(), 1);
    }

    #[test]
    fn only_finished_runs_are_spooled_and_each_once() {
        let (_directory, spool) = spool(&["one", "one"]);
        assert_eq!(spool.waiting().unwrap().len(), 1);
        assert!(matches!(spool.add("x", b"{}"), Err(SpoolError::NotARun(_))));
        let mut run = tardy_record::file::from_text(RUN.as_bytes()).unwrap();
        run.progress.state = tardy_record::run::State::Running;
        let text = tardy_record::file::to_text(&run);
        assert!(matches!(spool.add("x", text.as_bytes()), Err(SpoolError::InProgress)));
    }
}
