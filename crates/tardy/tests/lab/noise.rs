//! The noise probe against the kernel's own account of the same interruptions: osnoise's events (`irq_noise`,
//! `softirq_noise`, `thread_noise`; Documentation/trace/osnoise-tracer.rst), without its workload, which would be another
//! loop on the same CPU.

use std::path::Path;
use std::time::Duration;

use tardy_lab::arch::Arch;
use tardy_lab::experiment::{Experiment, Host};
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::guest::orders::Orders;
use tardy_lab::kernel::{self, KernelSpec};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_record::gaps::Gap;

use crate::guests::{self, Turn};

/// What the kernel must be, since Debian's other one has no osnoise tracer.
const KERNEL: &str = "debian:6.12-rt";
/// How many gaps may be missing or too many.
const COUNT_TOLERANCE: f64 = 0.02;
/// Interruptions closer together than this are one gap to a loop: the way out of one and into the next, with the writing of
/// their events.
const TOUCH_NS: i64 = 6_000;
/// By how much a gap may be longer than what the kernel says of it: the way in and out, which the kernel's time stamps lie
/// within, and the writing of the event. 2.5 us were measured.
const AROUND_NS: i64 = 6_000;
/// And by how much that may differ from one gap to the next.
const SPREAD_NS: i64 = 1_000;
/// The loop has the CPU for so long at a stretch once it spins, and never before, in ns.
const SPINS_NS: i64 = 100_000_000;

const SCRIPT: &str = "
set -e
t=/sys/kernel/tracing
[ -d $t/events ] || mount -t tracefs tracefs $t
echo NO_OSNOISE_WORKLOAD > $t/osnoise/options
mkdir $t/instances/noise
i=$t/instances/noise
echo mono > $i/trace_clock
echo 16384 > $i/buffer_size_kb
for e in irq_noise softirq_noise thread_noise nmi_noise; do echo 1 > $i/events/osnoise/$e/enable; done
echo osnoise > $i/current_tracer
/tardy run -q --probe noise --policy fifo --priority 95 --cpus 0 --threshold 1us --warmup 100ms --duration 3s \\
    -o /lab/results/noise.run.json > /dev/null
echo 0 > $i/tracing_on
cat $i/trace > /lab/results/trace.txt
echo nop > $i/current_tracer
";

fn experiment(guests: &Path) -> Experiment {
    let store = PackageStore::of_this_user().unwrap();
    let busybox =
        store.fetch_tool_root(Arch::X86_64, &["busybox-static"], &mut |text| eprintln!("{text}")).unwrap();
    let command = ["/bin/busybox", "sh", "-c", SCRIPT].map(str::to_owned).to_vec();
    Experiment {
        machine: Machine::Pc,
        pace: Pace::default(),
        memory_mib: 512,
        patience: Duration::from_secs(300),
        orders: Orders { commands: vec![command], ..Orders::default() },
        parts: Parts {
            tardy: std::fs::read(guests.join("tardy-guest-x86_64")).unwrap(),
            files: libraries::tool(&busybox.root, "/bin/busybox").unwrap(),
            ..Parts::default()
        },
    }
}

/// An interruption as the kernel tells of it, on its own clock (start, length) and by when the event was written (on
/// CLOCK_MONOTONIC, to the us).
#[derive(Clone, Copy, Debug)]
struct Told {
    start_ns: i64,
    length_ns: i64,
    written_ns: i64,
    by_irq: bool,
    /// What the loop itself ran: a thread's noise to the kernel, and none here.
    is_the_loop: bool,
}

/// `…  [000] d.h1.   12.345678: irq_noise: local_timer:236 start 12.345670123 duration 4100 ns`.
fn told(line: &str) -> Option<Told> {
    let (head, event) = line.split_once("_noise: ")?;
    let (head, kind) = head.rsplit_once(' ')?;
    let nanoseconds = |text: &str| -> Option<i64> {
        let (seconds, rest) = text.split_once('.')?;
        let digits: i64 = rest.parse().ok()?;
        Some(seconds.trim().parse::<i64>().ok()? * 1_000_000_000 + digits * 10i64.pow(9 - rest.len() as u32))
    };
    let written = head.trim_end().trim_end_matches(':').rsplit(' ').next()?;
    let mut words = event.rsplit(' ');
    let (_unit, duration, _, start) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some(Told {
        start_ns: nanoseconds(start)?,
        length_ns: duration.parse().ok()?,
        written_ns: nanoseconds(written)?,
        by_irq: kind == "irq",
        is_the_loop: event.trim_start().starts_with("noise0:"),
    })
}

/// By how much CLOCK_MONOTONIC is ahead of the kernel's own clock: an interrupt's event is written right at its end.
fn away_ns(told: &[Told]) -> i64 {
    let mut away: Vec<i64> = (told.iter().filter(|one| one.by_irq))
        .map(|one| one.written_ns - one.start_ns - one.length_ns)
        .collect();
    away.sort_unstable();
    away[away.len() / 2]
}

