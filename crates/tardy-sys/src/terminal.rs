//! The controlling terminal: keys without Enter, output that never waits, and settings that are restored on every end.
//!
//! Output and keys use an open file description of their own. O_NONBLOCK on an inherited descriptor would also change the
//! shell's. A terminal that has been stopped with Ctrl-S, or whose reader hangs, refuses bytes instead of holding the caller.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use crate::signals::{block, signal_set};

/// Stops that a terminal's user can cause. They are read from a descriptor, so that the settings are restored first.
const STOPS: [libc::c_int; 2] = [libc::SIGTSTP, libc::SIGQUIT];
/// Sent to a process in the background that uses the terminal.
const IN_BACKGROUND: [libc::c_int; 2] = [libc::SIGTTIN, libc::SIGTTOU];

/// The terminal whose settings are changed, for [`restore`].
static CHANGED: Mutex<Option<Changed>> = Mutex::new(None);

struct Changed {
    fd: RawFd,
    before: libc::termios,
    ours: libc::termios,
    leave: &'static str,
}

/// The controlling terminal of this process.
#[derive(Debug)]
pub struct Terminal {
    tty: OwnedFd,
    stops: OwnedFd,
}

/// Columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// The keys that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Bytes, perhaps none.
    Typed(Vec<u8>),
    /// The terminal has been closed; no keys follow.
    Closed,
}

