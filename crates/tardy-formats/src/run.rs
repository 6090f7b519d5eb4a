//! Makes a run from the content of a file.

use tardy_record::block_maxima::{BLOCK_COUNT, BlockMaxima};
use tardy_record::facts::{Fact, Facts};
use tardy_record::foreign::{ForeignPlan, ForeignSeries, LOADS_UNKNOWN};
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{PhasePlan, Plan, Policy, ProbePlan, Span};
use tardy_record::reason::Reason;
use tardy_record::run::{Origin, Phase, State};
use tardy_record::series::{Series, SeriesKind, Tally};
use tardy_record::{Histogram, Knowable, Run, file, validity};

use crate::dates;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, Readings, Stream, System};
use crate::skipped;

const SECOND_NS: u64 = 1_000_000_000;

/// The run made from `imported`, which is the content of file `name`, read as `format`.
pub(crate) fn of(mut imported: Imported, format: &'static str, name: &str) -> Result<Run> {
    for phase in &mut imported.phases {
        make_names_unique(&mut phase.streams);
        // The check precedes the opening of bins, since an open bin bounds the mean less.
        for stream in &phase.streams {
            let Readings::Counts(counts) = &stream.readings else { continue };
            let name = stream.name();
            imported
                .contradictions
                .extend(counts.mean_contradiction().map(|reason| format!("{name}: {reason}")));
        }
        align_open_bins(&mut phase.streams);
    }
    let how = format!("the {} file does not state it", imported.tool);
    let facts = facts(&imported.system, &imported.tool, &how);
    let periods: Vec<u64> = streams(&imported).filter_map(|stream| stream.interval_ns).collect();
    let plan = ForeignPlan {
        format: format.to_owned(),
        tool: imported.tool.clone(),
        version: imported.version.clone().into(),
        command: imported.command.clone().into(),
        measures: imported.measures.to_owned(),
        late_periods: imported.late_periods,
        wake: imported.wake,
        period_ns: periods.iter().min().copied().filter(|ns| *ns > 0).into(),
        duration_ns: imported.duration_ns.into(),
        ..ForeignPlan::default()
    };
    let origin = Origin {
        id: String::new(),
        name: None,
        host: imported.system.host.clone().unwrap_or_default(),
        boot_id: String::new(),
        started_at: imported.started.and_then(dates::rfc3339).unwrap_or_default(),
        command: vec!["tardy".to_owned(), "import".to_owned(), name.to_owned()],
        build: String::new(),
        trial: None,
    };
    let phase_plan = |label: &str| PhasePlan {
        label: label.to_owned(),
        round: 1,
        loads: vec![LoadSpec::Unrecognised(LOADS_UNKNOWN.to_owned())],
        warmup_ns: 0,
        span: imported.duration_ns.map_or(Span::Unknown, Span::DurationNs),
        probe: ProbePlan::Foreign(plan.clone()),
    };
    let all = Plan {
        recipe: "import".to_owned(),
        about: Some(format!("{} measured: {}", imported.tool, imported.measures)),
        scale: 1.0,
        phases: imported.phases.iter().map(|phase| phase_plan(&phase.label)).collect(),
        ..Plan::default()
    };
    let mut run = Run::begun(origin, all, facts);
    run.progress.state = if imported.cut_short { State::CutShort } else { State::Complete };
    let remarks = remarks(&imported);
    let (duration_ns, checked_ns) = (imported.duration_ns.unwrap_or(0), checked_duration_ns(&imported));
    for (index, phase) in imported.phases.into_iter().enumerate() {
        for stream in phase.streams {
            run.series.push(series(stream, index, duration_ns, checked_ns, imported.cut_short)?);
        }
        let longest = run.series.iter().filter(|one| one.phase == index).map(|one| one.counted_ns).max();
        run.phases.push(Phase {
            label: phase.label,
            start_ns: 0,
            end_ns: Some(longest.unwrap_or(0)),
            until: None,
            remarks: remarks.clone(),
            spoilt_by: if index == 0 {
                imported.contradictions.iter().cloned().map(Reason::from).collect()
            } else {
                Vec::new()
            },
        });
    }
    if run.series.is_empty() {
        let nothing = "the file contains no latency".to_owned();
        match run.phases.first_mut() {
            Some(phase) => phase.spoilt_by.push(Reason::from(nothing)),
            None => return Err(ImportError::field("the file", nothing)),
        }
    }
    run.refresh_progress();
    // All phases of a file were measured at the same time: they are levels of the same cycles.
    run.progress.measured_ns = run.series.iter().map(|one| one.counted_ns).max().unwrap_or(0);
    run.progress.planned_ns = 0;
    remark_on_maxima(&mut run);
    run.progress.cycles_planned = None;
    run.origin.id = id(&mut run, name);
    run.validity = validity::judge(&run);
    file::check(&run).map_err(|error| ImportError::field("the file", error.to_string()))?;
    Ok(run)
}

