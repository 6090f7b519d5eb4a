//! `tardy cyclictest` and the public parsers of cyclictest's output. Each parser is reimplemented here from what it
//! looks for; docs/cyclictest.md lists them.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::bench::{Bench, Printed, json};

const FAKE: &str = "--tardy-fake=7";

fn cyclictest(bench: &Bench, arguments: &[&str]) -> Printed {
    let words: Vec<&str> = ["cyclictest", FAKE].iter().chain(arguments).copied().collect();
    bench.run(&words)
}

/// A parser's result for one thread, in us.
#[derive(Debug, Default, Clone, PartialEq)]
struct Found {
    min: u64,
    avg: u64,
    max: u64,
    buckets: BTreeMap<u64, u64>,
}

/// rteval's measurement module (rteval/modules/measurement/cyclictest.py): it reads the maxima and a break from the
/// lines with '#'. Other lines are a row number and a count for each core. Extremes come from the rows with a count,
/// and from the maxima.
fn rteval(text: &str) -> (Vec<Found>, Option<u64>) {
    let mut found: Vec<Found> = Vec::new();
    let (mut maxima, mut broken) = (Vec::new(), None);
    let numbers =
        |text: &str| -> Vec<u64> { text.split_whitespace().filter_map(|word| word.parse().ok()).collect() };
    for line in text.lines() {
        if let Some(value) = line.strip_prefix("# Break value: ") {
            broken = numbers(value).first().copied();
        } else if let Some(values) = line.strip_prefix("# Max Latencies: ") {
            maxima = numbers(values);
        } else if let [row, counts @ ..] = &numbers(line)[..]
            && !line.starts_with('#')
        {
            found.resize(counts.len(), Found { min: u64::MAX, ..Found::default() });
            for (one, count) in found.iter_mut().zip(counts) {
                one.buckets.insert(*row, *count);
                if *count > 0 {
                    (one.min, one.max) = (one.min.min(*row), one.max.max(*row));
                }
            }
        }
    }
    for (one, max) in found.iter_mut().zip(maxima) {
        one.max = one.max.max(max);
    }
    (found, broken)
}

/// Linaro's test definitions (automated/lib/parse_rt_tests_results.py): min, avg and max of each thread from 0 to
/// `num_threads`. `None` if the tool itself failed.
fn linaro_json(of: &serde_json::Value) -> Option<Vec<[f64; 3]>> {
    let threads = of["num_threads"].as_u64().unwrap();
    let figure = |number: u64, key: &str| of["thread"][number.to_string()][key].as_f64().unwrap();
    let found = (0..threads).map(|number| ["min", "avg", "max"].map(|key| figure(number, key))).collect();
    (of["return_code"].as_i64().unwrap() == 0).then_some(found)
}

/// mmtests' extractor (shellpack_src/src/cyclictest/extract-report.pl): a name of three letters, then numbers separated
/// by single blanks. It omits the last number, which it takes for a sum.
fn mmtests_histogram(text: &str) -> BTreeMap<String, Vec<u64>> {
    let line = |line: &str| {
        let (name, values) = line.strip_prefix("# ")?.split_once(": ")?;
        let known = name.strip_suffix(" Latencies").filter(|short| short.len() == 3).is_some();
        let mut values: Vec<u64> = values.split(' ').map(|word| word.parse().unwrap()).collect();
        values.pop();
        (known || name == "Histogram Overflows").then(|| (name.to_owned(), values))
    };
    text.lines().filter_map(line).collect()
}

/// Linaro's test definitions before the JSON: the last line of each thread, with a blank inserted after `T:` and the
/// fields counted from the end.
fn linaro(text: &str, threads: usize) -> Vec<Found> {
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("T:")).collect();
    let last = &lines[lines.len() - threads..];
    last.iter()
        .map(|line| {
            let line = line.replacen("T:", "T: ", 1);
            let fields: Vec<&str> = line.split_whitespace().collect();
            let from_end = |back: usize| fields[fields.len() - 1 - back].parse().unwrap();
            Found { min: from_end(6), avg: from_end(2), max: from_end(0), ..Found::default() }
        })
        .collect()
}

