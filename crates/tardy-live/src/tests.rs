//! The view at several sizes. Every frame keeps to its terminal.

use tardy_host::watch::LatestReading;
use tardy_load::LoadRate;
use tardy_measure::engine::RunProgress;
use tardy_record::plan::{PhasePlan, Plan};
use tardy_record::series::Change;

use super::*;
use tardy_statistics::duration::Sequential;

/// A phase of `seconds` of the default plan: a timer on two CPUs.
fn phase() -> PhasePlan {
    let recipe = tardy_recipe::Recipe::default();
    let machine = tardy_recipe::plan::Machine {
        cpus: tardy_host::cpus::Cpus::alike(vec![0, 1]),
        trace: tardy_host::trace::tracefs::Offer::fake(),
        co_kernel: Err(String::new()),
        pins: tardy_recipe::plan::Pins::Known(Vec::new()),
    };
    let extras = tardy_recipe::plan::Extras { scale: 1.0, ambient_c: None, housekeeping_cpu: None };
    let Plan { mut phases, .. } = tardy_recipe::plan::resolve(&recipe, extras, &machine).unwrap();
    phases.remove(0)
}

fn change(what: &str) -> Change {
    Change { what: what.to_owned(), by: 1200.0, usual: 3.0, unit: "per second".to_owned() }
}

/// CPU `cpu`, whose worst wake-up took `worst_us`.
fn series(cpu: u32, worst_us: i64) -> LiveSeries {
    let bins = vec![
        (1_000, 2_000, 30_000).into(),
        (3_000, 4_000, 400).into(),
        (worst_us * 1000, worst_us * 1000 + 100, 1).into(),
    ];
    LiveSeries {
        label: format!("cpu {cpu}"),
        recorded: 30_401,
        missed: Some(u64::from(cpu == 1)),
        last_ns: Some(1_234),
        mean_ns: Some(1_890.0),
        worst_ns: Some(worst_us * 1000),
        histogram: Histogram::from_bins(bins).unwrap(),
        newest_outlier: Some(Outlier {
            latency_ns: worst_us * 1000,
            at_ns: 4_000_000_000 + u64::from(cpu),
            cycle: 7,
            around: vec![change("irq 39 dwc_otg, cpu 0"), change("softirq NET_RX, cpu 1"), change("forks")],
            overlaps: None,
            moment: None,
        }),
    }
}

fn state(plan: &PhasePlan, cpus: u32) -> LiveState<'_> {
    let reading = |name: &str, unit: &str, value| LatestReading {
        name: name.to_owned(),
        of: String::new(),
        cpu: None,
        unit: unit.to_owned(),
        value,
    };
    let rate = |part, unit, per_second| LoadRate { part, unit, per_second: Some(per_second), alive: true };
    LiveState {
        progress: RunProgress {
            phase: "nanosleep",
            number: 1,
            of: 1,
            counted_ns: 12_500_000_000,
            planned_ns: 60_000_000_000,
            worst: Some((84_000, 1)),
            missed: 1,
        },
        plan,
        limit_ns: None,
        now_ns: 9_000_000_000,
        series: (0..cpus).map(|cpu| series(cpu, 20 + i64::from(cpu))).collect(),
        loads: vec![rate("scheduler", "messages", 80_123.0), rate("network", "bytes", 3_360_000.0)],
        environment: vec![
            reading("temperature", "°C", 54.0),
            reading("temperature", "°C", 61.5),
            reading("frequency", "MHz", 600.0),
            reading("frequency", "MHz", 1400.0),
        ],
        marks: 0,
        is_valid: true,
        is_ending: false,
        frame_cost_ns: Some(412_000),
    }
}

fn text(state: &LiveState<'_>, columns: usize, rows: usize, message: Option<&str>) -> Vec<String> {
    let lines = lines(state, Size { columns, rows }, message);
    lines
        .iter()
        .map(|line| line.iter().map(|(text, _)| text.as_str()).collect::<String>().trim_end().to_owned())
        .collect()
}

#[test]
fn the_usual_terminal_shows_everything() {
    let plan = phase();
    insta::assert_snapshot!(text(&state(&plan, 2), 80, 24, None).join("\n"));
}

#[test]
fn a_small_terminal_shows_the_numbers_and_the_keys() {
    let plan = phase();
    insta::assert_snapshot!(text(&state(&plan, 2), 40, 10, None).join("\n"));
}

