//! The thread that keeps pushed runs. Runs that wait at the same time share one wait for the disk.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use axum::http::StatusCode;
use tardy_archive::{Action, ArchiveError, Audit, AuditLine, Kept, NewFile};

use crate::answer::Refusal;
use crate::clock::now;
use crate::settings::OpenStore;
use crate::sharing::{News, caught, locked};

/// Runs that wait; further senders are asked to come again.
const WAITING_MAX: usize = 1024;
/// Runs that share one wait for the disk.
const BATCH_RUNS: usize = 256;
/// Their bytes.
const BATCH_BYTES: usize = 64 << 20;

/// A run that is to be kept.
struct Upload {
    file: NewFile,
    who: String,
    outcome: SyncSender<Result<Kept, Refusal>>,
}

/// The way to the thread.
#[derive(Debug)]
pub(crate) struct Writer(SyncSender<Upload>);

impl Writer {
    /// Starts the thread. It ends when the writer is dropped.
    pub(crate) fn start(open: Arc<OpenStore>, audit: Arc<Mutex<Audit>>, news: Arc<News>) -> Self {
        let (sender, receiver) = sync_channel(WAITING_MAX);
        thread::spawn(move || {
            while let Some(uploads) = next(&receiver) {
                // A panic drops the uploads, and with them what their senders wait for.
                let _ = caught(|| keep(uploads, &open, &audit));
                news.tell();
            }
        });
        Self(sender)
    }

    /// Keeps a run. When this returns, the run is on the disk and so is the line of the audit log.
    pub(crate) fn keep(&self, file: NewFile, who: String) -> Result<Kept, Refusal> {
        let (outcome, answer) = sync_channel(1);
        match self.0.try_send(Upload { file, who, outcome }) {
            Ok(()) => answer.recv().unwrap_or_else(|_| {
                let reason = "the run could not be kept; the server's output says why";
                Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason))
            }),
            Err(TrySendError::Full(_)) => {
                Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many runs arrive at a time")
                    .retry_after(5))
            }
            Err(TrySendError::Disconnected(_)) => Err(Refusal::ending()),
        }
    }
}

/// The next uploads: one, and those that wait already. `None` when no more can come.
fn next(receiver: &Receiver<Upload>) -> Option<Vec<Upload>> {
    let mut uploads = vec![receiver.recv().ok()?];
    let mut bytes = uploads[0].file.content.len();
    while uploads.len() < BATCH_RUNS && bytes < BATCH_BYTES {
        let Ok(upload) = receiver.try_recv() else { break };
        bytes += upload.file.content.len();
        uploads.push(upload);
    }
    Some(uploads)
}

fn keep(uploads: Vec<Upload>, open: &OpenStore, audit: &Mutex<Audit>) {
    let mut waiting = Vec::new();
    let mut files = Vec::new();
    for Upload { file, who, outcome } in uploads {
        files.push(file);
        waiting.push((who, outcome));
    }
    let kept = open().and_then(|mut store| store.keep(files));
    let outcomes = kept.and_then(|outcomes| noted(&waiting, outcomes, audit));
    match outcomes {
        Ok(outcomes) => {
            for ((_, answer), outcome) in waiting.into_iter().zip(outcomes) {
                // A sender that is gone asks again, and receives the answer that the run is known.
                let _ = answer.send(outcome.map_err(Refusal::from));
            }
        }
        Err(error) => {
            let refusal = Refusal::from(error);
            for (_, answer) in waiting {
                let _ = answer.send(Err(refusal.clone()));
            }
        }
    }
}

/// Notes in the audit log what was kept. Without that line nothing is acknowledged.
fn noted(
    waiting: &[(String, SyncSender<Result<Kept, Refusal>>)],
    outcomes: Vec<Result<Kept, ArchiveError>>,
    audit: &Mutex<Audit>,
) -> Result<Vec<Result<Kept, ArchiveError>>, ArchiveError> {
    let at = now();
    let line = |((who, _), outcome): (&(String, _), &Result<Kept, ArchiveError>)| {
        let kept = outcome.as_ref().ok()?;
        let action = match kept {
            Kept::New(_) => Action::Pushed,
            Kept::Known(_) => Action::PushedAgain,
        };
        let subject = kept.address().to_string();
        Some(AuditLine { at: at.clone(), who: who.clone(), action, subject, detail: String::new() })
    };
    let lines: Vec<AuditLine> = waiting.iter().zip(&outcomes).filter_map(line).collect();
    locked(audit).add(&lines)?;
    Ok(outcomes)
}
