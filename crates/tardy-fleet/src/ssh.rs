//! The system's ssh as a transport: a process for each script.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tardy_sys::child::{self, signal};
use tardy_sys::{programs, signals};

use crate::hosts::Host;
use crate::script;
use crate::transport::{End, Order, Transport, TransportError};

/// The most bytes of standard error that are kept. What follows is read and dropped.
const ERRORS_MAX: usize = 16 * 1024;
/// The exit status of ssh for its own errors.
const OWN_ERROR: i32 = 255;
/// Between two questions whether an ssh that has closed its output has ended.
const LINGER: Duration = Duration::from_millis(5);
/// How long ssh may take for a connection, at most, in seconds.
const CONNECT_S: u64 = 10;
/// Messages of ssh that another attempt does not change.
const LASTING: [&str; 7] = [
    "Permission denied (",
    "Host key verification failed",
    "Could not resolve hostname",
    "Bad configuration option",
    "Bad owner or permissions",
    "no matching ",
    "Too many authentication failures",
];

/// The system's ssh.
#[derive(Debug)]
pub struct Ssh {
    started: Instant,
    /// Readable once the fleet is interrupted.
    interrupted: PipeReader,
    interrupt: Mutex<Option<PipeWriter>>,
    /// What `--timeout` is.
    timeout: Duration,
}

impl Ssh {
    /// Checks that there is an ssh. `timeout` is after how much time without an answer a host is given up.
    ///
    /// # Errors
    /// NotFound if there is none; that of the pipe.
    pub fn new(timeout: Duration) -> io::Result<Self> {
        programs::command("ssh")?;
        let (interrupted, interrupt) = io::pipe()?;
        Ok(Self { started: Instant::now(), interrupted, interrupt: Mutex::new(Some(interrupt)), timeout })
    }

    /// Ends all scripts and pauses, now and from now on.
    pub fn interrupt(&self) {
        self.interrupt.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// The arguments of ssh for a script on `host`.
pub fn arguments(host: &Host, script: &str, timeout: Duration) -> Vec<OsString> {
    let connect_s = timeout.as_secs().clamp(1, CONNECT_S);
    // Three messages without an answer end the connection.
    let alive_s = (timeout.as_secs() / 4).clamp(1, CONNECT_S);
    let mut words: Vec<OsString> = ["-T", "-a", "-x"].map(OsString::from).to_vec();
    let mut option = |text: &str| words.extend(["-o", text].map(OsString::from));
    // ssh uses the first value of an option: tardy's own that must hold, then the host's, then defaults.
    for own in ["BatchMode=yes", "ControlPath=none", "RemoteCommand=none", "RequestTTY=no", "LogLevel=ERROR"]
    {
        option(own);
    }
    host.options.iter().for_each(|one| option(one));
    option(&format!("ConnectTimeout={connect_s}"));
    option(&format!("ServerAliveInterval={alive_s}"));
    option("ServerAliveCountMax=3");
    option("ClearAllForwardings=yes");
    if let Some(port) = host.port {
        words.extend(["-p".into(), port.to_string().into()]);
    }
    if let Some(user) = &host.user {
        words.extend(["-l".into(), user.into()]);
    }
    if let Some(identity) = &host.identity {
        words.extend(["-i".into(), identity.into()]);
    }
    words.extend(["--".into(), host.address.clone().into(), script::command(host, script).into()]);
    words
}

impl Transport for Ssh {
    fn run(&self, host: &Host, order: Order<'_>, output: &mut dyn Write) -> Result<End, TransportError> {
        let deadline = Instant::now() + order.timeout;
        let mut command = programs::command("ssh")?;
        command.args(arguments(host, order.script, self.timeout));
        let input = match order.input {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for tardy, which then ends ssh and what ssh started for a jump through another host.
        command.process_group(0);
        child::prepare(&mut command, &[]);
        let mut process = Group(command.spawn()?);
        let errors = self.transfer(&mut process.0, order, deadline, output)?;
        let status = self.wait(&mut process.0, order.timeout, deadline)?;
        ended(status, errors)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn pause(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        loop {
            match self.is_ready_until(&[], deadline) {
                Err(_) => return false,
                Ok(_) if Instant::now() >= deadline => return true,
                Ok(_) => {}
            }
        }
    }
}

impl Ssh {
    /// Copies the standard output of ssh into `output`, and returns the beginning of its standard error.
    fn transfer(
        &self,
        process: &mut Child,
        order: Order<'_>,
        deadline: Instant,
        output: &mut dyn Write,
    ) -> Result<Vec<u8>, TransportError> {
        let (mut out, mut err) = (process.stdout.take(), process.stderr.take());
        let (mut errors, mut received) = (Vec::new(), 0u64);
        let mut buffer = vec![0; 64 * 1024];
        while out.is_some() || err.is_some() {
            // A closed one keeps its place with a descriptor that is never ready.
            let fds =
                [out.as_ref().map_or(-1, AsRawFd::as_raw_fd), err.as_ref().map_or(-1, AsRawFd::as_raw_fd)];
            let ready = self.is_ready_until(&fds, deadline)?;
            if Instant::now() >= deadline {
                return Err(TransportError::TimedOut(order.timeout));
            }
            if ready[0]
                && let Some(pipe) = &mut out
            {
                match pipe.read(&mut buffer)? {
                    0 => out = None,
                    read => {
                        received += read as u64;
                        if received > order.output_max {
                            return Err(TransportError::TooMuch(order.output_max));
                        }
                        output.write_all(&buffer[..read])?;
                    }
                }
            }
            if ready[1]
                && let Some(pipe) = &mut err
            {
                match pipe.read(&mut buffer)? {
                    0 => err = None,
                    read => {
                        let room = ERRORS_MAX - errors.len();
                        errors.extend_from_slice(&buffer[..read.min(room)]);
                    }
                }
            }
        }
        Ok(errors)
    }

    /// Waits for an ssh that has closed its output.
    fn wait(
        &self,
        process: &mut Child,
        timeout: Duration,
        deadline: Instant,
    ) -> Result<ExitStatus, TransportError> {
        loop {
            if let Some(status) = process.try_wait()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(TransportError::TimedOut(timeout));
            }
            self.is_ready_until(&[], deadline.min(Instant::now() + LINGER))?;
        }
    }

    /// Waits until one of `fds` is readable or closed, at most until `deadline`. Returns which are.
    fn is_ready_until(&self, fds: &[RawFd], deadline: Instant) -> Result<Vec<bool>, TransportError> {
        let left = deadline.saturating_duration_since(Instant::now());
        let all: Vec<RawFd> =
            std::iter::once(self.interrupted.as_raw_fd()).chain(fds.iter().copied()).collect();
        let ready = signals::wait_readable(&all, left.as_nanos().min(u128::from(u64::MAX)) as u64)?;
        if ready[0] { Err(TransportError::Interrupted) } else { Ok(ready[1..].to_vec()) }
    }
}

/// ssh and the processes that it started. Dropping it ends them.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = child::send_to_group(self.0.id(), signal::KILL);
            let _ = self.0.wait();
        }
    }
}

