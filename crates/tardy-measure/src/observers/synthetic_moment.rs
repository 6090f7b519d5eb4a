//! Synthetic moments: kernel events that could have caused a synthetic late wake-up, from its lateness and cycle
//! number.

use tardy_record::moment::{Happening, Moment, MomentEvent, Task};
use tardy_record::series::Outlier;

/// The moment of `outlier`, for the thread `tid` with that priority. The cycle's number selects one of four causes.
pub(super) fn of(outlier: &Outlier, tid: u32, priority: u32) -> Moment {
    let late_ns = outlier.latency_ns.max(1);
    let at = |share: i64| late_ns * share / 100;
    let task = |name: &str, tid: u32, priority: i32| Task { name: name.to_owned(), tid, priority };
    let own = task("timer0", tid, 99 - i32::try_from(priority).unwrap_or(0).min(99));
    let builder = task("cc1", 4711, 120);
    let switch = |from: &Task, to: &Task| Happening::Switch { from: from.clone(), to: to.clone() };
    let mut events = vec![(-30_000, switch(&own, &builder))];
    // The timer's interrupt at `from` wakes the thread; the scheduler switches to it at `to`. In percent of the
    // lateness.
    let wake_up = |from: i64, to: i64, runs: &Task| {
        let timer = || "local_timer".to_owned();
        [
            (at(from), Happening::VectorBegin { name: timer() }),
            (at(from) + 1, Happening::TimerBegin { function: "hrtimer_wakeup".to_owned() }),
            (at(from + 2), Happening::Ready { task: own.clone() }),
            (at(from + 2) + 1, Happening::TimerEnd),
            (at(from + 3), Happening::VectorEnd { name: timer() }),
            (at(to), switch(runs, &own)),
        ]
    };
    match outlier.cycle % 4 {
        0 => events.extend(wake_up(85, 95, &builder)),
        1 => {
            let [begin, timer, ready, timer_end, end, to_own] = wake_up(5, 95, &builder);
            let name = || "NET_RX".to_owned();
            let softirq = [
                (at(9), Happening::SoftirqBegin { name: name() }),
                (at(91), Happening::SoftirqEnd { name: name() }),
            ];
            events.extend([begin, timer, ready, timer_end, end]);
            events.extend(softirq);
            events.push(to_own);
        }
        2 => {
            events.push((at(2), Happening::IrqBegin { irq: 39, name: "dwc_otg".to_owned() }));
            events.push((at(80), Happening::IrqEnd { irq: 39 }));
            events.extend(wake_up(82, 95, &builder));
        }
        _ => events.extend(wake_up(4, 95, &builder)),
    }
    let events = events.into_iter().map(|(at_ns, what)| MomentEvent { at_ns, what }).collect();
    Moment { tid, priority, whole_from_ns: -100_000, waits_from_ns: None, events }
}
