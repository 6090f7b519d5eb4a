//! The part of a run that the first screen of its report needs.
//!
//! Which part that is depends on the run: a verdict on a limit needs the maxima of blocks of time, a run without a limit does
//! not. So the caller computes the first screen, and a part is left out only if the screen stays the same. If only whole
//! sentences are lost, such as that a run was not stationary, they become remarks of the run, and the part is left out too.

use serde_json::Value;
use tardy_record::block_maxima::BlockMaxima;
use tardy_record::environment::Environment;
use tardy_record::file::{self, RunFileError};
use tardy_record::gaps::GapTrain;
use tardy_record::series::SeriesKind;
use tardy_record::{Knowable, Run, Series};

use crate::link;
use crate::thinning;

/// The length of a link to a run of at most [`FEW_SERIES`], and of others, in characters.
const LENGTH_OF_FEW: usize = 4_000;
const LENGTH_OF_MANY: usize = 16_000;
/// A CPU has a series for each phase, and a recipe with an idle and a loaded phase is usual.
const FEW_SERIES: usize = 8;
/// The source of a fact whose source was left out.
const LEFT_OUT: &str = "left out of the link";

/// The facts whose sources the headline quotes.
const QUOTED_SOURCES: [&str; 2] = ["real_time", "preemption"];
/// The beginnings of the options of the kernel's configuration that stay.
const KEPT_OPTIONS: [&str; 3] = ["PREEMPT", "HZ", "HIGH_RES_TIMERS"];

/// A run for a link.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The run.
    pub run: Run,
    /// What it lacks, as sentences for the user.
    pub left_out: Vec<String>,
}

/// A part that can be left out: its name for the user, and how.
struct Part {
    name: &'static str,
    leave_out: fn(&mut Run) -> Result<(), RunFileError>,
}

const SLICES_THIN: &str = "the distribution over time, except near quantiles and limits";

const PARTS: [Part; 10] = [
    Part { name: "the worst readings and their causes", leave_out: without_worst },
    Part { name: "loads, environment, events and tardy's own cost", leave_out: without_surroundings },
    Part { name: "the sources of facts", leave_out: without_sources },
    Part {
        name: "the kernel's configuration, except what the report quotes",
        leave_out: without_configuration,
    },
    Part { name: "the distribution over time", leave_out: without_slices },
    Part { name: SLICES_THIN, leave_out: |run| without_bins_of_slices(run, 2) },
    Part { name: SLICES_THIN, leave_out: |run| without_bins_of_slices(run, 0) },
    Part { name: "the maxima over time", leave_out: without_maxima },
    Part { name: "the maxima over time", leave_out: without_low_maxima },
    Part { name: "the times of single gaps", leave_out: without_gaps },
];

/// `run` without what `screen`, the sentences of the first screen of a report, does not need.
///
/// # Errors
/// If the run did not pass [`file::check`].
pub fn reduced(run: &Run, screen: &dyn Fn(&Run) -> Vec<String>) -> Result<Reduced, RunFileError> {
    let wanted = screen(run);
    let mut kept = run.clone();
    let mut left_out = Vec::new();
    for part in PARTS {
        let mut without = kept.clone();
        (part.leave_out)(&mut without)?;
        if without == kept {
            continue;
        }
        remark_on_lost(&mut without, &wanted, screen);
        if is_same(&without, &wanted, screen) {
            kept = without;
            left_out.retain(|name| name != part.name);
            left_out.push(part.name.to_owned());
        }
    }
    let most = if run.series.len() <= FEW_SERIES { LENGTH_OF_FEW } else { LENGTH_OF_MANY };
    if length(&kept) > most {
        shorten(&mut kept, &mut left_out, most, &|run| is_same(run, &wanted, screen));
    }
    file::check(&kept)?;
    Ok(Reduced { run: kept, left_out })
}

fn is_same(run: &Run, wanted: &[String], screen: &dyn Fn(&Run) -> Vec<String>) -> bool {
    let mut has = screen(run);
    let mut wanted = wanted.to_vec();
    has.sort();
    wanted.sort();
    has == wanted
}

/// Adds the sentences that `run` no longer supports, but that were true of the whole run, to its remarks.
fn remark_on_lost(run: &mut Run, wanted: &[String], screen: &dyn Fn(&Run) -> Vec<String>) {
    let has = screen(run);
    let lost: Vec<String> = wanted.iter().filter(|sentence| !has.contains(sentence)).cloned().collect();
    // More than a sentence or two is a verdict with other numbers, which no remark replaces.
    if has.len() + lost.len() == wanted.len() {
        run.validity.limits.extend(lost);
    }
}

