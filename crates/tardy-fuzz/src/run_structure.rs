//! Run files whose structure is that of real ones, and whose values are any: what the commands do with those that are accepted.

use std::cell::RefCell;

use serde_json::{Map, Value, json};
use tardy_analyse::findings;
use tardy_archive::Candidate;
use tardy_compare::{history, side_by_side};
use tardy_gate::Requirement;
use tardy_gate::forms::{FORMS, Judged};
use tardy_present::plot_file::{Kind, Plot};
use tardy_present::{compare, history as shown_history, report, summary};
use tardy_record::{Run, file, validity};
use tardy_site::archive as site;

/// Runs of different probes and tools, small ones.
const SEEDS: [&str; 14] = [
    include_str!("../../tardy/tests/run_files/timer-dithered.run.json"),
    include_str!("../../tardy/tests/run_files/real-noise.run.json"),
    include_str!("../../tardy/tests/run_files/lab-causes.run.json"),
    include_str!("../../tardy/tests/run_files/switch-simulated.run.json"),
    include_str!("../../tardy/tests/run_files/levels.run.json"),
    include_str!("../../tardy/tests/run_files/wiggle-with-echo.run.json"),
    include_str!("../../tardy/tests/run_files/capture-saleae-binary.run.json"),
    include_str!("../../tardy/tests/run_files/timerlat.run.json"),
    include_str!("../../tardy/tests/run_files/osnoise.run.json"),
    include_str!("../../tardy/tests/run_files/cyclictest-json.run.json"),
    include_str!("../../tardy/tests/run_files/phases.run.json"),
    include_str!("../../tardy/tests/run_files/recovered-timer.run.json"),
    include_str!("../../tardy/tests/run_files/foreign-xenomai.run.json"),
    include_str!("../../tardy/tests/run_files/rtla-timerlat-top.run.json"),
];
/// Values at which arithmetic ends, and those that a run file may have at most.
const NUMBERS: [i128; 20] = [
    0,
    1,
    -1,
    2,
    127,
    1_000,
    1_000_000_000,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 53) + 1,
    1 << 60,
    (1 << 60) + 1,
    -(1 << 60),
    1 << 62,
    -(1 << 62),
    i64::MAX as i128,
    -(i64::MAX as i128),
    i64::MIN as i128,
    u64::MAX as i128,
];

/// A run file, and where its values are.
struct Seed {
    run: Value,
    places: Vec<String>,
}

thread_local!(static ALL: Vec<Seed> = SEEDS.iter().map(|text| Seed::of(text)).collect());

impl Seed {
    fn of(text: &str) -> Self {
        let mut run: Value = serde_json::from_str(text).expect("it is a run of the tests");
        shortened(&mut run);
        file::from_text(run.to_string().as_bytes()).expect("a shortened run is one");
        let mut places = Vec::new();
        note_places(&run, String::new(), &mut places);
        Self { run, places }
    }
}

/// Elements that are kept of each list: the others are alike, and the analysis of many takes long.
const KEPT: usize = 24;

/// Drops all but a few of what a run file has many of.
fn shortened(run: &mut Value) {
    shorten(run, "");
    if let Some(Value::Object(options)) = run.pointer_mut("/facts/kernel/config/value") {
        *options = std::mem::take(options).into_iter().take(5).collect();
    }
}

fn shorten(value: &mut Value, name: &str) {
    const LISTS: [&str; 10] = [
        "maxima_ns",
        "at_ns",
        "values",
        "done",
        "alive",
        "slices",
        "worst",
        "apart_ns",
        "length_ns",
        "events",
    ];
    match value {
        Value::Array(items) => {
            if LISTS.contains(&name) {
                items.truncate(KEPT);
            }
            items.iter_mut().for_each(|item| shorten(item, ""));
        }
        Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| shorten(field, name)),
        _ => {}
    }
}

fn note_places(value: &Value, pointer: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| note_places(value, format!("{pointer}/{name}"), places));
        }
        // Of long lists the first and the last.
        Value::Array(items) => {
            for (index, value) in
                items.iter().enumerate().filter(|(index, _)| *index < 3 || index + 1 == items.len())
            {
                note_places(value, format!("{pointer}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(pointer);
}

/// What is read of a fuzzer's bytes.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn below(&mut self, count: usize) -> Option<usize> {
        let number = u32::from_le_bytes([self.byte()?, self.byte()?, self.byte()?, 0]);
        Some(number as usize % count.max(1))
    }

    fn number(&mut self) -> Option<Value> {
        let choice = self.byte()?;
        let number = match NUMBERS.get(usize::from(choice)) {
            Some(number) => *number,
            None => i128::from(i64::from_le_bytes([
                self.byte()?,
                self.byte()?,
                self.byte()?,
                self.byte()?,
                self.byte()?,
                self.byte()?,
                self.byte()?,
                choice,
            ])),
        };
        Some(match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => json!(number),
            (_, Ok(number)) => json!(number),
            _ => json!(number as f64),
        })
    }
}

