//! Everything that a process has started, directly or not, found in /proc and ended by pid.
//!
//! Read from `/proc/PID/stat`, which every kernel has; `/proc/PID/task/TID/children` needs CONFIG_PROC_CHILDREN.

use std::collections::BTreeMap;
use std::io;

use super::{Ended, send, signal};
use crate::processes::{self, ProcessState};

/// How often /proc may show none of the children that there are before they count as hidden (hidepid, proc(5)). A
/// child forked while /proc was read is found the next time.
const BLIND_READINGS: usize = 10;

/// Kills all descendants of this process and waits until none is left, not even as a zombie. For a subreaper
/// ([`super::adopt_orphans`]) that includes daemons. Returns the pids of those that this user may not kill.
pub fn end_descendants() -> io::Result<Vec<u32>> {
    let mut blind = 0;
    loop {
        let (killed, refused) = kill_all(&descendants(std::process::id(), &[])?);
        blind = if killed > 0 { 0 } else { blind + 1 };
        if killed > 0 || blind > BLIND_READINGS {
            // Without children there is nothing to wait for, which the next question finds out.
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

/// Kills all descendants of this process but those in `but` and what these have started. Their ends are announced
/// by SIGCHLD; the call is repeated then, since something may have been forked meanwhile.
pub fn end_strays(but: &[u32]) -> io::Result<()> {
    kill_all(&descendants(std::process::id(), but)?);
    Ok(())
}

/// Kills each; returns how many signals were sent, and which processes refuse them.
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

/// Whether this process has a child, living or not.
pub fn has_children() -> bool {
    // SAFETY: siginfo_t is plain data and written by the call; WNOWAIT leaves the child to be waited for.
    let status = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    };
    status == 0
}

/// All descendants of `root` that are not in `but` nor below one of these. Zombies count only as `root`'s own
/// children: others are for their own parents to wait for.
fn descendants(root: u32, but: &[u32]) -> io::Result<Vec<u32>> {
    let processes = states()?;
    let is_below = |mut pid: u32| {
        // No chain of parents is longer than there are processes; a torn reading must not make it a circle.
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