impl Terminal {
    /// Opens the controlling terminal if standard error is connected to it. This thread then blocks SIGTSTP, SIGQUIT, SIGTTIN
    /// and SIGTTOU until the value is dropped.
    ///
    /// # Errors
    /// ENOTTY if standard error is not a terminal, or not the controlling one.
    pub fn open() -> io::Result<Self> {
        let tty = reopened(libc::STDERR_FILENO, libc::O_RDWR).or_else(|_| open(c"/dev/tty", libc::O_RDWR))?;
        settings(tty.as_raw_fd())?;
        // SAFETY: tcgetpgrp takes an integer only.
        check(unsafe { libc::tcgetpgrp(tty.as_raw_fd()) })?;
        block(&signal_set(&[STOPS, IN_BACKGROUND].concat()))?;
        let set = signal_set(&STOPS);
        // SAFETY: `set` is a valid signal set.
        let fd =
            check(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
        Ok(Self { tty, stops: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The descriptors to wait for: that of SIGTSTP and SIGQUIT, and that of the keys while the terminal is in use.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let keys = is_changed().then_some(self.tty.as_raw_fd());
        std::iter::once(self.stops.as_raw_fd()).chain(keys).collect()
    }

    /// Whether this process may use the terminal: its group is in the foreground.
    pub fn is_in_foreground(&self) -> bool {
        // SAFETY: both take integers only.
        unsafe { libc::tcgetpgrp(self.tty.as_raw_fd()) == libc::getpgrp() }
    }

    /// Whether the terminal has been closed, or is no longer that of this process's session. Its descriptor is then always ready.
    pub fn is_closed(&self) -> bool {
        // SAFETY: tcgetpgrp takes an integer only.
        unsafe { libc::tcgetpgrp(self.tty.as_raw_fd()) < 0 }
    }

    /// Switches the echo and the wait for Enter off, if that has not happened yet. `leave` is written when the settings are
    /// restored. Returns whether anything had to be changed, and the screen is therefore to be drawn anew.
    ///
    /// # Errors
    /// EIO if the terminal has been closed.
    pub fn adopt(&self, leave: &'static str) -> io::Result<bool> {
        let now = settings(self.tty.as_raw_fd())?;
        let mut changed = CHANGED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changed) = &*changed {
            // A shell may have set its own settings while this process was stopped.
            if changed.ours.c_lflag & !libc::PENDIN == now.c_lflag & !libc::PENDIN {
                return Ok(false);
            }
            return apply(self.tty.as_raw_fd(), &changed.ours).map(|()| true);
        }
        let mut ours = now;
        ours.c_lflag &= !(libc::ICANON | libc::ECHO | libc::ECHONL | libc::IEXTEN);
        ours.c_cc[libc::VMIN] = 1;
        ours.c_cc[libc::VTIME] = 0;
        apply(self.tty.as_raw_fd(), &ours)?;
        *changed = Some(Changed { fd: self.tty.as_raw_fd(), before: now, ours, leave });
        Ok(true)
    }

    /// The size; `None` if the terminal does not report one.
    pub fn size(&self) -> Option<Size> {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: `size` is a valid winsize to write to.
        let status = unsafe { libc::ioctl(self.tty.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
        let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
        (status == 0 && columns > 0 && rows > 0).then_some(Size { columns, rows })
    }

    /// Reads the keys that have been pressed, without waiting.
    pub fn keys(&self) -> Keys {
        let mut bytes = [0u8; 256];
        // SAFETY: `bytes` is writable for its length.
        let read = unsafe { libc::read(self.tty.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
        match read {
            1.. => Keys::Typed(bytes[..read.cast_unsigned()].to_vec()),
            0 => Keys::Closed,
            _ if would_wait() => Keys::Typed(Vec::new()),
            // EIO in the background is not the end of the terminal.
            _ if self.is_in_foreground() => Keys::Closed,
            _ => Keys::Typed(Vec::new()),
        }
    }

    /// Writes as many of `bytes` as the terminal accepts at once, and returns their number.
    ///
    /// # Errors
    /// EIO if the terminal has been closed.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        write_at_once(self.tty.as_raw_fd(), bytes)
    }

    /// Restores the settings if SIGTSTP or SIGQUIT has arrived, and lets the signal take its effect. Returns whether this
    /// process was stopped and has been continued.
    pub fn obey_stops(&self) -> bool {
        // SAFETY: signalfd_siginfo consists of integers, for which zero is valid.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is writable for `size` bytes.
        let read = unsafe { libc::read(self.stops.as_raw_fd(), (&raw mut info).cast(), size) };
        if read != size as isize {
            return false;
        }
        restore();
        let set = signal_set(&[info.ssi_signo as i32]);
        // SAFETY: raise takes an integer; `set` is a valid signal set, and the old masks are not requested. The pending signal is
        // delivered when it is unblocked.
        unsafe {
            libc::raise(info.ssi_signo as i32);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
        true
    }

    /// Waits until the terminal accepts bytes again.
    pub fn wait_until_writable(&self) -> io::Result<()> {
        wait_for_room(self.tty.as_raw_fd())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
        let set = signal_set(&[STOPS, IN_BACKGROUND].concat());
        // SAFETY: `set` is a valid signal set, and the old mask is not requested.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    }
}

/// Restores the settings of the terminal that [`Terminal::adopt`] has changed, without waiting. For the end of the view, and for
/// a panic.
pub fn restore() {
    let mut changed = match CHANGED.try_lock() {
        Ok(changed) => changed,
        Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(std::sync::TryLockError::WouldBlock) => return,
    };
    let Some(Changed { fd, before, leave, .. }) = changed.take() else { return };
    // SAFETY: both take integers only.
    if unsafe { libc::tcgetpgrp(fd) != libc::getpgrp() } {
        // The settings are those of the shell or of another job.
        return;
    }
    // A terminal that refuses has been closed or is stopped; there is nothing left to do.
    let _ = write_at_once(fd, leave.as_bytes());
    let _ = apply(fd, &before);
}

fn is_changed() -> bool {
    CHANGED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Standard error, for output that never waits for its reader.
#[derive(Debug)]
pub struct StandardError {
    reopened: Option<OwnedFd>,
}

impl StandardError {
    /// Standard error. A terminal or a pipe is reopened, so that its own description does not wait.
    pub fn new() -> Self {
        let reopened = is_terminal_or_pipe(libc::STDERR_FILENO)
            .then(|| reopened(libc::STDERR_FILENO, libc::O_WRONLY).ok())
            .flatten();
        Self { reopened }
    }

    /// Writes as many of `bytes` as are accepted at once, and returns their number. A regular file accepts all.
    ///
    /// # Errors
    /// EPIPE or EIO if the reader has ended.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.reopened {
            Some(fd) => write_at_once(fd.as_raw_fd(), bytes),
            None if has_room(libc::STDERR_FILENO)? => {
                // A pipe with room has room for PIPE_BUF bytes, a socket usually more.
                write_at_once(libc::STDERR_FILENO, &bytes[..bytes.len().min(libc::PIPE_BUF)])
            }
            None => Ok(0),
        }
    }

    /// Waits until bytes are accepted.
    pub fn wait_until_writable(&self) -> io::Result<()> {
        wait_for_room(self.reopened.as_ref().map_or(libc::STDERR_FILENO, AsRawFd::as_raw_fd))
    }
}

impl Default for StandardError {
    fn default() -> Self {
        Self::new()
    }
}

fn settings(fd: RawFd) -> io::Result<libc::termios> {
    // SAFETY: termios consists of integers, for which zero is valid.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: `settings` is a valid termios to write to.
    check(unsafe { libc::tcgetattr(fd, &raw mut settings) }).map(|_| settings)
}

/// Applies settings at once: TCSADRAIN would wait for a stopped terminal.
fn apply(fd: RawFd, settings: &libc::termios) -> io::Result<()> {
    // SAFETY: `settings` is a valid termios.
    check(unsafe { libc::tcsetattr(fd, libc::TCSANOW, settings) }).map(|_| ())
}

/// Another open file description of the file of `fd`, whose reads and writes do not wait.
fn reopened(fd: RawFd, access: libc::c_int) -> io::Result<OwnedFd> {
    let path = std::ffi::CString::new(format!("/proc/self/fd/{fd}"))?;
    open(&path, access)
}

fn open(path: &CStr, access: libc::c_int) -> io::Result<OwnedFd> {
    let flags = access | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: `path` is a string that ends with a zero.
    let fd = check(unsafe { libc::open(path.as_ptr(), flags) })?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn is_terminal_or_pipe(fd: RawFd) -> bool {
    // SAFETY: stat consists of integers, for which zero is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid to write to; isatty takes an integer only.
    unsafe {
        libc::isatty(fd) == 1
            || (libc::fstat(fd, &raw mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFIFO)
    }
}

fn write_at_once(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is readable for its length.
    match unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) } {
        written @ 0.. => Ok(written.cast_unsigned()),
        _ if would_wait() => Ok(0),
        _ => Err(io::Error::last_os_error()),
    }
}

fn would_wait() -> bool {
    let error = io::Error::last_os_error();
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn has_room(fd: RawFd) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: `polled` is one valid pollfd.
    check(unsafe { libc::poll(&raw mut polled, 1, 0) }).map(|ready| ready > 0)
}

fn wait_for_room(fd: RawFd) -> io::Result<()> {
    let mut polled = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: `polled` is one valid pollfd.
    match check(unsafe { libc::poll(&raw mut polled, 1, -1) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
        Ok(_) if polled.revents & libc::POLLOUT == 0 => Err(io::Error::from_raw_os_error(libc::EIO)),
        Ok(_) => Ok(()),
    }
}

fn check(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}
