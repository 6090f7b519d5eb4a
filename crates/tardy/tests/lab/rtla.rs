//! The levels that tardy takes from the timerlat tracer, next to those of rtla on the same kernel.
//!
//! Both use the tracer with a thread of the same priority. While each measures, a second instance of the tracer records every
//! cycle, so that a difference can be followed to its cycle and to the task whose code the timer interrupted.

use tardy_analyse::quantile;
use tardy_record::Run;
use tardy_record::series::Level;

use crate::cost;
use crate::scripted::{Printed, Scene};

/// How far the medians of a level may differ, as a share.
const MEDIAN_TOLERANCE: f64 = 0.05;
/// Maxima that differ by more than this, as a share, must be explained.
const MAXIMUM_TOLERANCE: f64 = 0.1;
/// Width of the bins that rtla is asked for, in ns.
const RTLA_BIN_NS: i64 = 10;
/// The name of this file's scene.
const SCENE: &str = "rtla";

const SCRIPT: &str = r#"
set -e
t=/sys/kernel/tracing
[ -d $t/events ] || mount -t tracefs tracefs $t
i=$t/instances/record

# recorded NAME COMMAND...: runs the command and records every cycle of the tracer meanwhile.
recorded() {
    name=$1
    shift
    mkdir $i
    echo 8192 > $i/buffer_size_kb
    # The thread that waits is the command's, not the kernel's.
    echo NO_OSNOISE_WORKLOAD > $t/osnoise/options
    echo timerlat > $i/current_tracer
    part $name
    "$@" &
    echo "pid $!"
    wait $!
    echo 0 > $i/tracing_on
    grep timer_latency $i/trace > /lab/results/$name.trace
    echo nop > $i/current_tracer
    echo OSNOISE_WORKLOAD > $t/osnoise/options
    rmdir $i
}

recorded tardy tardy run --probe timerlat --interval 1ms --priority 95 --duration 2s --warmup 500ms --cpus 0 -q \
    -o /lab/results/timerlat.run.json
recorded rtla rtla timerlat hist -n -p 1000 -c 0 -d 2s -P f:95 -b 10 -E 9999
"#;

/// The scene of this file. Only Debian's real-time kernel has the tracer.
pub(crate) fn scene() -> Scene {
    Scene {
        name: SCENE,
        script: SCRIPT.to_owned(),
        tools: vec![("rtla", "/usr/bin/rtla"), ("libgcc-s1", "/lib/x86_64-linux-gnu/libgcc_s.so.1")],
        ..Scene::default()
    }
}

/// The levels, each with the tracer's name for it, lowest first.
const LEVELS: [(Level, &str); 3] =
    [(Level::Irq, "irq"), (Level::KernelThread, "thread"), (Level::UserThread, "user-ret")];

/// A line of the tracer: `TASK-PID [000] d.h1. 12.149856: #2025 context irq timer_latency 10200 ns`.
#[derive(Clone, Debug)]
struct Line {
    pid: u32,
    cycle: u64,
    context: String,
    latency_ns: i64,
}

fn line(text: &str) -> Option<Line> {
    let (task, _) = text.trim_start().split_once(" [")?;
    let (_, event) = text.split_once('#')?;
    let mut words = event.split_whitespace();
    let cycle = words.next()?.parse().ok()?;
    let context = words.nth(1)?.to_owned();
    let latency_ns = words.nth(1)?.parse().ok()?;
    Some(Line { pid: task.trim_end().rsplit_once('-')?.1.parse().ok()?, cycle, context, latency_ns })
}

/// What a tool reports of one level.
#[derive(Clone, Copy, Debug)]
struct Reported {
    median_ns: i64,
    max_ns: i64,
}

/// A tool's result, and the tracer's record of its cycles.
struct Tool {
    name: &'static str,
    pid: u32,
    record: Vec<Line>,
    reported: [Reported; 3],
}