/// mmtests' former extractor, and many scripts: the thread after `T:`, and the numbers after `Min:`, `Act:`, `Avg:` and
/// `Max:` in the last frame of each thread.
fn mmtests(text: &str) -> BTreeMap<u64, Found> {
    let mut found = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("T:")) {
        let thread = line.split('(').next().unwrap().trim().parse().unwrap();
        let behind = |word: &str| {
            let rest = line.split(word).nth(1).unwrap();
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        let one = Found { min: behind("Min:"), avg: behind("Avg:"), max: behind("Max:"), ..Found::default() };
        found.insert(thread, one);
    }
    found
}

/// OSADL's mklatencyplot: the highest number in the line with "Max Latencies" without leading zeros; the rows are all
/// lines that neither begin with '#' nor are empty. It converts blanks to tabs and splits at tabs, a column for each
/// core.
fn mklatencyplot(text: &str) -> (u64, Vec<BTreeMap<u64, u64>>) {
    let line = text.lines().find(|line| line.contains("Max Latencies")).unwrap();
    let max = line.split(' ').filter_map(|word| word.parse().ok()).max().unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut columns: Vec<BTreeMap<u64, u64>> = Vec::new();
    for row in rows {
        let row = row.replace(' ', "\t");
        let cells: Vec<u64> = row.split('\t').map(|cell| cell.parse().unwrap()).collect();
        columns.resize_with(cells.len() - 1, BTreeMap::new);
        for (column, count) in columns.iter_mut().zip(&cells[1..]) {
            column.insert(cells[0], *count);
        }
    }
    (max, columns)
}

#[test]
fn parsers_of_cyclictests_histogram_accept_this_output() {
    let bench = Bench::new();
    let line =
        ["-m", "-Sp90", "-i200", "-h400", "-q", "-l2000", "--json=out.json", "--tardy-run=whole.run.json"];
    let printed = cyclictest(&bench, &line).exits(0);
    let (found, broken) = rteval(&printed.out);
    assert_eq!((found.len(), broken), (2, None));
    let (max, columns) = mklatencyplot(&printed.out);
    assert_eq!(max, found.iter().map(|one| one.max).max().unwrap());
    let run = bench.json("whole.run.json");
    let of_json = json(&bench.path("out.json"));
    assert_eq!((&of_json["num_threads"], &of_json["return_code"]), (&2.into(), &0.into()));
    let (told, extracted) = (linaro_json(&of_json).expect("it passed"), mmtests_histogram(&printed.out));
    assert_eq!(extracted["Max Latencies"], [found[0].max], "the last one is left out");
    assert_eq!(extracted.len(), 4, "{extracted:?}");
    for (index, one) in found.iter().enumerate() {
        assert_eq!((told[index][0], told[index][2]), (one.min as f64, one.max as f64));
        assert!((told[index][0]..=told[index][2]).contains(&told[index][1]), "{told:?}");
        let series = &run["series"][index];
        let in_us = |key: &str| (series[key].as_i64().unwrap() / 1000).max(0) as u64;
        assert_eq!((one.min, one.max), (in_us("min_ns"), in_us("max_ns")));
        assert_eq!(one.buckets, columns[index]);
        let thread = &of_json["thread"][index.to_string()];
        let cycles = thread["cycles"].as_u64().unwrap();
        assert_eq!(cycles, series["tally"]["recorded"].as_u64().unwrap());
        let in_rows: u64 = thread["histogram"].as_object().unwrap().values().filter_map(|n| n.as_u64()).sum();
        assert_eq!(in_rows, one.buckets.values().sum::<u64>());
        let overflows =
            printed.out.lines().find_map(|line| line.strip_prefix("# Histogram Overflows: ")).unwrap();
        let overflow: u64 = overflows.split(' ').nth(index).unwrap().parse().unwrap();
        assert_eq!(in_rows + overflow, cycles);
    }
}

