//! Threads of one process that force TLB shootdowns or memory barriers: each an interrupt from one CPU to all others.
//!
//! Many programs call mprotect(2) often, for example through `free` or a just-in-time compiler. On processors that
//! broadcast TLB invalidations in hardware (arm64) it causes no interrupts. The threads therefore also call
//! membarrier(2), which always causes interrupts, if the kernel has it.

use std::convert::Infallible;
use std::sync::mpsc;

use tardy_sys::counters::Counter;
use tardy_sys::scheduling;
use tardy_sys::shootdown::{self, Page};

use super::messages::Message;
use super::worker::{Ended, Worker};

pub(super) fn run(worker: &Worker) -> Ended {
    let cpus = scheduling::affinity().map_or(1, |cpus| cpus.len());
    if cpus == 1 {
        worker.send(&Message::Remark(
            "this machine has only one CPU, so no other CPU is interrupted".to_owned(),
        ));
    }
    let has_barrier = shootdown::register_barrier();
    let counters = worker.counters();
    let (report, reports) = mpsc::channel();
    std::thread::scope(|scope| {
        for counter in &counters[..cpus.clamp(1, counters.len())] {
            let own = report.clone();
            let work = move || {
                let Err(how) = change(counter, has_barrier, &own);
                own.send(Some(how))
            };
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                end(worker, format!("a thread cannot be started: {error}; raise ulimit -u"));
            }
        }
        let mut working = 0;
        for message in reports {
            match message {
                None => working += 1,
                Some(how) => end(worker, how),
            }
            if working == cpus.clamp(1, counters.len()) {
                worker.send(&Message::Running);
            }
        }
    });
    Err("all threads have ended".to_owned())
}

/// Ends the process with its threads, which do not end by themselves.
fn end(worker: &Worker, how: String) -> ! {
    worker.send(&Message::Death(how));
    std::process::exit(1)
}

/// Changes the protection of a page, which only this thread uses, for ever; `report` receives `None` after the first
/// time.
fn change(
    changed: &Counter,
    has_barrier: bool,
    report: &mpsc::Sender<Option<String>>,
) -> Result<Infallible, String> {
    let mut page = Page::map().map_err(|error| format!("no page can be mapped: {error}"))?;
    let mut step = || {
        page.change_protection()
            .map_err(|error| format!("a page's protection cannot be changed: {error}"))?;
        changed.add(2);
        if has_barrier {
            shootdown::barrier().map_err(|error| format!("membarrier is not available: {error}"))?;
            changed.add(1);
        }
        Ok::<(), String>(())
    };
    step()?;
    let _ = report.send(None);
    loop {
        step()?;
    }
}
