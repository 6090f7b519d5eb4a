//! Threads of one process that make the others' CPUs forget translations, or wait for a barrier: an interrupt from one
//! CPU to all others each time.
//!
//! mprotect(2) is what programs do all the time without knowing (a `free`, a just-in-time compiler); where the
//! processor tells the others by itself (arm64) it makes no interrupts, so membarrier(2), which does everywhere, comes
//! with it where the kernel has it.

use std::convert::Infallible;
use std::sync::mpsc;

use tardy_sys::counters::Counter;
use tardy_sys::scheduling;
use tardy_sys::shootdown::{self, Page};

use super::words::Word;
use super::worker::{Ended, Worker};

pub(super) fn run(worker: &Worker) -> Ended {
    let cpus = scheduling::affinity().map_or(1, |cpus| cpus.len());
    if cpus == 1 {
        worker.say(&Word::Remark("one CPU has no other to interrupt".to_owned()));
    }
    let has_barrier = shootdown::register_barrier();
    let counters = worker.counters();
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        for counter in &counters[..cpus.clamp(1, counters.len())] {
            let own = tell.clone();
            let work = move || {
                let Err(how) = change(counter, has_barrier, &own);
                own.send(Some(how))
            };
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                end(worker, format!("a thread cannot be made: {error}; raise ulimit -u"));
            }
        }
        let mut working = 0;
        for word in told {
            match word {
                None => working += 1,
                Some(how) => end(worker, how),
            }
            if working == cpus.clamp(1, counters.len()) {
                worker.say(&Word::Running);
            }
        }
    });
    Err("every thread is gone".to_owned())
}

/// Ends the process with its threads, which would go on for ever.
fn end(worker: &Worker, how: String) -> ! {
    worker.say(&Word::Death(how));
    std::process::exit(1)
}

/// Changes the protection of a page of its own for ever; `tell` hears `None` after the first time.
fn change(
    changed: &Counter,
    has_barrier: bool,
    tell: &mpsc::Sender<Option<String>>,
) -> Result<Infallible, String> {
    let mut page = Page::map().map_err(|error| format!("no page can be mapped: {error}"))?;
    let mut step = || {
        page.change_protection()
            .map_err(|error| format!("a page's protection cannot be changed: {error}"))?;
        changed.add(2);
        if has_barrier {
            shootdown::barrier().map_err(|error| format!("no barrier can be had: {error}"))?;
            changed.add(1);
        }
        Ok::<(), String>(())
    };
    step()?;
    let _ = tell.send(None);
    loop {
        step()?;
    }
}
