//! The time-critical part of the GPIO character device: events, values and answers on lines that are already
//! requested (Documentation/userspace-api/gpio/chardev.rst). A crate requests the lines, which is not time-critical.
//!
//! Nothing here allocates or searches: each call is one system call, with a structure that the caller owns.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// The device of the chip called `name`, such as `/dev/gpiochip0`.
pub fn device_path(name: &str) -> PathBuf {
    Path::new("/dev").join(name)
}

/// The most events that are read at once.
pub const EVENT_COUNT: usize = 16;

/// `GPIO_V2_LINE_GET_VALUES_IOCTL`: `_IOWR(0xB4, 0x0E, struct gpio_v2_line_values)` (linux/gpio.h).
const GET_VALUES: u32 = 0xC010_B40E;
/// `GPIO_V2_LINE_SET_VALUES_IOCTL`: `_IOWR(0xB4, 0x0F, struct gpio_v2_line_values)` (linux/gpio.h).
const SET_VALUES: u32 = 0xC010_B40F;

/// `struct gpio_v2_line_event`: an edge as reported by the kernel.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EdgeEvent {
    /// The time in ns on CLOCK_MONOTONIC, or on another requested clock: read in the hard interrupt handler if the
    /// chip has its own interrupt.
    pub timestamp_ns: u64,
    id: u32,
    offset: u32,
    seqno: u32,
    /// The number of the line's edge since it was requested, from 1; it wraps. Edges with missing numbers were lost by
    /// the kernel's queue.
    pub line_seqno: u32,
    padding: [u32; 6],
}

/// A buffer for the events of one read.
pub type Events = [EdgeEvent; EVENT_COUNT];

/// `struct gpio_v2_line_values`.
#[repr(C, align(8))]
struct LineValues {
    bits: u64,
    mask: u64,
}

/// A request of exactly one line.
#[derive(Clone, Copy, Debug)]
pub struct OneLine<'a>(BorrowedFd<'a>);

impl<'a> OneLine<'a> {
    /// The line of `request`, the descriptor that the kernel returned for it.
    pub fn of(request: BorrowedFd<'a>) -> Self {
        Self(request)
    }

    /// Waits for edges, and reads those that have arrived into `events`; returns their number.
    ///
    /// # Errors
    /// `Interrupted` if a signal arrived; otherwise the kernel's.
    #[inline(always)]
    pub fn read_edges(self, events: &mut Events) -> io::Result<usize> {
        // SAFETY: `events` is writable for its size, and consists of integers, for which any bits are valid.
        let bytes = unsafe {
            libc::read(self.0.as_raw_fd(), (&raw mut *events).cast(), std::mem::size_of_val(events))
        };
        if bytes < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(bytes as usize / size_of::<EdgeEvent>())
    }

    /// Makes [`Self::read_edges`] non-blocking: instead of waiting it returns `WouldBlock`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn never_wait(self) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: both calls take and return integers only.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFL);
            if flags < 0 || libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Whether the line is active.
    ///
    /// # Errors
    /// The kernel's.
    #[inline(always)]
    pub fn is_high(self) -> io::Result<bool> {
        let mut values = LineValues { bits: 0, mask: 1 };
        // SAFETY: the request reads and writes one `struct gpio_v2_line_values`.
        unsafe { self.control(GET_VALUES, &mut values)? };
        Ok(values.bits & 1 == 1)
    }

    /// Makes the line active or inactive.
    ///
    /// # Errors
    /// The kernel's.
    #[inline(always)]
    pub fn set(self, high: bool) -> io::Result<()> {
        // SAFETY: the request reads one `struct gpio_v2_line_values`.
        unsafe { self.control(SET_VALUES, &mut LineValues { bits: u64::from(high), mask: 1 }) }
    }

    /// # Safety
    /// `request` must access one `struct gpio_v2_line_values` through its argument, and no other memory.
    #[inline(always)]
    unsafe fn control(self, request: u32, values: &mut LineValues) -> io::Result<()> {
        // SAFETY: by the condition of this function; `values` is one such structure.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request as libc::Ioctl, &raw mut *values) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn structures_have_the_kernels_size() {
        assert_eq!(size_of::<EdgeEvent>(), 48);
        assert_eq!(size_of::<LineValues>(), 16);
        assert_eq!(GET_VALUES >> 16 & 0x3fff, 16, "the number of the request holds the length");
    }

    /// Reads events from a pipe in place of the chip.
    #[test]
    fn events_are_read_in_the_kernels_layout() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut bytes = Vec::new();
        for number in 1..=3u64 {
            bytes.extend((number * 1000).to_ne_bytes());
            bytes.extend([1, 7, number as u32, 40 + number as u32].map(u32::to_ne_bytes).concat());
            bytes.extend([0; 24]);
        }
        writer.write_all(&bytes).unwrap();
        let mut events = Events::default();
        assert_eq!(OneLine::of(reader.as_fd()).read_edges(&mut events).unwrap(), 3);
        let read: Vec<(u64, u32)> =
            events[..3].iter().map(|event| (event.timestamp_ns, event.line_seqno)).collect();
        assert_eq!(read, [(1000, 41), (2000, 42), (3000, 43)]);
        assert!(OneLine::of(reader.as_fd()).set(true).is_err(), "a pipe has no values");
        OneLine::of(reader.as_fd()).never_wait().unwrap();
        let none = OneLine::of(reader.as_fd()).read_edges(&mut events).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
    }
}
