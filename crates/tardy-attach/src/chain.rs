//! Follows the work of a cycle from thread to thread: the threads that a thread wakes while it works on a cycle work on that
//! cycle too, until they wait again in the call in which they were woken.
//!
//! Not taken: what threads pass to each other (descriptors, futex addresses), because a wake-up is the same for all of them.

use std::collections::BTreeMap;

use crate::wait::Call;

/// The most threads of a chain.
pub const STAGES_MAX: usize = 16;
/// Work that lasts longer is given up when the thread is woken again: it may never return to the call that it is expected in.
const GIVEN_UP_NS: u64 = 1_000_000_000;

/// The work of one thread in a passage. Times are on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The thread.
    pub tid: u32,
    /// When it was woken; of the first one, when it was due.
    pub woken_ns: u64,
    /// When the call in which it waited returned.
    pub begun_ns: u64,
    /// When it woke the next one; of the last one, when it began to wait again.
    pub ended_ns: u64,
}

/// The work of a cycle, from the first thread to one that woke no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The stages, at least two.
    pub stages: Vec<Stage>,
}

impl Passage {
    /// The threads, in order.
    pub fn tids(&self) -> Vec<u32> {
        self.stages.iter().map(|stage| stage.tid).collect()
    }

    /// From the due time of the first thread to the end of the last one's work.
    pub fn took_ns(&self) -> u64 {
        let last = self.stages.last().map_or(0, |stage| stage.ended_ns);
        last.saturating_sub(self.stages.first().map_or(0, |stage| stage.woken_ns))
    }
}

/// A thread that was woken, and has not returned from its call yet.
#[derive(Clone, Debug)]
struct Woken {
    /// The stages before.
    before: Vec<Stage>,
    at_ns: u64,
}

/// A thread that works on a cycle.
#[derive(Clone, Debug)]
struct Working {
    before: Vec<Stage>,
    woken_ns: u64,
    begun_ns: u64,
    /// The call in which it waited.
    wait: Call,
    /// Whether it woke another thread.
    woke: bool,
}

/// What the threads of a program work on.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    woken: BTreeMap<u32, Woken>,
    working: BTreeMap<u32, Working>,
}

impl Chains {
    /// A cycle of the periodic thread `tid` begins, which was due at `due_ns`, with the return of `wait` at `at_ns`.
    pub fn begin(&mut self, tid: u32, due_ns: u64, at_ns: u64, wait: Call) {
        self.woken.remove(&tid);
        let working =
            Working { before: Vec::new(), woken_ns: due_ns.min(at_ns), begun_ns: at_ns, wait, woke: false };
        self.working.insert(tid, working);
    }

    /// The thread `by` wakes `tid`, which waits.
    pub fn wake(&mut self, by: u32, tid: u32, at_ns: u64) {
        // Woken within its work, by the holder of a lock for example: it goes on with that work.
        if let Some(working) = self.working.get(&tid) {
            if at_ns.saturating_sub(working.begun_ns) < GIVEN_UP_NS {
                return;
            }
            self.working.remove(&tid);
        }
        let Some(waker) = self.working.get_mut(&by) else { return };
        let is_known = waker.before.iter().any(|stage| stage.tid == tid);
        if by == tid || is_known || waker.before.len() + 2 > STAGES_MAX {
            return;
        }
        waker.woke = true;
        let mut before = waker.before.clone();
        before.push(Stage {
            tid: by,
            woken_ns: waker.woken_ns,
            begun_ns: waker.begun_ns,
            ended_ns: at_ns.max(waker.begun_ns),
        });
        // A thread that two threads wake works for the first of them.
        self.woken.entry(tid).or_insert(Woken { before, at_ns });
    }

    /// The thread waits: if it was woken before, it has not returned from its call, since another thread took what it waits for.
    pub fn block(&mut self, tid: u32) {
        self.woken.remove(&tid);
    }

    /// The thread `tid` returns from the call `wait`.
    pub fn leave(&mut self, tid: u32, wait: Call, at_ns: u64) {
        let Some(Woken { before, at_ns: woken_ns }) = self.woken.remove(&tid) else { return };
        self.working.insert(tid, Working { before, woken_ns, begun_ns: at_ns, wait, woke: false });
    }

    /// The thread `tid` enters a call. Returns the passage that ends with it.
    pub fn enter(&mut self, tid: u32, call: &Call) -> Option<Passage> {
        if !self.working.get(&tid).is_some_and(|working| is_same(&working.wait, call)) {
            return None;
        }
        let Working { before, woken_ns, begun_ns, woke, .. } = self.working.remove(&tid)?;
        if woke || before.is_empty() {
            return None;
        }
        let mut stages = before;
        stages.push(Stage { tid, woken_ns, begun_ns, ended_ns: call.entered_ns });
        Some(Passage { stages })
    }

    /// The thread ended.
    pub fn end(&mut self, tid: u32) {
        self.woken.remove(&tid);
        self.working.remove(&tid);
    }

    /// Events were lost: what threads work on is unknown.
    pub fn forget(&mut self) {
        self.woken.clear();
        self.working.clear();
    }
}