#[test]
fn many_cpus_are_folded_to_the_worst() {
    let plan = phase();
    let many = state(&plan, 64);
    let lines = text(&many, 120, 40, None);
    let rows: Vec<&String> = lines.iter().filter(|line| line.starts_with("cpu ")).collect();
    assert_eq!(rows.len(), 10, "{lines:#?}");
    assert!(rows[0].starts_with("cpu 63 ") && rows[9].starts_with("cpu 54 "), "the worst first: {rows:#?}");
    assert!(lines.iter().any(|line| line == "54 more CPUs: worst 20.0 to 73 us"), "{lines:#?}");
    let few = text(&many, 80, 14, None);
    assert!(few.iter().any(|line| line.starts_with("cpu 63 ")), "{few:#?}");
    assert!(few.iter().any(|line| line.contains(" more CPUs: worst ")), "{few:#?}");
}

#[test]
fn every_frame_keeps_to_its_terminal() {
    let plan = phase();
    let long =
        "the kernel refused SCHED_FIFO 90: Operation not permitted; 'tardy check' reports what is missing";
    for cpus in [1, 2, 10, 11, 256] {
        let state = state(&plan, cpus);
        for columns in [1, 20, 40, 60, 80, 120, 300] {
            for rows in [1, 2, 5, 10, 11, 12, 16, 24, 40, 100] {
                for message in [None, Some(long)] {
                    let lines = text(&state, columns, rows, message);
                    assert!(lines.len() == rows, "{columns}x{rows}: {} lines", lines.len());
                    let widest = lines.iter().map(|line| line.chars().count()).max();
                    assert!(widest <= Some(columns), "{columns}x{rows}: {lines:#?}");
                }
            }
        }
    }
}

#[test]
fn no_number_of_the_table_is_cut() {
    let plan = phase();
    for columns in 40..=80 {
        let lines = text(&state(&plan, 2), columns, 24, None);
        let rows: Vec<&String> =
            lines.iter().filter(|line| line.starts_with("cpu ") || line.starts_with("us ")).collect();
        assert!(rows[0].ends_with(" missed") && rows[2].ends_with(" 1"), "{columns}: {rows:#?}");
    }
}

#[test]
fn the_last_message_is_above_the_keys() {
    let plan = phase();
    let lines = text(&state(&plan, 2), 80, 24, Some("mark\n1\u{1b}[2J"));
    assert_eq!(lines[22], "mark 1\u{fffd}[2J");
    assert!(lines[23].starts_with("q end"), "{lines:#?}");
}

#[test]
fn a_limit_an_invalid_phase_and_a_dead_load_are_visible() {
    let plan = phase();
    let mut state = state(&plan, 2);
    state.limit_ns = Some(1_000_000);
    let heading = text(&state, 80, 24, None)[0].clone();
    // CPU 1 has a missed period among 30,402: the bound is that of the CPU with more late wake-ups, and of looking often.
    let bound = Sequential { count: 30_402, late: 1, confidence: CONFIDENCE }.upper_bound();
    assert!(bound > 4.7 / 30_402.0, "wider than the bound of a single look: {bound}");
    assert!(
        heading.ends_with(&format!("limit 1ms not exceeded: at most {} late (95 %)", one_in(bound))),
        "{heading}"
    );
    state.limit_ns = Some(3_500);
    let heading = text(&state, 80, 24, None)[0].clone();
    let bound = Sequential { count: 30_402, late: 402, confidence: CONFIDENCE }.upper_bound();
    assert!(heading.ends_with(&format!("exceeded: at most {} late (95 %)", one_in(bound))), "{heading}");
    state.limit_ns = Some(50_000);
    state.is_valid = false;
    state.loads[0].alive = false;
    state.environment.clear();
    let lines = text(&state, 80, 24, None);
    assert!(
        lines[0].contains("limit 50us exceeded: at most ") && lines[0].ends_with("  INVALID"),
        "{lines:#?}"
    );
    assert!(lines.iter().any(|line| line.contains("scheduler has ended")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.ends_with("temperature and frequency unknown")), "{lines:#?}");
}

#[test]
fn before_the_first_reading_the_table_is_empty() {
    let plan = phase();
    let mut state = state(&plan, 0);
    state.progress.worst = None;
    let lines = text(&state, 80, 24, None);
    assert!(lines[1].ends_with("warming up"), "{lines:#?}");
}