fn ended(status: ExitStatus, errors: Vec<u8>) -> Result<End, TransportError> {
    let errors = String::from_utf8_lossy(&errors).into_owned();
    match status.code() {
        Some(OWN_ERROR) => {
            let is_lasting = LASTING.iter().any(|message| errors.contains(message));
            let message =
                if errors.trim().is_empty() { "ssh lost the connection".to_owned() } else { errors };
            Err(if is_lasting { TransportError::Refused(message) } else { TransportError::Lost(message) })
        }
        Some(status) => Ok(End { status, errors }),
        None => {
            let signal = status.signal().unwrap_or_default();
            Err(TransportError::Lost(format!("signal {signal} ended ssh")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        crate::hosts::parse(&format!("[[host]]\nname = \"a\"\n{text}"), std::path::Path::new("/"))
            .unwrap()
            .remove(0)
    }

    fn words(host: &Host) -> Vec<String> {
        let words = arguments(host, "echo it's", Duration::from_secs(300));
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn the_address_is_never_an_option_and_the_script_is_one_word() {
        let words = words(&host("address = \"10.0.0.1\"\nuser = \"pi\"\nport = 2222\nidentity = \"/k\"\n"));
        let end = ["-p", "2222", "-l", "pi", "-i", "/k", "--", "10.0.0.1", r"sh -c 'echo it'\''s'"];
        assert_eq!(words[words.len() - end.len()..], end);
        let sudo = arguments(&host("sudo = true\n"), "true", Duration::from_secs(1));
        assert_eq!(sudo.last().unwrap(), "sudo -n sh -c true");
    }

    #[test]
    fn what_must_hold_precedes_the_options_of_the_file_and_defaults_follow() {
        let words = words(&host("options = [\"ConnectTimeout=3\"]\n"));
        let at = |word: &str| {
            words.iter().position(|one| one == word).unwrap_or_else(|| panic!("{word}: {words:?}"))
        };
        assert!(at("BatchMode=yes") < at("ConnectTimeout=3"));
        assert!(at("ConnectTimeout=3") < at("ConnectTimeout=10"));
        assert!(words.contains(&"ServerAliveInterval=10".to_owned()));
    }

    #[test]
    fn errors_of_ssh_are_distinguished_from_those_of_the_script() {
        let status = |code: i32| ExitStatus::from_raw(code << 8);
        let outcome = |code, errors: &str| ended(status(code), errors.as_bytes().to_vec());
        assert_eq!(outcome(4, "x").unwrap(), End { status: 4, errors: "x".to_owned() });
        let refused = outcome(255, "pi@a: Permission denied (publickey).");
        assert!(matches!(refused, Err(TransportError::Refused(_))), "{refused:?}");
        let lost = outcome(255, "ssh: connect to host a port 22: Connection timed out");
        assert!(matches!(lost, Err(TransportError::Lost(_))), "{lost:?}");
        let killed = ended(ExitStatus::from_raw(9), Vec::new());
        assert!(matches!(killed, Err(TransportError::Lost(_))), "{killed:?}");
    }

    #[test]
    fn an_interruption_ends_a_pause() {
        let Ok(ssh) = Ssh::new(Duration::from_secs(1)) else {
            println!("skipped: no ssh");
            return;
        };
        assert!(ssh.pause(Duration::ZERO));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ssh.pause(Duration::from_secs(3600)));
            ssh.interrupt();
            assert!(!waiting.join().unwrap());
        });
        assert!(!ssh.pause(Duration::ZERO));
    }
}