/// Whether both calls are the same wait: of one file, or of futex(2) by one operation, since a condition variable changes its
/// addresses.
fn is_same(one: &Call, other: &Call) -> bool {
    let argument = usize::from(tardy_sys::system_calls::name(one.number) == Some("futex"));
    one.number == other.number && one.args[argument] == other.args[argument]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENSOR: u32 = 1;
    const CONTROL: u32 = 2;
    const BUS: u32 = 3;

    fn call(file: u64, entered_ns: u64) -> Call {
        Call { number: 0, args: [file, 0, 0, 0], entered_ns }
    }

    #[test]
    fn the_times_of_the_stages_add_up() {
        let mut chains = Chains::default();
        chains.begin(SENSOR, 1000, 1010, call(1, 0));
        chains.wake(SENSOR, CONTROL, 1100);
        assert_eq!(chains.enter(SENSOR, &call(1, 1150)), None);
        chains.leave(CONTROL, call(2, 0), 1120);
        chains.wake(CONTROL, BUS, 1300);
        assert_eq!(chains.enter(CONTROL, &call(2, 1310)), None);
        chains.leave(BUS, call(3, 0), 1400);
        assert_eq!(chains.enter(BUS, &call(9, 1450)), None, "another file is not its wait");
        let passage = chains.enter(BUS, &call(3, 1500)).unwrap();
        assert_eq!(passage.tids(), [SENSOR, CONTROL, BUS]);
        assert_eq!(passage.took_ns(), 500);
        let parts =
            passage.stages.iter().map(|one| (one.begun_ns - one.woken_ns, one.ended_ns - one.begun_ns));
        assert_eq!(parts.collect::<Vec<_>>(), [(10, 90), (20, 180), (100, 100)]);
    }

    #[test]
    fn two_threads_that_one_wakes_are_two_chains() {
        let mut chains = Chains::default();
        chains.begin(SENSOR, 0, 0, call(1, 0));
        chains.wake(SENSOR, CONTROL, 10);
        chains.wake(SENSOR, BUS, 20);
        chains.leave(CONTROL, call(2, 0), 30);
        chains.leave(BUS, call(3, 0), 40);
        let ended = [chains.enter(BUS, &call(3, 50)), chains.enter(CONTROL, &call(2, 60))];
        assert_eq!(ended.map(|passage| passage.unwrap().tids()), [[SENSOR, BUS], [SENSOR, CONTROL]]);
    }

    #[test]
    fn the_holder_of_a_lock_does_not_begin_a_stage() {
        let mut chains = Chains::default();
        chains.begin(SENSOR, 0, 0, call(1, 0));
        chains.wake(SENSOR, CONTROL, 10);
        chains.leave(CONTROL, call(2, 0), 20);
        // The sensor's thread releases the lock that the other waits for.
        chains.wake(SENSOR, CONTROL, 40);
        chains.leave(CONTROL, call(8, 0), 50);
        assert_eq!(chains.enter(SENSOR, &call(1, 60)), None);
        let passage = chains.enter(CONTROL, &call(2, 90)).unwrap();
        assert_eq!((passage.stages[1].woken_ns, passage.stages[1].begun_ns), (10, 20));
        // An answer to the thread that asked is not a stage either.
        chains.begin(SENSOR, 100, 100, call(1, 0));
        chains.wake(SENSOR, CONTROL, 110);
        chains.leave(CONTROL, call(2, 0), 120);
        chains.wake(CONTROL, SENSOR, 130);
        assert_eq!(chains.enter(CONTROL, &call(2, 140)).unwrap().tids(), [SENSOR, CONTROL]);
    }

    #[test]
    fn a_thread_that_works_for_no_cycle_wakes_no_stage() {
        let mut chains = Chains::default();
        chains.begin(SENSOR, 0, 0, call(1, 0));
        assert_eq!(chains.enter(SENSOR, &call(1, 10)), None);
        chains.wake(SENSOR, CONTROL, 20);
        chains.leave(CONTROL, call(2, 0), 30);
        assert_eq!(chains.enter(CONTROL, &call(2, 40)), None);
    }

    #[test]
    fn work_that_never_ends_is_given_up() {
        let mut chains = Chains::default();
        let pass = |chains: &mut Chains, at_ns: u64, returns_to: u64| {
            chains.begin(SENSOR, at_ns, at_ns, call(1, 0));
            chains.wake(SENSOR, CONTROL, at_ns + 10);
            chains.leave(CONTROL, call(2, 0), at_ns + 20);
            chains.enter(CONTROL, &call(returns_to, at_ns + 30))
        };
        assert_eq!(pass(&mut chains, 0, 7), None);
        assert_eq!(pass(&mut chains, 100, 2).map(|passage| passage.stages[0].woken_ns), Some(0));
        assert_eq!(pass(&mut chains, 200, 7), None);
        let late = pass(&mut chains, 300 + GIVEN_UP_NS, 2).unwrap();
        assert_eq!(late.stages[0].woken_ns, 300 + GIVEN_UP_NS);
    }

    #[test]
    fn a_thread_that_waits_on_was_not_woken() {
        let mut chains = Chains::default();
        for (due_ns, other_is_first) in [(0, true), (100, false)] {
            chains.begin(SENSOR, due_ns, due_ns, call(1, 0));
            chains.wake(SENSOR, CONTROL, due_ns + 10);
            if other_is_first {
                chains.block(CONTROL);
            }
        }
        chains.leave(CONTROL, call(2, 0), 120);
        assert_eq!(chains.enter(CONTROL, &call(2, 130)).unwrap().stages[0].woken_ns, 100);
    }

    #[test]
    fn lost_events_end_all_passages() {
        let mut chains = Chains::default();
        chains.begin(SENSOR, 0, 0, call(1, 0));
        chains.wake(SENSOR, CONTROL, 10);
        chains.forget();
        chains.leave(CONTROL, call(2, 0), 20);
        assert_eq!(chains.enter(CONTROL, &call(2, 30)), None);
    }
}