/// The interruptions of the loop while it spins, on CLOCK_MONOTONIC, merged where they touch: from and to.
fn interruptions(told: &[Told]) -> Vec<(i64, i64)> {
    let away_ns = away_ns(told);
    let loops = || told.iter().filter(|one| one.is_the_loop);
    let spins =
        loops().filter(|one| one.length_ns > SPINS_NS).map(|one| one.start_ns + away_ns).min().unwrap();
    let ends = loops().map(|one| one.written_ns).max().unwrap();
    // A thread's own length leaves out the interrupts within it; when it was written is its end.
    let mut spans: Vec<(i64, i64)> = (told.iter().filter(|one| !one.is_the_loop))
        .map(|one| {
            let from_ns = one.start_ns + away_ns;
            (from_ns, (from_ns + one.length_ns).max(if one.by_irq { 0 } else { one.written_ns }))
        })
        .collect();
    spans.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (from_ns, to_ns) in spans {
        match merged.last_mut() {
            Some(last) if from_ns <= last.1 + TOUCH_NS => last.1 = last.1.max(to_ns),
            _ => merged.push((from_ns, to_ns)),
        }
    }
    merged.retain(|(from_ns, to_ns)| *from_ns >= spins && *to_ns <= ends);
    merged
}

#[test]
fn gaps_are_the_interruptions_that_the_kernel_tells_of() {
    let Some(guests) = guests::directory() else { return };
    let spec = KernelSpec::parse(KERNEL).unwrap();
    let kernel = kernel::find(&spec, Arch::X86_64, false, &mut |text| eprintln!("{text}")).unwrap();
    let turn = Turn::on_one();
    let host = Host { core: Some(turn.core()), cancel: None };
    let outcome = experiment(&guests).run(&kernel, Vec::new(), host, &mut |_| {}).unwrap();
    let file = |name: &str| {
        let file = outcome.files.iter().find(|(given, _)| given == name);
        file.unwrap_or_else(|| panic!("no {name}, status {}", outcome.status)).1.clone()
    };
    let run = tardy_record::file::from_text(&file("noise.run.json")).unwrap();
    let trace = String::from_utf8(file("trace.txt")).unwrap();
    let series = &run.series[0];
    let noise = series.gaps().unwrap();
    assert_eq!((noise.times_lost, noise.first.count() as u64), (0, series.tally.recorded));
    // The trace is on CLOCK_MONOTONIC, and the run's times since its start: the longest gap is in both.
    let gaps: Vec<Gap> = noise.first.gaps().collect();
    let told: Vec<Told> = trace.lines().filter_map(told).collect();
    let spans = interruptions(&told);
    let longest = |lengths: Vec<i64>| (0..lengths.len()).max_by_key(|place| lengths[*place]).unwrap();
    let longest_gap = gaps[longest(gaps.iter().map(|gap| gap.length_ns as i64).collect())];
    let longest_span = spans[longest(spans.iter().map(|(from, to)| to - from).collect())];
    let start_ns = longest_span.0 - longest_gap.at_ns as i64;
    let counted_from_ns = start_ns + run.phases[0].start_ns as i64;
    let counted_to_ns = counted_from_ns + series.counted_ns as i64;
    let inside: Vec<(i64, i64)> = (spans.into_iter())
        .filter(|(from, to)| *from >= counted_from_ns && *to <= counted_to_ns)
        .filter(|(from, to)| to - from >= noise.threshold_ns as i64)
        .collect();
    let gaps: Vec<(i64, i64)> = (gaps.iter())
        .map(|gap| (start_ns + gap.at_ns as i64, start_ns + (gap.at_ns + gap.length_ns) as i64))
        .collect();
    // Each interruption lies in a gap, but for what its time stamps are worth.
    let gap_of = |(from, to): &(i64, i64)| {
        let place = gaps.partition_point(|gap| gap.1 + AROUND_NS < *to);
        gaps.get(place).filter(|gap| gap.0 - AROUND_NS <= *from)
    };
    let around: Vec<i64> = (inside.iter())
        .filter_map(|span| gap_of(span).map(|gap| (gap.1 - gap.0) - (span.1 - span.0)))
        .collect();
    let mut sorted = around.clone();
    sorted.sort_unstable();
    println!(
        "{} gaps, {} interruptions from {} events, {} of them in a gap; a gap is longer by {} to {} ns, median {}",
        gaps.len(),
        inside.len(),
        told.len(),
        around.len(),
        sorted.first().unwrap_or(&0),
        sorted.last().unwrap_or(&0),
        sorted.get(sorted.len() / 2).unwrap_or(&0),
    );
    assert!(inside.len() > 300, "{}", inside.len());
    let ratio = gaps.len() as f64 / inside.len() as f64;
    assert!((ratio - 1.0).abs() <= COUNT_TOLERANCE, "{} gaps, {} interruptions", gaps.len(), inside.len());
    let usual = sorted[sorted.len() / 2];
    assert!((0..=AROUND_NS).contains(&usual), "{usual} ns longer");
    let alike = around.iter().filter(|longer| (**longer - usual).abs() <= SPREAD_NS).count();
    assert!(alike as f64 >= (1.0 - COUNT_TOLERANCE) * inside.len() as f64, "{alike} of {}", inside.len());
}
