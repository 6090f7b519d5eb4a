//! What /proc shows of a program without the kernel's trace.

use std::os::fd::AsRawFd;

use anyhow::{Result, bail};
use tardy_attach::procfs::Snapshot;
use tardy_attach::targets::Target;
use tardy_sys::signals::{EndSignals, wait_readable};
use tardy_watch::from_proc::{rows, text};

use tardy_command::{Exit, output};

/// Samples the threads' counters at the beginning and the end of `duration_ns`, and prints the differences.
pub(super) fn run(target: &Target, duration_ns: u64, why: &str, json: bool) -> Result<Exit> {
    let threads = target.threads();
    let signals = EndSignals::catch()?;
    let before = Snapshot::of(&threads);
    if before.threads.is_empty() {
        bail!("{why}; and the threads of {} are not readable in /proc for this user", target.text());
    }
    wait_readable(&[signals.as_raw_fd()], duration_ns)?;
    let after = Snapshot::of(&threads);
    let rows = rows(&before, &after);
    if json {
        output::print_json(&rows)?;
    } else {
        output::print(&text(&rows, after.at_ns - before.at_ns, output::width()))?;
    }
    output::report(&format!(
        "only /proc was read, so there is no latency, no period's jitter, no deadline and no cause, and no run file: {why}"
    ));
    Ok(Exit::Done)
}