/// Names the series whose maximum the file does not establish, before all other remarks.
fn remark_on_maxima(run: &mut Run) {
    for (index, phase) in run.phases.iter_mut().enumerate() {
        let lacking = run.series.iter().filter(|series| series.phase == index && series.max_at_least);
        let lacking: Vec<&str> = lacking.map(|series| series.label.as_str()).collect();
        if !lacking.is_empty() {
            let names = lacking.join(", ");
            phase.remarks.insert(
                0,
                format!(
                    "the file does not establish the maximum ({names}): the value shown is a lower bound"
                ),
            );
        }
    }
}

/// Makes the open bins of all streams begin at the end of the longest histogram. A tool's threads have histograms of
/// the same length, and only bins with the same lower edge can be added up.
fn align_open_bins(streams: &mut [Stream]) {
    // The highest lower edge of the open bins, and the highest upper edge of the others.
    let (mut opened_from, mut reach) = (None, None);
    for stream in &*streams {
        let Readings::Counts(counts) = &stream.readings else { continue };
        for bin in &counts.bins {
            if bin.is_open() {
                opened_from = opened_from.max(Some(bin.lower_ns));
            } else {
                reach = reach.max(Some(bin.upper_ns));
            }
        }
    }
    let Some(opened_from) = opened_from else { return };
    let from = reach.unwrap_or(opened_from).max(opened_from);
    for stream in streams {
        let Readings::Counts(counts) = &mut stream.readings else { continue };
        let (overflows, max) = (counts.overflows.is_some(), counts.max_ns);
        let Some(last) = counts.bins.last_mut() else { continue };
        if last.is_open() && overflows && max.is_some_and(|max| max >= from) {
            last.lower_ns = from;
        } else if !last.is_open() && last.lower_ns == opened_from {
            last.upper_ns = i64::MAX;
        }
    }
}

/// Adds the thread number to the names of streams that would have the same name.
fn make_names_unique(streams: &mut [Stream]) {
    let names: Vec<String> = streams.iter().map(Stream::name).collect();
    for (stream, name) in streams.iter_mut().zip(&names) {
        if names.iter().filter(|other| *other == name).count() > 1 {
            stream.label = Some(format!("{name}, thread {}", stream.thread));
        }
    }
}

fn streams(imported: &Imported) -> impl Iterator<Item = &Stream> {
    imported.phases.iter().flat_map(|phase| &phase.streams)
}

/// Remarks for the user, most important first.
fn remarks(imported: &Imported) -> Vec<String> {
    let mut remarks: Vec<String> = imported.late_periods.warning(&imported.tool).into_iter().collect();
    for stream in streams(imported) {
        let Readings::Counts(counts) = &stream.readings else { continue };
        let Some(share) = skipped_share(stream.interval_ns, counts, checked_duration_ns(imported)) else {
            continue;
        };
        remarks.push(format!("{}: {}", stream.name(), skipped::sentence(share)));
    }
    remarks.extend(without_priority(imported));
    if let Some(line) = imported.last_line.filter(|_| imported.cut_short) {
        remarks.push(format!("the file is cut off in line {line}; the rest is missing"));
    }
    if imported.has_no_end && !imported.cut_short {
        remarks.push(
            "the format has neither an end mark nor a total: a file that was cut off between two lines cannot be \
             recognised, and its maximum is too low"
                .to_owned(),
        );
    }
    remarks.extend(imported.remarks.iter().cloned());
    remarks
}

