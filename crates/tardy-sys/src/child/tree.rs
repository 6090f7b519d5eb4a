//! Finds all descendants of a process in /proc and ends them by pid.
//!
//! Reads `/proc/PID/stat`, which every kernel has; `/proc/PID/task/TID/children` needs CONFIG_PROC_CHILDREN.

use std::collections::BTreeMap;
use std::io;

use super::{Ended, send, signal};
use crate::processes::{self, ProcessState};

/// How often /proc may show none of the existing children before they count as hidden (hidepid, proc(5)). A child
/// that is forked while /proc is read is found the next time.
const BLIND_READINGS: usize = 10;

/// Kills all descendants of this process and waits for them, including zombies. For a subreaper
/// ([`super::adopt_orphans`]) that includes daemons. Returns the pids of those that this user may not kill.
pub fn end_descendants() -> io::Result<Vec<u32>> {
    let mut blind = 0;
    loop {
        let (killed, refused) = kill_all(&descendants(std::process::id(), &[])?);
        blind = if killed > 0 { 0 } else { blind + 1 };
        if killed > 0 || blind > BLIND_READINGS {
            // Without children this is an error, which `has_children` detects.
            let _ = Ended::wait();
        }
        while Ended::take().is_some() {}
        if !has_children() {
            return Ok(Vec::new());
        }
        if killed == 0 && !refused.is_empty() {
            return Ok(refused);
        }
    }
}

/// Kills all descendants of this process except those in `but` and their descendants. SIGCHLD announces their ends;
/// the caller then calls again, since a process may have forked in between.
pub fn end_strays(but: &[u32]) -> io::Result<()> {
    kill_all(&descendants(std::process::id(), but)?);
    Ok(())
}

/// Kills each process; returns how many signals were sent, and which processes this user may not kill.
fn kill_all(pids: &[u32]) -> (usize, Vec<u32>) {
    let mut refused = Vec::new();
    let mut sent = 0;
    for pid in pids {
        match send(*pid, signal::KILL) {
            Ok(()) => sent += 1,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => refused.push(*pid),
            Err(_) => {}
        }
    }
    (sent, refused)
}

/// Whether this process has a child, alive or zombie.
pub fn has_children() -> bool {
    // SAFETY: siginfo_t is plain data and written by the call; WNOWAIT leaves the child to be waited for.
    let status = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    };
    status == 0
}

/// All descendants of `root` that are not in `but` nor descend from one of these. Zombies count only as `root`'s own
/// children: others are waited for by their parents.
fn descendants(root: u32, but: &[u32]) -> io::Result<Vec<u32>> {
    let processes = states()?;
    let is_below = |mut pid: u32| {
        // No chain of parents is longer than the number of processes; inconsistent readings must not make it a loop.
        for _ in 0..=processes.len() {
            if but.contains(&pid) {
                return false;
            }
            match processes.get(&pid) {
                Some(state) if state.parent == root => return true,
                Some(state) => pid = state.parent,
                None => return false,
            }
        }
        false
    };
    let living = |state: &ProcessState| !state.is_zombie || state.parent == root;
    Ok(processes
        .iter()
        .filter(|(pid, state)| living(state) && is_below(**pid))
        .map(|(pid, _)| *pid)
        .collect())
}

/// The state of every process; those that end while /proc is read are left out.
fn states() -> io::Result<BTreeMap<u32, ProcessState>> {
    let states = processes::all()?.into_iter().filter_map(|pid| Some((pid, ProcessState::of(pid)?)));
    Ok(states.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_descends_from_its_parent() {
        let parent = std::os::unix::process::parent_id();
        let me = std::process::id();
        assert!(descendants(parent, &[]).unwrap().contains(&me));
        assert!(!descendants(parent, &[me]).unwrap().contains(&me));
    }
}
