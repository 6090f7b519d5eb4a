//! Both formats hold the events of the run: read back by a reader of their documented grammar, and by trace-cmd.

mod trace_dat_reader;

use std::process::Command;

use tardy_ftrace::{Excerpt, NoExcerpt, text, trace_dat};
use tardy_record::Run;
use tardy_record::moment::{Happening, Moment, MomentEvent, Task};

/// A run of a real kernel, and one of the lab.
const RUNS: [&str; 2] = [
    include_str!("../../tardy/tests/run_files/causes.run.json"),
    include_str!("../../tardy/tests/run_files/lab-causes.run.json"),
];

fn runs() -> Vec<Run> {
    RUNS.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// The worst moment of a run, and its deadline in ns from the start.
fn worst(run: &Run) -> (&Moment, u64) {
    let outliers = run.series.iter().flat_map(|series| &series.worst).filter(|one| one.moment.is_some());
    let worst = outliers.max_by_key(|one| (one.latency_ns, std::cmp::Reverse(one.at_ns))).unwrap();
    (worst.moment.as_ref().unwrap(), worst.at_ns - worst.latency_ns as u64)
}

fn task(name: &str, tid: u32, priority: i32) -> Task {
    Task { name: name.to_owned(), tid, priority }
}

/// A run whose only moment has these events.
fn holding(events: Vec<(i64, Happening)>) -> Run {
    let mut run = runs().remove(0);
    run.series.truncate(1);
    let series = &mut run.series[0];
    let at = |(at_ns, what)| MomentEvent { at_ns, what };
    series.worst.truncate(1);
    series.worst[0].moment = Some(Moment {
        tid: 77,
        priority: 90,
        whole_from_ns: -100_000,
        waits_from_ns: None,
        events: events.into_iter().map(at).collect(),
    });
    run
}

/// Every kind of event, with names that break lines, words and marks, and more of them than fit on a page.
fn every_kind() -> Vec<(i64, Happening)> {
    let name = |text: &str| text.to_owned();
    let once = [
        Happening::IrqBegin { irq: 39, name: name("eth|0\nE|0 [000] 1.0: x:") },
        Happening::IrqEnd { irq: 39 },
        Happening::VectorBegin { name: name("local_timer") },
        Happening::TimerBegin { function: name("hrtimer_wakeup") },
        Happening::TimerEnd,
        Happening::TimerBegin { function: name("0xffffffff81234560") },
        Happening::Ready { task: task("a late thread of tardy", 77, 9) },
        Happening::TimerEnd,
        Happening::VectorEnd { name: name("local_timer") },
        Happening::SoftirqBegin { name: name("NET_RX") },
        Happening::SoftirqEnd { name: name("NET_RX") },
        Happening::Nmi { took_ns: 1234 },
        Happening::Idle { state: Some(2) },
        Happening::Idle { state: None },
        Happening::Switch { from: task("swapper/1", 0, 120), to: task("disturb=1 -", 115, 120) },
        Happening::Switch { from: task("disturb=1 -", 115, 120), to: task("timer", 77, 9) },
        Happening::Switch { from: task("timer", 77, 9), to: task("swapper/1", 0, 120) },
    ];
    let times = (0..12).flat_map(|_| once.clone());
    // The last pause is longer than the head of an event has room for.
    let pause = |index: usize| if index > 200 { 400_000_000 } else { 0 };
    times.enumerate().map(|(index, what)| (-90_000 + index as i64 * 137 + pause(index), what)).collect()
}

fn all() -> Vec<Run> {
    let mut all = runs();
    all.push(holding(every_kind()));
    all
}

/// A line of ftrace text.
struct Line<'a> {
    pid: u32,
    cpu: u32,
    at_ns: u64,
    event: &'a str,
    arguments: &'a str,
}

/// Reads a line as the kernel's documentation describes it, without the column of flags.
fn line(text: &str) -> Option<Line<'_>> {
    let (before, after) = text.split_once(" [")?;
    let (task, pid) = before.trim().rsplit_once('-')?;
    let (cpu, after) = after.split_once(']')?;
    let (time, after) = after.trim_start().split_once(": ")?;
    let (event, arguments) = after.split_once(':')?;
    let (seconds, decimals) = time.split_once('.')?;
    let is_plain = !task.is_empty() && cpu.len() >= 3 && decimals.len() == 9 && !event.contains(' ');
    let at_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + decimals.parse::<u64>().ok()?;
    let arguments = arguments.trim_start();
    is_plain.then_some(Line { pid: pid.parse().ok()?, cpu: cpu.parse().ok()?, at_ns, event, arguments })
}