/// The remark on threads that measured without a real-time policy: their latencies are those of any process.
fn without_priority(imported: &Imported) -> Option<String> {
    let has_none = |stream: &&Stream| match (stream.policy, stream.priority) {
        (Some(policy), priority) if policy.has_priority() => priority == Some(0),
        (Some(policy), _) => policy == Policy::Other,
        (None, priority) => priority == Some(0),
    };
    let (all, none) = (streams(imported).count(), streams(imported).filter(has_none).collect::<Vec<_>>());
    let first = none.first()?;
    let who = match none.len() {
        count if count == all => imported.tool.clone(),
        1 => format!("{} ({})", imported.tool, first.name()),
        count => format!("{} ({count} of {all} threads)", imported.tool),
    };
    Some(format!(
        "{who} measured without a real-time priority: its latencies are those of an ordinary process, which every \
         other process delays; measure again with a priority, such as cyclictest's -p 80"
    ))
}

/// The duration, if the number of cycles can be checked against it.
fn checked_duration_ns(imported: &Imported) -> Option<u64> {
    imported.duration_ns.filter(|_| imported.duration_is_exact)
}

fn skipped_share(interval_ns: Option<u64>, counts: &Counts, duration_ns: Option<u64>) -> Option<(f64, f64)> {
    if counts.missed.is_some() {
        return None;
    }
    let recorded = counts.bins.iter().fold(0u64, |sum, bin| sum.saturating_add(bin.count));
    // A duration in whole seconds is exact to a second on either side.
    let duration_ns = duration_ns?;
    let range = (duration_ns.saturating_sub(SECOND_NS), duration_ns.saturating_add(SECOND_NS));
    skipped::share(recorded, interval_ns?, range)
}

fn facts(system: &System, tool: &str, how: &str) -> Facts {
    let fact = |value: &Option<String>, key: &str| match value {
        Some(value) => Fact::known(value.clone(), format!("{key}, as {tool} wrote it")),
        None => Fact::unknown(how),
    };
    let mut facts = Facts::default();
    facts.kernel.release = fact(&system.release, "uname -r");
    facts.kernel.version = fact(&system.version, "uname -v");
    facts.kernel.machine = fact(&system.machine, "uname -m");
    facts.kernel.command_line = fact(&system.command_line, "/proc/cmdline");
    facts.clock.source = fact(&system.clock_source, "the clock source");
    facts.cpu.model = fact(&system.cpu_model, "the CPU's model");
    let by_version = system.version.as_ref().filter(|version| version.starts_with('#')).map(|version| {
        let words = || version.split_whitespace();
        let rt = |word: &str| {
            matches!(word, "PREEMPT_RT" | "PREEMPT_RT_FULL" | "RT") || word.starts_with("PREEMPT_{RT")
        };
        words().any(rt)
    });
    facts.kernel.real_time = match (system.realtime, by_version) {
        (Some(1), _) => Fact::known(true, format!("/sys/kernel/realtime, as {tool} wrote it")),
        // Tools write 0 if the file is absent, and there are real-time kernels without it.
        (_, Some(real_time)) => Fact::known(real_time, format!("uname -v, as {tool} wrote it")),
        _ => Fact::unknown(how),
    };
    facts
}

/// An id from the file's name and a hash of the run.
fn id(run: &mut Run, name: &str) -> String {
    let file = name.rsplit('/').next().unwrap_or(name);
    let plain: String =
        file.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' }).collect();
    let plain: String = plain.chars().take(64).collect();
    // FNV-1a (Fowler, Noll, Vo) of the run: it distinguishes runs and is not a security feature.
    let step = |hash: u64, part: u64| (hash ^ part).wrapping_mul(0x0000_0100_0000_01b3);
    // Histograms can have millions of bins. They are hashed as numbers, in a third of the time that their text takes.
    let measured: Vec<Histogram> =
        run.series.iter_mut().map(|series| std::mem::take(&mut series.measured)).collect();
    let text = file::to_text(run);
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| step(hash, u64::from(byte)));
    for (series, measured) in run.series.iter_mut().zip(measured) {
        for bin in measured.bins() {
            hash = [bin.lower_ns as u64, bin.upper_ns as u64, bin.count].into_iter().fold(hash, step);
        }
        series.measured = measured;
    }
    format!("{}-{:08x}", plain.trim_start_matches('.'), hash >> 32)
}