/// Makes bins wider until the link is short enough, as long as the screen stays the same.
fn shorten(run: &mut Run, left_out: &mut Vec<String>, most: usize, is_same: &dyn Fn(&Run) -> bool) {
    let mut wider = false;
    for bits in thinning::BITS {
        let thin = thinning::thinned(run, bits);
        if file::check(&thin).is_err() || !is_same(&thin) {
            continue;
        }
        let is_short = length(&thin) <= most;
        *run = thin;
        wider = true;
        if is_short {
            break;
        }
    }
    if wider {
        left_out.push("the narrow bins of the histograms, except where the quantiles are".to_owned());
    }
}

fn length(run: &Run) -> usize {
    link::of_runs(&[run], "").map_or(usize::MAX, |link| link.len())
}

fn without_worst(run: &mut Run) -> Result<(), RunFileError> {
    run.samples = None;
    run.series.iter_mut().for_each(|series| series.worst.clear());
    Ok(())
}

fn without_surroundings(run: &mut Run) -> Result<(), RunFileError> {
    run.loads.clear();
    run.events.clear();
    run.self_cost.clear();
    run.environment = Environment::default();
    Ok(())
}

fn without_slices(run: &mut Run) -> Result<(), RunFileError> {
    run.series.iter_mut().for_each(|series| series.slices.clear());
    Ok(())
}

fn without_bins_of_slices(run: &mut Run, bits: u32) -> Result<(), RunFileError> {
    thinning::thin_slices(run, bits);
    Ok(())
}

/// Without a limit no maximum of a block is needed. With one, it matters which are above it.
fn without_maxima(run: &mut Run) -> Result<(), RunFileError> {
    level_maxima(run, |series| series.max_ns);
    Ok(())
}

/// The same, but those above the limit stay.
fn without_low_maxima(run: &mut Run) -> Result<(), RunFileError> {
    level_maxima(run, |_| None);
    Ok(())
}

/// Makes the maxima up to the limit equal, and those above it `high` of the series, if it has that.
fn level_maxima(run: &mut Run, high: fn(&Series) -> Option<i64>) {
    let limit_ns = run.plan.limit_ns.and_then(|limit| i64::try_from(limit).ok());
    for series in &mut run.series {
        let (low, high) = (series.min_ns, high(series));
        match limit_ns {
            None => series.block_maxima = BlockMaxima::default(),
            Some(limit_ns) => {
                for max in series.block_maxima.maxima_ns.iter_mut().flatten() {
                    *max = if *max <= limit_ns { low } else { high }.unwrap_or(*max);
                }
            }
        }
    }
}

fn without_gaps(run: &mut Run) -> Result<(), RunFileError> {
    for series in &mut run.series {
        if let SeriesKind::Gaps(gaps) = &mut series.kind {
            (gaps.first, gaps.longest) = (GapTrain::default(), GapTrain::default());
            gaps.windows.clear();
        }
    }
    Ok(())
}

/// By way of text, so that a fact that is added later is treated like the others.
fn without_sources(run: &mut Run) -> Result<(), RunFileError> {
    let mut value: Value = serde_json::from_str(&file::to_text(run))?;
    let kinds = value.get_mut("facts").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, facts) in kinds {
        let facts = facts.as_object_mut().into_iter().flatten();
        facts
            .filter(|(name, _)| !QUOTED_SOURCES.contains(&name.as_str()))
            .for_each(|(_, fact)| leave_out_sources(fact));
    }
    // Of a second source the compiler would make the deserialisation of all types a second time.
    *run = serde_json::from_slice(value.to_string().as_bytes())?;
    Ok(())
}

/// Keeps the options that decide what kind of kernel it is.
fn without_configuration(run: &mut Run) -> Result<(), RunFileError> {
    if let Knowable::Known(config) = &mut run.facts.kernel.config.value {
        config.retain(|option, _| KEPT_OPTIONS.iter().any(|kept| option.starts_with(kept)));
    }
    Ok(())
}

fn leave_out_sources(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.contains_key("value")
                && let Some(how) = members.get_mut("how")
            {
                *how = LEFT_OUT.into();
            }
            members.values_mut().for_each(leave_out_sources);
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out_sources),
        _ => {}
    }
}