#[test]
fn parsers_of_cyclictests_lines_accept_this_output() {
    let bench = Bench::new();
    for quiet in [&["-q"][..], &[]] {
        let line = [&["-t2", "-a", "-p80", "-l3000", "--tardy-run=whole.run.json"], quiet].concat();
        let printed = cyclictest(&bench, &line).exits(0);
        let found = linaro(&printed.out, 2);
        assert_eq!(mmtests(&printed.out).into_values().collect::<Vec<_>>(), found);
        let run = bench.json("whole.run.json");
        for (one, series) in found.iter().zip(run["series"].as_array().unwrap()) {
            assert_eq!(one.max as i64, series["max_ns"].as_i64().unwrap() / 1000);
        }
        // cyclictest's first thread has the requested interval, the next thread 500 us more.
        let intervals: Vec<_> =
            run["series"].as_array().unwrap().iter().map(|one| &one["kind"]["interval_ns"]).collect();
        assert_eq!(intervals, [1_000_000, 1_500_000]);
    }
}

#[test]
fn every_reading_is_a_line() {
    let bench = Bench::new();
    let printed = cyclictest(&bench, &["-t2", "-a", "-v", "-l500"]).exits(0);
    let readings: Vec<(u64, u64)> = (printed.out.lines())
        .filter_map(|line| {
            let mut parts = line.split(':').map(|part| part.trim().parse::<u64>());
            Some((parts.next()?.ok()?, parts.next()?.ok()?))
        })
        .collect();
    for thread in 0..2 {
        let cycles: Vec<u64> =
            readings.iter().filter(|(of, _)| *of == thread).map(|(_, cycle)| *cycle).collect();
        assert!(cycles.len() > 400, "{}", cycles.len());
        assert_eq!(cycles, (0..cycles.len() as u64).collect::<Vec<_>>());
    }
}

/// What every mode prints or writes can be imported, and has the readings that the run file counts.
///
/// With each list of threads, `results_of` returns the indices of the results that are tested, of ten.
fn import_results(results_of: impl Fn(usize) -> Vec<usize>) {
    let bench = Bench::new();
    let threads = [
        "-t1 -l400",
        "-t3 -l400",
        "-a -l400",
        "-a1 -l400",
        "-Sp90 -l400",
        "-t2 -a0,1 -d0 -p50 --priospread -l400",
        "-t2 -A5 --policy=rr -p3 -D1",
        "-t2 -i500 -l400 -s",
        "-t2 -l400 -x",
        "-t2 -l400 -x -s",
        "-t2 -l400 -r",
        "-t2 -l400 -c1 -m",
        "-t1 -l400 -b 25",
    ];
    let results = [
        "-q",
        "",
        "-v",
        "-q -h400",
        "-q -h20",
        "-q -H30",
        "-h30",
        "-q -h30 --histfile=out",
        "-q --json=out",
        "-q -h30 --json=out",
    ];
    let all = threads.iter().enumerate().flat_map(|(index, thread)| {
        results_of(index).into_iter().map(|result| (*thread, results[result % results.len()]))
    });
    for (number, (thread, result)) in all.enumerate() {
        let (in_ns, unit) = if number % 3 == 0 { (Some("-N"), "ns") } else { (None, "us") };
        let words = thread.split_whitespace().chain(result.split_whitespace()).chain(in_ns);
        let line: Vec<&str> = words.chain(["--tardy-run=measured.run.json"]).collect();
        let printed = cyclictest(&bench, &line).exits(0);
        if !result.contains("out") {
            std::fs::write(bench.path("out"), &printed.out).unwrap();
        }
        let unit = if result.contains("json") { &[][..] } else { &["--unit", unit] };
        let imported = bench.run(&[&["import", "out", "-o", "imported.run.json", "--force"], unit].concat());
        assert_eq!(imported.code, Some(0), "{line:?}: {}{}", imported.out, imported.err);
        let mut expected = readings_in(&bench, in_ns.is_some());
        let found = readings(&bench, "imported.run.json");
        if thread.contains("-b") {
            // cyclictest counts up to the break; the run file also has the readings until the threads have stopped.
            assert!(found[0][0] <= expected[0][0], "{line:?}");
            expected[0][0] = found[0][0];
        }
        assert_eq!(found, expected, "{line:?}");
    }
}

