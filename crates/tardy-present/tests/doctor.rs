//! What `tardy check --measure` prints.

use tardy_compare::doctor::{Observation, Reading, diagnose};
use tardy_present::doctor::{Done, Offered, offers, text};

fn trials(rounds: u32) -> Vec<Observation> {
    let reading = |us: u32, round: u32| {
        let ns = i64::from(us * 1000 + round * 10);
        Ok(Reading { p99_9_ns: Some(ns), worst_ns: Some(3 * ns) })
    };
    let of = |round| {
        let change = |name: &str, us| Observation {
            round,
            change: Some(name.to_owned()),
            reading: reading(us, round),
        };
        let same = if round % 2 == 0 { 39 } else { 41 };
        let baseline = Observation { round, change: None, reading: reading(40, round) };
        [baseline, change("governor", 25), change("ktimers-up", 90), change("timer-migration", same)]
    };
    (1..=rounds).flat_map(of).collect()
}

fn done(interrupted: bool) -> Done {
    let offered =
        |name: &str, standing, what: &str| Offered { name: name.to_owned(), standing, what: what.to_owned() };
    Done {
        trials: "10 rounds of 5s on CPU 1 under doload".to_owned(),
        offered: vec![
            offered("governor", "can be tried", "governor ondemand, then performance"),
            offered("idle", "already so", "a program holds /dev/cpu_dma_latency at 0"),
            offered(
                "fair-server",
                "not permitted",
                "cannot list /sys/kernel/debug/sched/fair_server: evil\u{1b}[2J",
            ),
            offered("ktimers-up", "can be tried", "2 threads ktimers/…: 1, then fifo 91"),
            offered("timer-migration", "can be tried", "timer_migration 1, then 0"),
        ],
        interrupted,
    }
}

fn names() -> [String; 3] {
    ["governor", "ktimers-up", "timer-migration"].map(str::to_owned)
}

#[test]
fn results_of_ten_rounds() {
    let text = text(&done(false), &diagnose(&names(), &trials(10)), false);
    insta::assert_snapshot!(text);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn too_few_rounds_are_reported_first() {
    let text = text(&done(true), &diagnose(&names(), &trials(3)), false);
    insta::assert_snapshot!(text);
}

#[test]
fn control_characters_in_offers_are_replaced() {
    let text = offers(&done(false).offered, false);
    assert!(!text.contains('\u{1b}') && text.contains("evil\u{fffd}[2J"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
