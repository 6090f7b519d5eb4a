//! A wake-up followed by an edge: the thread waits with any waiter, then writes the line.

use std::io;

use crate::level::Level;
use crate::timer::waiter::Waiter;
use crate::timer::woken::Woken;

/// A way to wait, followed by a write. The waiter reads the time of the wake-up, so an edge costs one reading of the
/// clock and one write. The edge is later than that time by the duration of the write.
pub(crate) struct Edges<W, L> {
    waiter: W,
    level: L,
    high: bool,
}

impl<W: Waiter, L: Level> Edges<W, L> {
    /// Edges of `level`, which is low, at the wake-ups of `waiter`.
    pub(crate) fn new(waiter: W, level: L) -> Self {
        Self { waiter, level, high: false }
    }
}

impl<W: Waiter, L: Level> Waiter for Edges<W, L> {
    const MAY_END_BY_CLOCK: bool = W::MAY_END_BY_CLOCK;

    #[inline(always)]
    fn wait(&mut self) -> io::Result<Woken> {
        let woken = self.waiter.wait()?;
        self.high = !self.high;
        self.level.set(self.high)?;
        Ok(woken)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A waiter that is due every 10 ns and always 3 ns late, and a line that remembers its level.
    struct Due(i64);

    impl Waiter for Due {
        fn wait(&mut self) -> io::Result<Woken> {
            self.0 += 10;
            Ok(Woken { deadline_ns: self.0, now_ns: self.0 + 3, missed: 0, kernel_overruns: 0, dropped: 0 })
        }
    }

    struct Remembered<'a>(&'a RefCell<Vec<bool>>);

    impl Level for Remembered<'_> {
        fn set(&self, high: bool) -> io::Result<()> {
            if self.0.borrow().len() == 4 {
                return Err(io::Error::other("the line is gone"));
            }
            self.0.borrow_mut().push(high);
            Ok(())
        }
    }

    #[test]
    fn each_wake_up_is_an_edge_and_a_failed_write_ends_the_wait() {
        let levels = RefCell::default();
        let mut edges = Edges::new(Due(0), Remembered(&levels));
        for number in 1..=4 {
            let woken = edges.wait().unwrap();
            assert_eq!((woken.deadline_ns, woken.now_ns), (number * 10, number * 10 + 3));
        }
        assert_eq!(edges.wait().unwrap_err().to_string(), "the line is gone");
        assert_eq!(*levels.borrow(), [true, false, true, false]);
    }
}
