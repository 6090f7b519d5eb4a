//! Pages recorded on Linux 6.18, x86_64, of a thread that slept 8 times for 2 ms, once for 300 ms and 4 times for 2 ms,
//! with absolute deadlines.

use std::fs;
use std::path::PathBuf;

use tardy_host::trace::cycles::{Cycle, Matcher};
use tardy_host::trace::events::{EVENTS, EventLayouts, TraceEvent, What};
use tardy_host::trace::format::Format;
use tardy_host::trace::page::{PageLayout, Piece};
use tardy_host::trace::tracers::TracerLayout;
use tardy_record::plan::Tracer;

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/x86_64-6.18")).join(name)
}

fn format(name: &str) -> Format {
    Format::parse(&fs::read_to_string(file(name)).unwrap())
}

/// The events of all CPUs in the order of time.
fn events() -> Vec<TraceEvent> {
    let page = PageLayout::of(&format("header_page")).unwrap();
    let formats = EVENTS.map(|event| format(&format!("{}.format", event.rsplit('/').next().unwrap())));
    let layouts = EventLayouts::of(&formats).unwrap();
    let mut events = Vec::new();
    for cpu in ["cpu0.raw", "cpu1.raw"] {
        for bytes in fs::read(file(cpu)).unwrap().chunks(page.size) {
            page.read(bytes, |piece| match piece {
                Piece::Event { at_ns, bytes } => events.extend(layouts.event(at_ns, bytes)),
                Piece::Lost { .. } => panic!("nothing was lost"),
            });
        }
    }
    events.sort_by_key(|event| event.at_ns);
    events
}

#[test]
fn every_sleep_is_a_cycle_whose_levels_follow_each_other() {
    let tid: u32 = fs::read_to_string(file("tid")).unwrap().trim().parse().unwrap();
    let mut matcher = Matcher::new(&[tid]);
    let cycles: Vec<Cycle> = events().into_iter().filter_map(|event| matcher.take(event)).collect();
    assert_eq!(cycles.len(), 13);
    for cycle in &cycles {
        assert!(cycle.expires_ns <= cycle.irq_ns as i64, "{cycle:?}: a timer expired before its time");
        assert!(cycle.irq_ns < cycle.wakeup_ns && cycle.wakeup_ns < cycle.switch_ns, "{cycle:?}");
        assert!(!cycle.after_loss);
    }
    let sleeps: Vec<i64> = cycles.windows(2).map(|pair| pair[1].expires_ns - pair[0].expires_ns).collect();
    assert!(sleeps.iter().all(|ns| *ns > 2_000_000), "{sleeps:?}");
    // This sleep exceeds the 27 bits of time in an event's header, so the next word must be added.
    assert_eq!(sleeps.iter().filter(|ns| **ns > 300_000_000).count(), 1, "{sleeps:?}");
}

#[test]
fn timers_of_other_threads_are_in_no_cycle() {
    let expiries = events().iter().filter(|event| matches!(event.what, What::Expire { .. })).count();
    assert!(expiries > 13, "the tick's timers were recorded too: {expiries}");
}

#[test]
fn a_real_kernels_tracers_have_the_fields_that_are_read() {
    for tracer in [Tracer::Timerlat, Tracer::Osnoise, Tracer::Hwlat] {
        TracerLayout::of(tracer, format(&format!("{}.format", tracer.name()))).unwrap();
    }
}