impl Tool {
    fn new(name: &'static str, printed: &Printed, reported: [Reported; 3]) -> Self {
        let record: Vec<Line> =
            printed.text_file(&format!("{name}.trace")).lines().filter_map(line).collect();
        assert!(record.len() > 3000, "{name}: {} lines of the tracer", record.len());
        Self { name, pid: printed.part(name).number("pid") as u32, record, reported }
    }

    /// The cycle of the maximum that it reports for a level. Panics if the tracer did not record it.
    fn worst_cycle(&self, level: usize) -> u64 {
        let (max_ns, context) = (self.reported[level].max_ns, LEVELS[level].1);
        let mut same = self.record.iter().filter(|line| line.context == context);
        let found = same.find(|line| line.latency_ns == max_ns);
        found.unwrap_or_else(|| panic!("{}: no cycle with {max_ns} ns in {context}", self.name)).cycle
    }

    /// The process that the timer of this cycle interrupted; 0 for the idle task.
    fn interrupted_in(&self, cycle: u64) -> u32 {
        let found = self.record.iter().find(|line| line.cycle == cycle && line.context == "irq");
        found.expect("every cycle has an interrupt").pid
    }
}

fn of_tardy(run: &Run) -> [Reported; 3] {
    LEVELS.map(|(level, _)| {
        let series = run.series.iter().find(|series| series.level == level).unwrap();
        let quantile = quantile::of(&series.measured, quantile::LEVELS[0], series.max_ns, |_| 1.0);
        Reported { median_ns: quantile.value.unwrap().quoted_ns(), max_ns: series.max_ns.unwrap() }
    })
}

/// rtla's histogram: a row for each bin, with its lower edge and the counts of interrupt, thread and user space; then rows of
/// the totals, of which `max:` has the maxima.
fn of_rtla(text: &str) -> [Reported; 3] {
    let row =
        |line: &str| -> Option<Vec<i64>> { line.split_whitespace().map(|word| word.parse().ok()).collect() };
    let bins: Vec<Vec<i64>> = text.lines().filter_map(row).filter(|row| row.len() == 4).collect();
    let maxima = text.lines().find_map(|line| row(line.strip_prefix("max:")?)).expect("rtla's maxima");
    [0, 1, 2].map(|level| {
        let total: i64 = bins.iter().map(|row| row[level + 1]).sum();
        let mut below = 0;
        let median = bins.iter().find(|row| {
            below += row[level + 1];
            2 * below >= total
        });
        Reported { median_ns: median.expect("a median")[0] + RTLA_BIN_NS / 2, max_ns: maxima[level] }
    })
}

fn differ(a_ns: i64, b_ns: i64) -> f64 {
    (a_ns - b_ns).abs() as f64 / a_ns.min(b_ns) as f64
}

#[test]
fn the_levels_of_timerlat_are_those_of_rtla() {
    let Some(printed) = cost::counted(SCENE) else { return };
    let run = printed.run("timerlat.run.json");
    let tardy = Tool::new("tardy", printed, of_tardy(&run));
    let rtla = Tool::new("rtla", printed, of_rtla(&printed.part("rtla").text()));
    for (level, (_, context)) in LEVELS.into_iter().enumerate() {
        let (ours, theirs) = (tardy.reported[level], rtla.reported[level]);
        println!("{context}: tardy {ours:?}, rtla {theirs:?}");
        assert!(
            differ(ours.median_ns, theirs.median_ns) <= MEDIAN_TOLERANCE,
            "{context}: the medians differ"
        );
        let (of_tardy, of_rtla) = (tardy.worst_cycle(level), rtla.worst_cycle(level));
        if differ(ours.max_ns, theirs.max_ns) > MAXIMUM_TOLERANCE {
            let (worse, cycle) =
                if ours.max_ns > theirs.max_ns { (&tardy, of_tardy) } else { (&rtla, of_rtla) };
            let pid = worse.interrupted_in(cycle);
            let who = match pid {
                0 => "the idle task".to_owned(),
                pid if pid == worse.pid => format!("{} itself", worse.name),
                pid => format!("process {pid}"),
            };
            println!(
                "{context}: {} has its maximum in cycle #{cycle}, whose timer interrupted {who}",
                worse.name
            );
        }
    }
}