/// All threads and all results, each result with one or two lists of threads.
#[test]
fn the_results_of_every_mode_can_be_imported() {
    import_results(|threads| vec![threads]);
}

#[test]
#[ignore = "ten times as many; `make long-tests` runs it"]
fn long_the_results_of_every_mode_with_all_threads_can_be_imported() {
    import_results(|_| (0..10).collect());
}

/// The count, minimum and maximum of each series.
fn readings(bench: &Bench, run: &str) -> Vec<[i64; 3]> {
    let run = bench.json(run);
    let series = run["series"].as_array().unwrap().iter();
    series
        .map(|one| {
            [&one["tally"]["recorded"], &one["min_ns"], &one["max_ns"]].map(|value| value.as_i64().unwrap())
        })
        .collect()
}

/// The same of the measured run, as cyclictest counts it: in whole units, and early wake-ups as 0.
fn readings_in(bench: &Bench, in_ns: bool) -> Vec<[i64; 3]> {
    let unit = if in_ns { 1 } else { 1000 };
    let whole = |ns: i64| (ns / unit * unit).max(0);
    let measured = readings(bench, "measured.run.json");
    measured.into_iter().map(|[count, min, max]| [count, whole(min), whole(max)]).collect()
}

#[test]
fn a_break_is_printed_and_ends_the_run() {
    let bench = Bench::new();
    let printed = cyclictest(&bench, &["-q", "-h", "10", "-b", "25", "-l1000000"]).exits(0);
    let (_, broken) = rteval(&printed.out);
    let value = broken.expect("the fake has readings above 25 us");
    assert!(value >= 25, "{value}");
    assert!(printed.out.contains("# Thread Ids: "), "{}", printed.out);
}

#[test]
fn results_are_not_lost_if_the_histfile_cannot_be_written() {
    let bench = Bench::new();
    let printed = cyclictest(&bench, &["-q", "-h10", "-l100", "--histfile=no/such/directory"]).exits(1);
    assert!(printed.err.contains("cannot write --histfile no/such/directory"), "{}", printed.err);
    assert_eq!(printed.out, "", "nothing was measured");
    // A disk that fills up while it runs.
    let printed = cyclictest(&bench, &["-q", "-h10", "-l100", "--histfile=/dev/full"]).exits(1);
    assert!(printed.out.contains("# Min Latencies:"), "{}", printed.out);
}

#[test]
fn a_link_called_cyclictest_runs_tardy_cyclictest() {
    let bench = Bench::new();
    let link = bench.path("cyclictest");
    symlink(env!("CARGO_BIN_EXE_tardy"), &link).unwrap();
    let printed = Printed::from(Command::new(&link).args(["-q", "-l100", FAKE]).output().unwrap()).exits(0);
    assert!(printed.out.contains("\nT: 0 ("), "{}", printed.out);
    let refused = Printed::from(Command::new(&link).args(["-q", "--smi"]).output().unwrap()).exits(1);
    assert!(refused.err.contains("--smi counts on the CPUs of pinned threads"), "{}", refused.err);
    let helped = Printed::from(Command::new(&link).arg("--help").output().unwrap()).exits(0);
    assert!(helped.out.contains("--histofall"), "{}", helped.out);
}

