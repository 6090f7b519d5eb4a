//! The noise probe compared with the kernel's record of the same interruptions: osnoise's events (`irq_noise`,
//! `softirq_noise`, `thread_noise`; Documentation/trace/osnoise-tracer.rst), without its workload, which would be a second
//! loop on the same CPU.

use tardy_record::gaps::Gap;

use crate::cost;
use crate::scripted::Scene;

/// How far the numbers of gaps and interruptions may differ, as a share.
const COUNT_TOLERANCE: f64 = 0.02;
/// A loop sees interruptions closer together than this as one gap: leaving one and entering the next takes time, and so
/// does writing their events.
const TOUCH_NS: i64 = 6_000;
/// How much longer a gap may be than the kernel's length: the kernel's time stamps leave out entering, leaving and writing
/// the event. 2.5 us were measured.
const AROUND_NS: i64 = 6_000;
/// How much this difference may vary between gaps, in ns.
const SPREAD_NS: i64 = 1_000;
/// The first stretch of the loop's run time that is at least this long, in ns, is the beginning of its measurement.
const SPINS_NS: i64 = 100_000_000;

/// How many of the longest interruptions may be the longest gap: a gap is longer than its interruption by 2 to 4 us, and ticks
/// differ by less.
const CANDIDATES: usize = 400;

/// Stretches of time: from and to, in ns.
type Spans = Vec<(i64, i64)>;

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
/tardy run -q --probe noise --policy fifo --priority 95 --cpus 0 --threshold 1us --warmup 100ms --duration 1500ms \\
    -o /lab/results/noise.run.json > /dev/null
echo 0 > $i/tracing_on
cat $i/trace > /lab/results/trace.txt
echo nop > $i/current_tracer
rmdir $i
";

/// The scene of this file. Only Debian's real-time kernel has the tracer.
pub(crate) fn scene() -> Scene {
    Scene { name: "noise", script: SCRIPT.to_owned(), ..Scene::default() }
}

/// An interruption in the kernel's record: start and length on the kernel's own clock, and when the event was written, on
/// CLOCK_MONOTONIC in whole us.
#[derive(Clone, Copy, Debug)]
struct Interruption {
    start_ns: i64,
    length_ns: i64,
    written_ns: i64,
    by_irq: bool,
    /// The loop's own run time, which is noise to the kernel and not here.
    is_the_loop: bool,
}

/// `…  [000] d.h1.   12.345678: irq_noise: local_timer:236 start 12.345670123 duration 4100 ns`.
fn interruption(line: &str) -> Option<Interruption> {
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
    Some(Interruption {
        start_ns: nanoseconds(start)?,
        length_ns: duration.parse().ok()?,
        written_ns: nanoseconds(written)?,
        by_irq: kind == "irq",
        is_the_loop: event.trim_start().starts_with("noise0:"),
    })
}

/// How far CLOCK_MONOTONIC is ahead of the kernel's own clock: an interrupt's event is written right at its end.
fn ahead_ns(recorded: &[Interruption]) -> i64 {
    let mut ahead: Vec<i64> = (recorded.iter().filter(|one| one.by_irq))
        .map(|one| one.written_ns - one.start_ns - one.length_ns)
        .collect();
    ahead.sort_unstable();
    ahead[ahead.len() / 2]
}

/// The interruptions of the loop while it spins, on CLOCK_MONOTONIC, merged where they touch: from and to.
fn interruptions(recorded: &[Interruption]) -> Vec<(i64, i64)> {
    let ahead_ns = ahead_ns(recorded);
    let loops = || recorded.iter().filter(|one| one.is_the_loop);
    let spins =
        loops().filter(|one| one.length_ns > SPINS_NS).map(|one| one.start_ns + ahead_ns).min().unwrap();
    let ends = loops().map(|one| one.written_ns).max().unwrap();
    // A thread's length leaves out the interrupts within it, so its end is when its event was written.
    let mut spans: Vec<(i64, i64)> = (recorded.iter().filter(|one| !one.is_the_loop))
        .map(|one| {
            let from_ns = one.start_ns + ahead_ns;
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
fn gaps_are_the_interruptions_in_the_kernels_record() {
    let Some(printed) = cost::counted("noise") else { return };
    let (run, trace) = (printed.run("noise.run.json"), printed.text_file("trace.txt"));
    let series = &run.series[0];
    let noise = series.gaps().unwrap();
    assert_eq!((noise.times_lost, noise.first.count() as u64), (0, series.tally.recorded));
    // The trace is on CLOCK_MONOTONIC, and the run's times since its start. The longest gap is one of the longest interruptions;
    // which one is uncertain, so the one that fits best is taken.
    let gaps: Vec<Gap> = noise.first.gaps().collect();
    let recorded: Vec<Interruption> = trace.lines().filter_map(interruption).collect();
    let spans = interruptions(&recorded);
    let longest_gap = gaps.iter().max_by_key(|gap| gap.length_ns).unwrap();
    let mut by_length = spans.clone();
    by_length.sort_by_key(|(from, to)| from - to);
    let aligned = |longest_span: &(i64, i64)| {
        let start_ns = longest_span.0 - longest_gap.at_ns as i64;
        let counted_from_ns = start_ns + run.phases[0].start_ns as i64;
        let counted_to_ns = counted_from_ns + series.counted_ns as i64;
        let inside: Spans = (spans.iter().copied())
            .filter(|(from, to)| *from >= counted_from_ns && *to <= counted_to_ns)
            .collect();
        let gaps: Spans = (gaps.iter())
            .map(|gap| (start_ns + gap.at_ns as i64, start_ns + (gap.at_ns + gap.length_ns) as i64))
            .collect();
        (gaps, inside)
    };
    // Each interruption lies in a gap, within the accuracy of its time stamps; also one that is shorter than the threshold, since
    // the way into the kernel and back, which its record leaves out, is longer than that.
    fn gap_of<'g>(gaps: &'g [(i64, i64)], (from, to): &(i64, i64)) -> Option<&'g (i64, i64)> {
        let place = gaps.partition_point(|gap| gap.1 + AROUND_NS < *to);
        gaps.get(place).filter(|gap| gap.0 - AROUND_NS <= *from)
    }
    let fitting =
        |(gaps, inside): &(Spans, Spans)| inside.iter().filter(|span| gap_of(gaps, span).is_some()).count();
    let (gaps, inside) = by_length.iter().take(CANDIDATES).map(aligned).max_by_key(fitting).unwrap();
    let around: Vec<i64> = (inside.iter())
        .filter_map(|span| gap_of(&gaps, span).map(|gap| (gap.1 - gap.0) - (span.1 - span.0)))
        .collect();
    let mut sorted = around.clone();
    sorted.sort_unstable();
    println!(
        "{} gaps, {} interruptions from {} events, {} of them in a gap; a gap is longer by {} to {} ns, median {}",
        gaps.len(),
        inside.len(),
        recorded.len(),
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