fn series(
    stream: Stream,
    phase: usize,
    duration_ns: u64,
    checked_ns: Option<u64>,
    cut_short: bool,
) -> Result<Series> {
    let label = stream.name();
    let foreign = |resolution_ns: u64| ForeignSeries {
        cpu: stream.cpu.into(),
        thread: stream.thread,
        policy: stream.policy.into(),
        priority: stream.priority.into(),
        interval_ns: stream.interval_ns.filter(|ns| *ns > 0).into(),
        resolution_ns: resolution_ns.max(1),
        beside: stream.beside,
        ..ForeignSeries::default()
    };
    match stream.readings {
        Readings::Captured(series) => {
            let max_at_least = cut_short && series.max_ns.is_some();
            Ok(Series { label, phase, max_at_least, ..*series })
        }
        Readings::Samples(series) => {
            let foreign = match series.foreign() {
                Some(known) => {
                    ForeignSeries { overflows: Knowable::Known(0), ..foreign(known.resolution_ns) }
                }
                None => foreign(1),
            };
            Ok(Series {
                label,
                phase,
                quantity: stream.quantity,
                level: stream.level,
                max_at_least: cut_short && series.max_ns.is_some(),
                kind: SeriesKind::Foreign(Box::new(foreign)),
                ..*series
            })
        }
        Readings::Counts(counts) => {
            counts.check(&label)?;
            let recorded = counts.total(&label)?;
            let foreign = ForeignSeries {
                stated_mean_ns: counts.mean_ns.filter(|_| recorded > 0),
                stated_deviation_ns: counts.deviation_ns,
                overflows: counts.overflows.into(),
                skipped_share: skipped_share(stream.interval_ns, &counts, checked_ns),
                ..foreign(counts.resolution_ns)
            };
            let attempted =
                counts.missed.zip(counts.dropped).and_then(|(a, b)| a.checked_add(b)?.checked_add(recorded));
            let measured = Histogram::from_bins(counts.bins)
                .map_err(|error| ImportError::field(label.clone(), error.to_string()))?;
            Ok(Series {
                phase,
                quantity: stream.quantity,
                level: stream.level,
                counted_ns: duration_ns,
                tally: Tally {
                    attempted: attempted.into(),
                    recorded,
                    missed: counts.missed.into(),
                    dropped: counts.dropped.into(),
                },
                min_ns: counts.min_ns.filter(|_| recorded > 0),
                max_ns: counts.max_ns.filter(|_| recorded > 0),
                max_at_ns: None,
                sum_ns: Knowable::Unknown,
                sum_of_squares_ns2: Knowable::Unknown,
                max_at_least: recorded > 0 && (counts.max_at_least || (cut_short && !counts.max_is_stated)),
                missed_sum_ns: 0,
                measured,
                corrected: None,
                slices: Vec::new(),
                block_maxima: block_maxima(&counts.second_maxima_ns),
                thresholds: Vec::new(),
                worst: Vec::new(),
                kind: SeriesKind::Foreign(Box::new(foreign)),
                label,
            })
        }
    }
}

/// The maxima of seconds as blocks, merged in pairs until there are at most [`BLOCK_COUNT`].
fn block_maxima(seconds: &[i64]) -> BlockMaxima {
    let mut maxima_ns: Vec<Option<i64>> = seconds.iter().map(|ns| Some(*ns)).collect();
    let mut block_ns = SECOND_NS;
    while maxima_ns.len() > BLOCK_COUNT {
        maxima_ns = maxima_ns.chunks(2).map(|pair| pair.iter().copied().max().flatten()).collect();
        block_ns *= 2;
    }
    BlockMaxima { start_ns: 0, block_ns, maxima_ns }
}