/// A real measurement: the printed counts equal those of the run file.
#[test]
fn a_real_run_counts_what_it_measured() {
    let bench = Bench::new();
    let words =
        ["cyclictest", "-q", "-t1", "-a0", "-i1000", "-l200", "-h100000", "--tardy-run=whole.run.json"];
    let temporary = bench.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let output = bench.command(&words).env("TMPDIR", &temporary).output().unwrap();
    let printed = Printed::from(output).exits(0);
    let (found, _) = rteval(&printed.out);
    let recorded = bench.json("whole.run.json")["series"][0]["tally"]["recorded"].as_u64().unwrap();
    let overflows =
        printed.out.lines().find_map(|line| line.strip_prefix("# Histogram Overflows: ")).unwrap();
    let counted = found[0].buckets.values().sum::<u64>() + overflows.parse::<u64>().unwrap();
    assert_eq!(counted, recorded);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left behind");
}

/// `tardy cyclictest -v | head -1`, without a duration.
#[test]
fn a_closed_pipe_ends_the_run() {
    let bench = Bench::new();
    let mut running = bench.command(&["cyclictest", "-v", "-t1", "-a0", "-i10000"]);
    let mut running = running.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(running.stdout.take());
    assert!(running.wait().unwrap().code().is_some(), "it ends by itself");
}

/// SIGUSR1 prints the state, SIGUSR2 writes it to the file that `get_cyclictest_snapshot` reads, and the run continues.
#[test]
fn snapshots_are_written_during_the_measurement() {
    let bench = Bench::new();
    let words = ["cyclictest", "-q", "-t2", "-i10000"];
    let piped = std::process::Stdio::piped;
    let mut running = bench.command(&words).stdout(piped()).stderr(piped()).spawn().unwrap();
    let state = std::path::PathBuf::from(format!("/dev/shm/cyclictest{}", running.id()));
    let has_readings =
        |text: &str| text.lines().any(|line| line.starts_with("T: 1") && !line.contains("C:      0 "));
    // Signals are sent once there are readings to print.
    wait_until(&mut running, || std::fs::read_to_string(&state).is_ok_and(|text| has_readings(&text)));
    for signal in ["-USR2", "-USR1"] {
        let sent = Command::new("kill").args([signal, &running.id().to_string()]).status().unwrap();
        assert!(sent.success(), "it was gone before {signal}");
    }
    let mut told = std::io::BufReader::new(running.stderr.take().unwrap());
    let mut lines: Vec<String> = Vec::new();
    while lines.iter().filter(|line| line.starts_with("#--------")).count() < 2 {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut told, &mut line).unwrap() > 0, "it ended: {lines:?}");
        lines.push(line);
    }
    let start = lines.iter().position(|line| line.starts_with("#--------")).unwrap();
    assert_eq!(lines[start + 1], "# cyclictest current status:\n");
    assert!(has_readings(&lines.concat()), "{lines:?}");
    let shared = std::fs::read_to_string(&state).unwrap();
    assert!(shared.ends_with("#---------------------------\n") && has_readings(&shared), "{shared}");
    let sent = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let printed = Printed::from(running.wait_with_output().unwrap()).exits(0);
    assert!(has_readings(&printed.out), "{}", printed.out);
    assert!(!state.exists(), "nothing is left behind");
}

