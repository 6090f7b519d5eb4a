//! The bound of a thread's scheduling latency, by the model of de Oliveira et al., from the sections that ran.
//!
//! "Demystifying the Real-Time Linux Scheduling Latency", ECRTS 2020, section 4: the thread with the highest priority waits for the
//! longest section that postpones the scheduler (POID), or for a switch that is in progress (DST); from there for the scheduler (PAIE)
//! and for the switch (PSD); and for all interrupts that come meanwhile, for which the window is made longer until it contains them. The
//! model ends at the switch, and begins when the interrupt comes.

use tardy_record::census::{Bound, Interference, InterruptEntry, SectionKind, Sections, Term};

use crate::arrivals::possible;
use crate::execution::NS_PER_INSTRUCTION;
use crate::observed::Reading;

/// A window that still grows here, after half an hour, does not end.
const WINDOW_MAX: u64 = 1 << 40;

/// The bound; `None` if the run has no switch, or if interrupts can come so often that no window contains them.
pub(crate) fn bound(
    sections: &[Sections],
    interrupts: &[InterruptEntry],
    readings: &[Reading],
) -> Option<Bound> {
    let longest = |kind| sections.iter().filter(move |one| one.kind == kind).max_by_key(|one| one.longest);
    let postponed = longest(SectionKind::Postponed).map(term);
    let switching = longest(SectionKind::Switching).map(term);
    let to_scheduler = longest(SectionKind::ToScheduler).map(term);
    let to_switch = term(longest(SectionKind::ToSwitch)?);
    let of = |term: &Option<Term>| term.as_ref().map_or(0, |term| term.instructions);
    let own = of(&postponed).max(of(&switching)) + of(&to_scheduler) + to_switch.instructions;
    let (instructions, interrupts) = with_interrupts(own, interrupts)?;
    // The least, so that what is compared with the bound is the most.
    let timer = |reading: &Reading| reading.timer_delay().0;
    let switched = || readings.iter().filter(|reading| reading.switched_ns > 0);
    let instructions_in = |ns: i64| ns.unsigned_abs() / NS_PER_INSTRUCTION;
    let observed =
        switched().map(|reading| instructions_in(reading.switched_ns).saturating_sub(timer(reading)));
    let to_reading =
        switched().map(|reading| instructions_in(reading.late_ns.saturating_sub(reading.switched_ns)));
    Some(Bound {
        postponed,
        switching,
        to_scheduler,
        to_switch,
        interrupts,
        instructions,
        observed: observed.max()?,
        timer: readings.iter().map(timer).max()?,
        to_reading: to_reading.max()?,
    })
}

fn term(sections: &Sections) -> Term {
    Term {
        kind: sections.kind,
        instructions: sections.longest,
        from: sections.from.clone(),
        to: sections.to.clone(),
        task: sections.task.clone(),
    }
}

/// Makes the window longer until it contains the interrupts that can come in it.
fn with_interrupts(own: u64, interrupts: &[InterruptEntry]) -> Option<(u64, Vec<Interference>)> {
    let mut window = own;
    while window < WINDOW_MAX {
        let all: Vec<Interference> = interrupts
            .iter()
            .map(|interrupt| Interference {
                name: interrupt.name.clone(),
                count: possible(interrupt, window * NS_PER_INSTRUCTION),
                each: interrupt.longest,
            })
            .collect();
        let longer = own.saturating_add(
            all.iter().map(|one| one.count.saturating_mul(one.each)).fold(0, u64::saturating_add),
        );
        if longer == window {
            return Some((window, all));
        }
        window = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use tardy_record::census::Context;

    use super::*;
    use crate::synthetic::reading;

    fn sections(kind: SectionKind, longest: u64) -> Sections {
        Sections {
            kind,
            context: Context::Thread,
            from: format!("{kind:?}"),
            to: String::new(),
            count: 1,
            total: longest,
            longest,
            longest_at_ns: 0,
            task: String::new(),
        }
    }

    fn interrupt(longest: u64, distances: &[u64]) -> InterruptEntry {
        InterruptEntry {
            name: "timer".to_owned(),
            count: 1_000,
            longest,
            total: longest,
            distances_ns: distances.to_vec(),
        }
    }

    const SECTIONS: [(SectionKind, u64); 5] = [
        (SectionKind::InterruptsOff, 90_000),
        (SectionKind::Postponed, 1_000),
        (SectionKind::Switching, 700),
        (SectionKind::ToSwitch, 400),
        (SectionKind::ToScheduler, 100),
    ];

    fn of(longest: u64, distances: &[u64]) -> Option<Bound> {
        let interrupt = interrupt(longest, distances);
        let all = SECTIONS.map(|(kind, longest)| sections(kind, longest));
        bound(&all, &[interrupt], &[reading(1, 0, 2_000)])
    }

    #[test]
    fn the_window_grows_until_it_contains_its_interrupts() {
        // 1500 of its own. With one interrupt of 300 it is 1800, 3600 ns, in which a second can come, which makes 2100; a third
        // would have to come within 4200 ns.
        let bound = of(300, &[3_500, 6_000]).unwrap();
        assert_eq!((bound.instructions, bound.interrupts[0].count), (2_100, 2));
        assert_eq!(bound.postponed.unwrap().from, "Postponed");
        assert_eq!(bound.observed, 1_000 - reading(1, 0, 2_000).timer_delay().0);
    }

    #[test]
    fn interrupts_without_end_have_no_bound() {
        assert_eq!(of(2_000, &[1_000; 32]).map(|bound| bound.instructions), Some(1_500 + 1_000 * 2_000));
        let interrupt = InterruptEntry { count: u64::MAX, ..interrupt(2_000, &[1_000]) };
        let all = SECTIONS.map(|(kind, longest)| sections(kind, longest));
        assert_eq!(bound(&all, &[interrupt], &[reading(1, 0, 2_000)]), None);
    }

    #[test]
    fn a_run_without_a_switch_has_no_bound() {
        assert_eq!(bound(&[sections(SectionKind::Postponed, 5)], &[interrupt(1, &[])], &[]), None);
    }
}
