//! Signals as events to wait for: SIGINT and SIGTERM end a run in an orderly way.

mod interruption;
mod requests;

pub use interruption::{be_interruptible, interrupt};
pub use requests::{Request, remember_requests, take_request};

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// The signals that ask a process to end.
const END: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// Between two looks at a signal that has not been taken.
const LOOK_NS: u64 = 100_000_000;

/// SIGINT, SIGTERM and SIGHUP, blocked and readable from a descriptor.
#[derive(Debug)]
pub struct EndSignals {
    fd: OwnedFd,
    /// Those of the signals that were not blocked before.
    unblocked_before: Vec<i32>,
}

impl EndSignals {
    /// Blocks the signals for this thread and those that it starts later.
    pub fn catch() -> io::Result<Self> {
        let set = signal_set(&END);
        let unblocked_before = END.into_iter().filter(|signal| !is_blocked(*signal)).collect();
        block(&set)?;
        // SAFETY: `set` is a valid signal set.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave us this descriptor.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, unblocked_before })
    }

    /// Makes the child of `command` start without the signals blocked that [`Self::catch`] blocked: a program inherits the mask.
    pub fn unblock_in(&self, command: &mut Command) {
        let set = signal_set(&self.unblocked_before);
        // SAFETY: the closure runs between fork and exec and makes one async-signal-safe call, with a valid set.
        unsafe { command.pre_exec(move || change_mask(libc::SIG_UNBLOCK, &set)) };
    }

    /// From now on, a signal that is not taken within `patience` ends this process, as it does without [`Self::catch`]: its threads may
    /// wait for another user's program or file. What the process has changed stays as after SIGKILL.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn end_process_unless_taken(&self, patience: Duration) -> io::Result<()> {
        let fd = self.fd.try_clone()?;
        let looks = (patience.as_nanos() as u64 / LOOK_NS).max(1);
        let watch = move || loop {
            let mut seen = 0;
            while seen < looks && matches!(wait_readable(&[fd.as_raw_fd()], u64::MAX).as_deref(), Ok([true]))
            {
                seen += 1;
                std::thread::sleep(Duration::from_nanos(LOOK_NS));
                if !is_end_pending() {
                    seen = 0;
                }
            }
            if seen >= looks {
                end_by_pending();
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map(drop)
    }

    /// The next signal that has arrived; `None` if there is none.
    pub fn take(&self) -> Option<i32> {
        // SAFETY: signalfd_siginfo consists of integers, for which zero is valid.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is writable for `size` bytes.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) };
        (read == size as isize).then_some(info.ssi_signo as i32)
    }
}

/// Whether one of the signals has arrived and was not taken. False for a process that does not block them.
pub fn is_end_pending() -> bool {
    // SAFETY: sigset_t is plain data, which the call writes; the set is valid then, and so are the signals.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut pending) == 0
            && END.iter().any(|signal| libc::sigismember(&raw const pending, *signal) == 1)
    }
}

impl AsRawFd for EndSignals {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Ends this process by the signals that wait, as if they were not blocked.
fn end_by_pending() {
    for signal in END {
        // SAFETY: signal takes integers.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    let set = signal_set(&END);
    // SAFETY: `set` is a valid signal set; the old mask is not requested.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
}

/// Blocks SIGINT, SIGTERM and SIGHUP for good: a terminal's Ctrl-C reaches the whole process group, and the
/// supervisor ends the probe.
pub fn ignore_end_signals() -> io::Result<()> {
    block(&signal_set(&END))
}

pub(crate) fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: sigset_t is plain data; sigemptyset initialises it and sigaddset only sets bits in it.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

pub(crate) fn block(set: &libc::sigset_t) -> io::Result<()> {
    change_mask(libc::SIG_BLOCK, set)
}

/// Whether this thread blocks a signal.
fn is_blocked(signal: i32) -> bool {
    // SAFETY: sigset_t is plain data, which the call writes; without a new set it changes nothing.
    unsafe {
        let mut mask: libc::sigset_t = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask) == 0
            && libc::sigismember(&raw const mask, signal) == 1
    }
}

fn change_mask(how: i32, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: `set` is a valid signal set; the old mask is not requested.
    match unsafe { libc::pthread_sigmask(how, set, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Waits until one of `fds` is readable or closed, or until `timeout_ns` has passed. Returns for each whether it is
/// ready. A signal that is not blocked can end the wait early.
pub fn wait_readable(fds: &[RawFd], timeout_ns: u64) -> io::Result<Vec<bool>> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    let timeout = crate::clock::timespec(timeout_ns.min(i64::MAX as u64) as i64);
    // SAFETY: `polled` is an array of the length given, `timeout` a valid timespec, and no mask is passed.
    let ready = unsafe {
        libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &raw const timeout, std::ptr::null())
    };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(polled.iter().map(|entry| ready > 0 && entry.revents != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, ExitStatus, Stdio};

    /// Tells the process that a test starts what to do.
    const PART: &str = "TARDY_TEST_SIGNALS";

    /// How another process of this test ends, which does `part` and gets SIGTERM when it is ready.
    fn part(part: &str) -> ExitStatus {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "signals::tests::a_signal_that_is_not_taken_ends_the_process";
        command.args(["--exact", name, "--test-threads=1", "--nocapture"]).env(PART, part);
        // The other threads of the process must not get the signal.
        // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls.
        unsafe { command.pre_exec(|| block(&signal_set(&END))) };
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let (mut text, mut byte) = (Vec::new(), [0]);
        while !text.ends_with(b"ready\n") && output.read(&mut byte).unwrap() == 1 {
            text.push(byte[0]);
        }
        crate::child::send(child.id(), libc::SIGTERM).unwrap();
        output.read_to_end(&mut text).unwrap();
        child.wait().unwrap()
    }

    #[test]
    fn a_signal_that_is_not_taken_ends_the_process() {
        let Ok(this) = std::env::var(PART) else {
            assert_eq!(part("wait").signal(), Some(libc::SIGTERM));
            assert!(part("take").success());
            return;
        };
        let signals = EndSignals::catch().unwrap();
        signals.end_process_unless_taken(Duration::from_millis(300)).unwrap();
        assert!(!is_end_pending());
        // The test blocked the signals before this process started.
        assert!(signals.unblocked_before.is_empty());
        println!("ready");
        while this == "wait" || signals.take().is_none() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_program_inherits_no_signal_that_was_caught() {
        let blocked = |catches: bool| {
            let grep = move || {
                let signals = catches.then(|| EndSignals::catch().unwrap());
                let mut command = Command::new("grep");
                signals.iter().for_each(|signals| signals.unblock_in(&mut command));
                command.args(["^SigBlk:", "/proc/self/status"]).output().unwrap().stdout
            };
            // Each in a thread of its own, which has the mask.
            String::from_utf8(std::thread::spawn(grep).join().unwrap()).unwrap()
        };
        assert_eq!(blocked(true), blocked(false));
    }
}
