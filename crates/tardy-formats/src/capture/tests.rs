use super::*;
use tardy_record::Run;

use crate::import::ImportOptions;
use crate::run;

/// One tick per microsecond.
fn capture(names: &[&str], edge: Edge) -> Capture {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let options = ImportOptions { edge: Some(edge), ..ImportOptions::default() };
    let choice = Choice::among(names.as_slice(), &options).unwrap();
    Capture::new(choice, TimeBase::of_femtoseconds(1_000_000_000, ResolvedBy::TimeScale))
}

fn run(capture: Capture) -> Run {
    run::of(capture.imported(None), "vcd", "made.vcd").unwrap()
}

fn levels(text: &str) -> Levels {
    let level = |c: char| match c {
        '0' => Level::Low,
        '1' => Level::High,
        _ => Level::Unknown,
    };
    let mut levels = Levels::default();
    levels.iter_mut().zip(text.chars()).for_each(|(to, from)| *to = level(from));
    levels
}

fn fed(names: &[&str], edge: Edge, states: &[(u64, &str)]) -> Run {
    let mut capture = capture(names, edge);
    states.iter().for_each(|(at, text)| capture.state(*at, levels(text)));
    run(capture)
}

/// Values in us by label, with missed and dropped counts.
fn worst(run: &Run, label: &str) -> (Vec<i64>, Option<u64>, Option<u64>) {
    let series = run.series.iter().find(|series| series.label == label);
    let series = series.unwrap_or_else(|| panic!("{label} is missing"));
    let mut values: Vec<(u64, i64)> =
        series.worst.iter().map(|one| (one.at_ns, one.latency_ns / 1000)).collect();
    values.sort_unstable();
    let values = values.into_iter().map(|(_, value)| value).collect();
    (values, series.tally.missed.get(), series.tally.dropped.get())
}

#[test]
fn an_answer_belongs_to_the_latest_stimulus() {
    // The stimulus at 100 is answered at 117, 200 is not answered, and 300 at 305. The answer at 330 has no stimulus.
    let states = [
        (0, "00"),
        (100, "10"),
        (117, "11"),
        (150, "01"),
        (160, "00"),
        (200, "10"),
        (250, "00"),
        (300, "10"),
        (305, "11"),
        (320, "10"),
        (330, "11"),
    ];
    let run = fed(&["in", "out"], Edge::Rising, &states);
    assert_eq!(worst(&run, "in → out"), (vec![17, 5], Some(1), Some(0)));
    assert!(run.validity.limits.iter().any(|limit| limit.starts_with("1 edge of out came without")));
}

#[test]
fn the_stimulus_comes_first_at_the_same_time() {
    let run = fed(&["in", "out"], Edge::Rising, &[(0, "00"), (10, "11"), (20, "00"), (35, "11")]);
    assert_eq!(worst(&run, "in → out"), (vec![0, 0], Some(0), Some(0)));
}

#[test]
fn a_pulse_of_one_time_stamp_has_two_edges_and_no_width() {
    let mut capture = capture(&["in", "out"], Edge::Rising);
    let mut levels_now = levels("00");
    let mut to = |capture: &mut Capture, at: u64, steps: &[(usize, Level)]| {
        for (index, level) in steps {
            capture.change(*index, std::mem::replace(&mut levels_now[*index], *level), *level);
        }
        capture.state(at, levels_now);
    };
    to(&mut capture, 0, &[]);
    to(&mut capture, 10, &[(0, Level::High)]);
    // The answer is shorter than a tick.
    to(&mut capture, 13, &[(1, Level::High), (1, Level::Low)]);
    to(&mut capture, 20, &[(0, Level::Low)]);
    // Two such answers at the time of the stimulus.
    let twice = [(1, Level::High), (1, Level::Low), (1, Level::High), (1, Level::Low), (0, Level::High)];
    to(&mut capture, 30, &twice);
    // A channel that only becomes unknown in between has no pulse.
    to(&mut capture, 40, &[(1, Level::Unknown), (1, Level::Low)]);
    let run = run(capture);
    assert_eq!(worst(&run, "in → out"), (vec![3, 0], Some(0), Some(0)));
    assert_eq!(worst(&run, "out high").0, [0, 0, 0]);
    let told = "out: 3 pulses begin and end at one time stamp";
    assert!(run.validity.limits.iter().any(|limit| limit.starts_with(told)), "{:?}", run.validity);
    assert!(run.validity.limits.iter().any(|limit| limit.starts_with("1 edge of out came without")));
}

#[test]
fn an_empty_series_beside_reactions_is_left_out() {
    let run = fed(&["in", "out"], Edge::Rising, &[(0, "00"), (10, "10"), (17, "11")]);
    let labels: Vec<&str> = run.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["in → out"]);
    assert!(run.validity.valid, "{:?}", run.validity);
    // For a single channel a width is a measurement; a single edge is not.
    let run = fed(&["d"], Edge::Rising, &[(0, "0"), (10, "1"), (17, "0")]);
    assert!(run.validity.valid, "{:?}", run.validity);
    assert_eq!(worst(&run, "d high").0, [7]);
    let run = fed(&["d"], Edge::Rising, &[(0, "0"), (10, "1")]);
    assert!(!run.validity.valid);
    assert_eq!(worst(&run, "d period").0, [0i64; 0]);
}