/// Waits until `done` is true. Panics if the program ends before that.
fn wait_until(running: &mut std::process::Child, mut done: impl FnMut() -> bool) {
    while !done() {
        assert_eq!(running.try_wait().unwrap(), None, "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn options_without_an_effect_are_a_line_each_and_the_run_continues() {
    let bench = Bench::new();
    let line = ["-n", "-l50", "-q", "--tracemark", "-b", "100000", "-T", "function", "--histfile=none"];
    let printed = cyclictest(&bench, &line).exits(0);
    let starts = [
        "-n has no effect: ",
        "--tracemark has no effect: ",
        "-T has no effect: ",
        "--histfile has no effect ",
    ];
    for start in starts {
        let lines = printed.err.lines().filter(|line| line.starts_with(&format!("tardy: {start}")));
        assert_eq!(lines.count(), 1, "{start}: {}", printed.err);
    }
    assert_eq!(printed.err.lines().count(), starts.len(), "{}", printed.err);
    assert!(printed.out.contains("\nT: 0 ("), "{}", printed.out);
    assert!(!bench.path("none").exists());
}

#[test]
fn spikes_are_listed_after_the_lines_of_the_threads() {
    let bench = Bench::new();
    let line =
        ["-q", "-l2000", "--spike=20", "--spike-nodes=3", "--tardy-run=whole.run.json", "-h", "100000"];
    let printed = cyclictest(&bench, &line).exits(0);
    let listed: Vec<&str> = printed.out.lines().filter(|line| line.contains(" Spike:")).collect();
    assert_eq!(listed.len(), 3, "{}", printed.out);
    let values = listed.iter().map(|line| line.split(':').nth(2).unwrap().trim().parse::<u64>().unwrap());
    assert!(values.clone().all(|value| value > 20), "{listed:?}");
    let count: u64 =
        printed.out.lines().find_map(|line| line.strip_prefix("spikes = ")).unwrap().parse().unwrap();
    let (found, _) = rteval(&printed.out);
    assert_eq!(count, found[0].buckets.range(21..).map(|(_, count)| count).sum::<u64>());
    for mode in ["-q", "-v"] {
        let printed = cyclictest(&bench, &[mode, "-l400", "--spike=20"]).exits(0);
        assert!(printed.out.contains("spikes = "), "{}", printed.out);
        std::fs::write(bench.path("out"), &printed.out).unwrap();
        let line = ["import", "out", "--unit", "us", "-o", "imported.run.json", "--force"];
        bench.run(&line).exits(0);
        assert_eq!(readings(&bench, "imported.run.json")[0][0], 400, "{mode}");
    }
}

/// `cat FILE` during the measurement, twice.
#[test]
fn the_current_state_can_be_read_from_a_pipe() {
    let bench = Bench::new();
    let mut running = bench.start(&["cyclictest", "-q", "-t2", "-i10000", "-F", "state"]);
    let pipe = bench.path("state");
    wait_until(&mut running, || pipe.exists());
    for _ in 0..2 {
        let state = std::fs::read_to_string(&pipe).unwrap();
        assert!(state.starts_with("T: 0 (") && state.contains("\nT: 1 ("), "{state}");
    }
    running.signal("-INT");
    running.printed().exits(0);
    assert!(!pipe.exists(), "nothing is left behind");
    std::fs::write(&pipe, "a file").unwrap();
    let printed = cyclictest(&bench, &["-q", "-l5", "-F", "state"]).exits(1);
    assert!(printed.err.contains("cannot create the named pipe -F state"), "{}", printed.err);
    assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "a file");
}

/// With the monotonic clock's time of each wake-up in the samples: the first wake-up of each thread is at a full second and the offset.
#[test]
fn secaligned_wakes_all_threads_at_an_offset_from_a_full_second() {
    let bench = Bench::new();
    let line = ["cyclictest", "-q", "-t2", "-d0", "-i10000", "-l5", "--secaligned=300", "--spike=1", "-N"];
    let printed = bench.run(&line).exits(0);
    let first = |thread: &str| -> u64 {
        let line =
            printed.out.lines().find(|line| line.starts_with(thread) && line.contains("Spike")).unwrap();
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let late_us = fields[2].parse::<u64>().unwrap() / 1000;
        fields[4].parse::<u64>().unwrap() - late_us
    };
    for thread in ["T: 0", "T: 1"] {
        // Both are rounded to us.
        assert!((299..=301).contains(&(first(thread) % 10_000)), "{}", printed.out);
        assert!(first(thread) % 1_000_000 < 100_000, "it starts with the second: {}", printed.out);
    }
}