#[test]
fn every_line_of_the_text_follows_the_grammar_and_has_the_time_of_its_event() {
    for run in all() {
        let (moment, deadline_ns) = worst(&run);
        let written = text::write(&Excerpt::of(&run, 1).unwrap());
        assert!(written.starts_with("# tracer: nop\n#\n"), "Perfetto recognises a text by '# tracer'");
        let body: Vec<&str> = written.lines().filter(|line| !line.starts_with('#')).collect();
        let lines: Vec<Line<'_>> =
            body.iter().map(|text| line(text).unwrap_or_else(|| panic!("{text}"))).collect();
        let kernel =
            lines.iter().filter(|line| !["tracing_mark_write", "sched_waking"].contains(&line.event));
        let times: Vec<u64> = kernel.map(|line| line.at_ns).collect();
        let expected: Vec<u64> =
            moment.events.iter().map(|event| deadline_ns.strict_add_signed(event.at_ns)).collect();
        assert_eq!(times, expected);
        assert!(lines.iter().all(|line| line.cpu == lines[0].cpu));
    }
}

#[test]
fn a_switch_changes_the_task_of_the_lines_that_follow() {
    for run in all() {
        let written = text::write(&Excerpt::of(&run, 1).unwrap());
        let lines: Vec<Line<'_>> = written.lines().filter_map(line).collect();
        let mut running = None;
        let mut switches = 0;
        for line in &lines {
            assert!(running.is_none_or(|pid| pid == line.pid), "{}", line.arguments);
            let value =
                |name: &str| line.arguments.split(name).nth(1)?.split(' ').next()?.parse::<u32>().ok();
            if line.event == "sched_switch" {
                assert_eq!(value("prev_pid="), Some(line.pid));
                assert!(line.arguments.contains(" ==> next_comm="));
                running = Some(value("next_pid=").unwrap());
                switches += 1;
            }
        }
        assert!(switches > 0);
    }
}

#[test]
fn marks_for_perfetto_are_balanced() {
    for run in all() {
        let written = text::write(&Excerpt::of(&run, 1).unwrap());
        let marks = written.lines().filter_map(line).filter(|line| line.event == "tracing_mark_write");
        let mut depth = 0;
        let mut most = 0;
        for mark in marks {
            depth += if mark.arguments.starts_with("B|0|") { 1 } else { -1 };
            assert!(depth >= 0 && mark.arguments.matches('|').count() <= 2, "{}", mark.arguments);
            most = most.max(depth);
        }
        assert!(most > 0, "there is an interrupt");
    }
}

#[test]
fn a_task_that_is_woken_again_slept_and_another_was_ready() {
    let switch =
        |from: u32, to: u32| Happening::Switch { from: task("a", from, 120), to: task("b", to, 120) };
    let run = holding(vec![
        (0, switch(1, 2)),
        (10, Happening::Ready { task: task("a", 1, 120) }),
        (20, switch(2, 1)),
        (30, switch(1, 2)),
        (40, switch(2, 1)),
    ]);
    let written = text::write(&Excerpt::of(&run, 1).unwrap());
    let states = written.split("prev_state=").skip(1).map(|rest| &rest[..1]);
    assert_eq!(states.collect::<Vec<_>>(), ["S", "R", "R", "R"]);
}