#[test]
fn unanswered_stimuli_are_reported() {
    let spoilt = |states: &[(u64, &str)]| {
        tardy_record::reason::joined(&fed(&["in", "out"], Edge::Rising, states).validity.spoilt_by)
    };
    let never = spoilt(&[(0, "00"), (10, "10"), (20, "00"), (30, "10"), (40, "00")]);
    assert!(never.contains("none of 2 rising edges of in was answered by out"), "{never}");
    let once = spoilt(&[(0, "00"), (10, "10")]);
    assert!(once.contains("the one rising edge of in was not answered by out"), "{once}");
    let none = spoilt(&[(0, "00"), (10, "01")]);
    assert!(none.contains("in has no rising edge"), "{none}");
}

#[test]
fn falling_edges_count_if_requested() {
    let states = [(0, "11"), (10, "01"), (13, "00"), (40, "10"), (41, "11"), (60, "01"), (69, "00")];
    let run = fed(&["in", "out"], Edge::Falling, &states);
    assert_eq!(worst(&run, "in → out").0, [3, 9]);
    assert_eq!(worst(&run, "in period").0, [50]);
}

#[test]
fn a_change_from_or_to_unknown_is_not_an_edge() {
    let states = [
        (0, "00"),
        (10, "10"),
        (20, "x0"),
        (30, "10"),
        (35, "11"),
        (40, "01"),
        (50, "11"),
        (60, "x1"),
        (70, "01"),
    ];
    let run = fed(&["in", "out"], Edge::Rising, &states);
    // The edge at 10 is unanswered when the channel becomes unknown. The level at 30 is not an edge, so 35 answers nothing.
    assert_eq!(worst(&run, "in → out"), (vec![], Some(0), Some(2)));
    // Low from 40 to 50. The high level before it has no known beginning.
    assert_eq!(worst(&run, "in low").0, [10]);
    assert!(!run.series.iter().any(|series| series.label == "in high"));
    assert!(run.validity.limits.iter().any(|limit| limit.starts_with("in became unknown 2 times")));
}

#[test]
fn widths_and_periods_are_the_distances_of_edges() {
    let run = fed(&["d"], Edge::Rising, &[(0, "0"), (5, "1"), (8, "0"), (15, "1"), (19, "0"), (28, "1")]);
    assert_eq!(worst(&run, "d high").0, [3, 4]);
    assert_eq!(worst(&run, "d low").0, [7, 9]);
    assert_eq!(worst(&run, "d period").0, [10, 13]);
    let told = |limit: &String| limit.contains("too few edges");
    assert!(run.validity.limits.iter().any(told), "{:?}", run.validity);
}

/// The signal toggles every 20 us over several blocks; every 125th toggle is 11 us late.
#[test]
fn holes_are_found_and_jitter_is_relative_to_the_median() {
    let mut capture = capture(&["d"], Edge::Rising);
    capture.state(0, levels("0"));
    let (mut at, mut high, mut holes) = (0, false, Vec::new());
    for toggle in 1..=6000u64 {
        let late = if toggle % 125 == 0 { 11 } else { 0 };
        if late > 0 {
            holes.push((at + 20, late));
        }
        at += 20 + late;
        high = !high;
        capture.state(at, levels(if high { "1" } else { "0" }));
    }
    let run = run(capture);
    let series = run.series.iter().find(|series| series.label == "d holes").unwrap();
    assert_eq!(series.tally.recorded, 48);
    let kept = series.capture().unwrap().holes.clone().unwrap();
    let found: Vec<(u64, u64)> =
        kept.first.gaps().map(|gap| (gap.at_ns / 1000, gap.length_ns / 1000)).collect();
    assert_eq!(found, holes, "each once, also across the boundaries of blocks");
    let jitter = run.series.iter().find(|series| series.label == "d period jitter").unwrap();
    let periods = run.series.iter().find(|series| series.label == "d period").unwrap();
    assert_eq!(jitter.tally.recorded, periods.tally.recorded, "each period once");
    assert_eq!((jitter.min_ns, jitter.max_ns), (Some(0), Some(11_000)));
}

#[test]
fn an_irregular_signal_has_neither_jitter_nor_holes() {
    let mut capture = capture(&["d"], Edge::Rising);
    let mut at = 0;
    for toggle in 0..4000u64 {
        // One to five bits without a change, as on a serial line.
        at += 10 * (1 + toggle * 7919 % 5);
        capture.state(at, levels(if toggle % 2 == 0 { "1" } else { "0" }));
    }
    let run = run(capture);
    assert!(!run.series.iter().any(|series| series.label.ends_with("holes")));
    assert!(run.validity.limits.iter().any(|limit| limit.contains("d is not a regular signal")));
}

#[test]
fn channels_are_named_or_listed() {
    let names: Vec<String> = ["D0", "D1", "clk", "0"].map(str::to_owned).to_vec();
    let among = |input: Option<&str>, output: Option<&str>| {
        let (input, output) = (input.map(str::to_owned), output.map(str::to_owned));
        let options = ImportOptions { input, output, ..ImportOptions::default() };
        Choice::among(names.as_slice(), &options).map(|choice| choice.indices).map_err(|e| e.to_string())
    };
    assert_eq!(among(Some("D1"), Some("clk")), Ok(vec![1, 2]));
    assert_eq!(among(None, Some("2")), Ok(vec![2]), "by number");
    assert_eq!(among(None, Some("0")), Ok(vec![3]), "a name has priority over a number");
    let error = among(Some("D7"), None).unwrap_err();
    assert!(error.contains("--in D7: there is no such channel; the channels are D0, D1, clk, 0"), "{error}");
    let error = among(None, None).unwrap_err();
    assert!(error.contains("--out") && error.contains("D0, D1, clk, 0"), "{error}");
    assert!(among(Some("D0"), Some("D0")).unwrap_err().contains("stimulus and the answer"));
}