/// Changes one value of `run`. `None`: there are no bytes left.
fn change(run: &mut Value, seed: &Seed, others: &[Seed], bytes: &mut Bytes<'_>) -> Option<()> {
    let action = bytes.byte()?;
    let place = &seed.places[bytes.below(seed.places.len())?];
    let from = &others[bytes.below(others.len())?];
    let other = &from.places[bytes.below(from.places.len())?];
    let copied = from.run.pointer(other).cloned().unwrap_or(Value::Null);
    let number = bytes.number();
    let Some(value) = run.pointer_mut(place) else { return Some(()) };
    match (action % 12, value) {
        (0..=4, value @ Value::Number(_)) => *value = number?,
        (5, value @ Value::Number(_)) => {
            *value = json!([0.0, 1e-300, 1e18, -1e300, 0.5][usize::from(action) % 5])
        }
        (6, Value::Array(items)) => {
            let twice = items.clone();
            items.extend(twice);
        }
        (7, Value::Array(items)) => items.clear(),
        (8, Value::Object(fields)) => {
            let name = fields.keys().nth(usize::from(action) % fields.len().max(1)).cloned();
            name.map(|name| fields.remove(&name));
        }
        (9, value) => *value = copied,
        (10, value) => *value = Value::Null,
        (11, value @ Value::String(_)) => *value = json!("unknown\u{1b}[2J<b>\u{202e}"),
        // All numbers below it.
        (0..=2, value) => {
            let number = number?;
            each_number(value, &mut |value| *value = number.clone());
        }
        _ => {}
    }
    Some(())
}

fn each_number(value: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Number(_) => change(value),
        Value::Array(items) => items.iter_mut().for_each(|item| each_number(item, change)),
        Value::Object(fields) => {
            let fields: &mut Map<String, Value> = fields;
            fields.values_mut().for_each(|field| each_number(field, change));
        }
        _ => {}
    }
}

/// Changes a run file as `bytes` say, and does with it what the commands do. What is accepted is shown, and written and read again.
pub fn change_and_use(bytes: &[u8]) {
    thread_local!(static BEFORE: RefCell<Option<Run>> = const { RefCell::new(None) });
    let mut bytes = Bytes(bytes);
    let (Some(seed), Some(used)) = (bytes.below(SEEDS.len()), bytes.byte()) else { return };
    let text = ALL.with(|all| {
        let mut run = all[seed].run.clone();
        while change(&mut run, &all[seed], all, &mut bytes).is_some() {}
        run.to_string()
    });
    let Ok(mut run) = file::from_text(text.as_bytes()) else { return };
    run.validity = validity::judge(&run);
    let again = file::to_text(&run);
    file::from_text(again.as_bytes()).expect("a run that was read can be read again");
    BEFORE.with_borrow_mut(|before| {
        use_alone(&run, used);
        if let Some(before) = before {
            use_together(before, &run, used);
        }
        *before = Some(run);
    });
}

fn use_alone(run: &Run, used: u8) {
    let options = findings::Options::default();
    match used % 4 {
        0 => {
            let findings = findings::of(run, &options);
            serde_json::to_string(&findings).expect("findings have text keys");
            let text = summary::text(run, &findings, 100, false);
            assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "control characters");
        }
        // Its fits take most of the time.
        1 if used >= 192 => drop(report::html(&[run], &options)),
        1 | 2 => {
            let required: Vec<Requirement> = ["max<100us", "p99.9<1ms", "mean<1us"]
                .iter()
                .filter_map(|requirement| requirement.parse().ok())
                .collect();
            let judged = Judged::all(run, "run", &required);
            FORMS.iter().for_each(|form| drop((form.write)(&judged)));
        }
        _ => drop(Candidate::of("a.run.json", file::to_text(run).as_bytes())),
    }
}

fn use_together(before: &Run, run: &Run, used: u8) {
    let runs = [before, run];
    match used / 4 % 4 {
        0 => drop(side_by_side::of(&runs).map(|comparison| compare::text(&comparison, 100))),
        1 if used >= 192 => drop(report::html(&runs, &findings::Options::default())),
        1 | 2 => {
            let kind = Kind::OF_RUNS[usize::from(used / 16) % Kind::OF_RUNS.len()];
            let options =
                tardy_plot::Options { limit_ns: run.plan.limit_ns, ..tardy_plot::Options::default() };
            let plot = Plot { kind, runs: &runs, versus: None, title: None, options };
            let _ = (plot.svg(), plot.csv());
        }
        _ => {
            let entries = [before, run, before].iter().map(|run| history::Entry::of(run, "a")).collect();
            let history = history::of(entries, history::MOST_P, history::LEAST_CHANGE);
            drop(shown_history::text(&history, 100));
            let outcome = tardy_archive::Outcome::of(run, "a");
            let known = site::KnownRun {
                address: tardy_archive::Address::of(b"run"),
                entry: outcome.entry,
                has_report: true,
                has_comparison: true,
            };
            let board = site::Board { name: known.entry.machine.clone(), runs: vec![known], history };
            drop(site::board(&board, &about()));
        }
    }
}

fn about() -> site::About {
    site::About { archive: String::new(), command: String::new(), made_by: String::new(), served: None }
}