#[test]
fn the_binary_file_holds_every_event_with_its_fields() {
    for run in all() {
        let (moment, deadline_ns) = worst(&run);
        let excerpt = Excerpt::of(&run, 1).unwrap();
        let file = trace_dat_reader::read(&trace_dat::write(&excerpt)).unwrap();
        assert_eq!(file.cpus.len(), excerpt.cpu as usize + 1);
        let (others, own) = file.cpus.split_at(excerpt.cpu as usize);
        assert!(others.iter().all(Vec::is_empty), "only one CPU was traced");
        let events = &own[0];
        assert_eq!(events.len(), moment.events.len());
        for (read, event) in events.iter().zip(&moment.events) {
            assert_eq!(read.at_ns, deadline_ns.strict_add_signed(event.at_ns));
            match &event.what {
                Happening::Switch { from, to } => {
                    assert_eq!(read.name, "sched_switch");
                    assert_eq!(read.number("prev_pid"), u64::from(from.tid));
                    assert_eq!(read.number("next_pid"), u64::from(to.tid));
                    assert_eq!(read.number("next_prio") as i32, to.priority);
                    assert!(to.name.starts_with(&read.text("next_comm")), "{}", to.name);
                    assert_eq!(read.pid, from.tid);
                }
                Happening::Ready { task } => assert_eq!(read.number("pid"), u64::from(task.tid)),
                Happening::IrqBegin { irq, .. } => {
                    assert_eq!(read.number("irq"), u64::from(*irq));
                    assert!(!read.text("name").contains('\n') && !read.text("name").is_empty());
                }
                Happening::TimerBegin { function } => match function.strip_prefix("0x") {
                    Some(_) => assert_eq!(format!("{:#x}", read.number("function")), *function),
                    None => assert_eq!(file.functions[&read.number("function")], *function),
                },
                Happening::SoftirqBegin { name } if name == "NET_RX" => assert_eq!(read.number("vec"), 3),
                Happening::Idle { state } => {
                    assert_eq!(read.number("state"), u64::from(state.unwrap_or(u32::MAX)));
                }
                Happening::Nmi { took_ns } => assert_eq!(read.number("delta_ns"), *took_ns),
                _ => {}
            }
        }
    }
}

#[test]
fn a_damaged_file_is_noticed_by_the_reader_of_these_tests() {
    let run = holding(every_kind());
    let whole = trace_dat::write(&Excerpt::of(&run, 1).unwrap());
    assert!(trace_dat_reader::read(&whole).is_some());
    assert!(trace_dat_reader::read(&whole[..whole.len() - 4096]).is_none(), "a page is missing");
    let mut shifted = whole.clone();
    shifted.insert(60, b' ');
    assert!(trace_dat_reader::read(&shifted).is_none(), "the sizes are wrong");
}

#[test]
fn trace_cmd_reads_the_binary_file() {
    if Command::new("trace-cmd").arg("-h").output().is_err() {
        eprintln!("skipped: trace-cmd is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for run in all() {
        let (moment, deadline_ns) = worst(&run);
        let path = directory.path().join("trace.dat");
        std::fs::write(&path, trace_dat::write(&Excerpt::of(&run, 1).unwrap())).unwrap();
        let output = Command::new("trace-cmd").args(["report", "-t", "-i"]).arg(&path).output().unwrap();
        let (report, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        let lines: Vec<&str> = report.lines().filter(|line| line.contains("] ")).collect();
        assert_eq!(lines.len(), moment.events.len(), "{report}");
        for (line, event) in lines.iter().zip(&moment.events) {
            let at_ns = deadline_ns.strict_add_signed(event.at_ns);
            let time = format!("{}.{:09}:", at_ns / 1_000_000_000, at_ns % 1_000_000_000);
            assert!(line.contains(&time), "{line}\n{time}");
            assert!(
                !["FAILED TO PARSE", "bad op", "CAN'T FIND"].iter().any(|bad| line.contains(bad)),
                "{line}"
            );
            let expected = match &event.what {
                Happening::Switch { to, .. } => format!(":{} [", to.tid),
                Happening::SoftirqBegin { name } => format!("[action={name}]"),
                Happening::IrqBegin { irq, .. } => format!("irq={irq} name="),
                _ => continue,
            };
            assert!(line.contains(&expected), "{line}\n{expected}");
        }
    }
}

#[test]
fn outliers_are_counted_from_the_worst() {
    let run = runs().remove(0);
    let mut latencies = Vec::new();
    while let Ok(excerpt) = Excerpt::of(&run, latencies.len() + 1) {
        latencies.push(excerpt.late_ns);
    }
    assert!(latencies.len() > 1 && latencies.is_sorted_by(|a, b| a >= b), "{latencies:?}");
    let traced = latencies.len();
    assert_eq!(Excerpt::of(&run, 0).unwrap_err(), NoExcerpt { traced });
    let error = Excerpt::of(&run, traced + 1).unwrap_err().to_string();
    assert_eq!(error, format!("{traced} late wake-ups were traced; use --outlier 1 to {traced}"));
    let mut untraced = run;
    untraced.series.iter_mut().flat_map(|series| &mut series.worst).for_each(|one| one.moment = None);
    assert!(Excerpt::of(&untraced, 1).unwrap_err().to_string().contains("--causes"));
}
