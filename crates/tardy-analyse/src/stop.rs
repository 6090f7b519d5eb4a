//! Work that can be stopped: a server ends a page whose reader has left, or that takes too long.
//!
//! Loops over what a file may have many of call [`check`]. It unwinds to [`unless`] if the work is to stop, and costs next to nothing
//! elsewhere.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The work was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

type ShouldStop = Box<dyn Fn() -> bool>;

thread_local! {
    static SHOULD_STOP: RefCell<Option<ShouldStop>> = const { RefCell::new(None) };
}

/// Does `work` on this thread unless `should_stop` becomes true before its end.
///
/// # Errors
/// If the work was stopped.
pub fn unless<T>(should_stop: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    /// What was there before is there again, however the work ends.
    struct Restore(Option<ShouldStop>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SHOULD_STOP.set(self.0.take());
        }
    }
    let restore = Restore(SHOULD_STOP.replace(Some(Box::new(should_stop))));
    let done = catch_unwind(AssertUnwindSafe(work));
    drop(restore);
    done.map_err(|panic| if is_stop(&*panic) { Stopped } else { resume_unwind(panic) })
}

/// Ends the work of [`unless`] on this thread if it is to stop.
pub fn check() {
    let stops = SHOULD_STOP.with_borrow(|should_stop| should_stop.as_ref().is_some_and(|stops| stops()));
    if stops {
        // Without the message of a panic.
        resume_unwind(Box::new(Stopped));
    }
}

/// Whether a panic is the end of work that was stopped.
pub fn is_stop(panic: &(dyn Any + Send)) -> bool {
    panic.is::<Stopped>()
}

/// The message of a panic; `None` if its payload is not a text.
pub fn message_of(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn work_ends_when_it_is_to_stop_and_not_before() {
        let steps = Rc::new(Cell::new(0));
        let count = Rc::clone(&steps);
        let work = || {
            for _ in 0..10 {
                check();
                steps.set(steps.get() + 1);
            }
        };
        assert_eq!(unless(move || count.get() == 3, work), Err(Stopped));
        assert_eq!(steps.get(), 3);
        check();
        assert_eq!(unless(|| false, || 7), Ok(7));
    }

    #[test]
    fn another_panic_is_not_a_stop() {
        let panic = catch_unwind(|| unless(|| false, || panic!("a fault"))).unwrap_err();
        assert!(!is_stop(&*panic));
        assert_eq!(message_of(&*panic), Some("a fault"));
        check();
    }
}
