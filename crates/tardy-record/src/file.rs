//! Writes and reads the text of a run file. A file that is read is not trusted.
//!
//! Reading checks every invariant that the rest of tardy relies on: counts add up, histograms are in order, every index
//! is in range, and nothing is larger than the format allows.

mod numbers;
mod series;
mod times;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use thiserror::Error;

use crate::environment::{EnvSeries, POINT_COUNT};
use crate::excerpt::excerpt;
use crate::histogram::Histogram;
use crate::load::LoadPart;
use crate::run::{Origin, Run, SCHEMA_VERSION, State};
use crate::series::{Series, SeriesKind};
use crate::switch;

/// The largest run file that is read, in bytes: several times the size of the longest run of the largest machine.
pub const SIZE_MAX: u64 = 1 << 30;
/// The most options of a kernel's configuration: several times as many as a kernel has.
pub const OPTIONS_MAX: usize = 1 << 16;
/// The largest sum of squares of one series, in ns².
const SQUARES_MAX: u128 = 1 << 120;
/// How much text is written at once, in bytes.
const WRITE_SIZE: usize = 256 * 1024;

/// Why a text cannot be read as a run.
#[derive(Debug, Error)]
pub enum RunFileError {
    /// It is not JSON, or not the JSON of a run.
    #[error("not a run file: {}", excerpt(&.0.to_string()))]
    Json(serde_json::Error),
    /// It is truncated.
    #[error(
        "the file is truncated at line {line}, column {column}; tardy never writes part of a run file, so copy it again from its source"
    )]
    Truncated {
        /// The last line.
        line: usize,
        /// The last column of that line.
        column: usize,
    },
    /// It was written by a later version of tardy.
    #[error(
        "written in version {found} of the run file's format, and this tardy reads up to {SCHEMA_VERSION}; use a newer tardy"
    )]
    Newer {
        /// The version in the file.
        found: u64,
    },
    /// No tardy writes this version.
    #[error("not a run file: schema_version is {found}, and the versions of the format begin at 1")]
    NoSuchVersion {
        /// The version in the file.
        found: u64,
    },
    /// The JSON has no schema version.
    #[error("not a run file: it has no schema_version")]
    NoVersion,
    /// The parts of the run contradict each other.
    #[error(
        "{field}: {reason}; the file is damaged or was edited, and its numbers cannot be trusted: copy it again from its source"
    )]
    Contradiction {
        /// The path of the field.
        field: String,
        /// The contradiction.
        reason: String,
    },
}

/// The field of a part that contradicts the others, and how.
type Flaw = (&'static str, String);

/// The text of a run file, with a newline at the end.
///
/// # Panics
/// Never for a run made by tardy: all its fields can be serialised.
pub fn to_text(run: &Run) -> String {
    // By way of `write`: for another writer the compiler would make the serialisation of all types a second time.
    let mut text = Vec::new();
    write(run, &mut text).expect("every field of a Run can be serialised");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Writes the text of a run file, as [`to_text`] has it, without keeping it in memory.
///
/// # Errors
/// If `writer` fails.
pub fn write(run: &Run, writer: &mut dyn Write) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(WRITE_SIZE, writer);
    serde_json::to_writer(&mut writer, run)?;
    writer.write_all(b"\n")?;
    writer.flush()
}

/// The text of a run file after its origin was changed from `before` to that of `run`. `text` is the text before. All other bytes
/// stay as they are, also fields of a later tardy, if the text has the layout that tardy writes; else it is written anew.
pub fn with_changed_origin(text: &[u8], before: &Origin, run: &Run) -> Vec<u8> {
    let field = |origin: &Origin| {
        let value = serde_json::to_string(origin).expect("every field of an Origin can be serialised");
        format!("\"origin\":{value}")
    };
    let (old, new) = (field(before), field(&run.origin));
    let changed = std::str::from_utf8(text).ok().and_then(|text| {
        let (start, end) = text.split_once(&old)?;
        Some(format!("{start}{new}{end}").into_bytes())
    });
    changed.unwrap_or_else(|| to_text(run).into_bytes())
}

/// Parses the text of a run file.
pub fn from_text(text: &[u8]) -> Result<Run, RunFileError> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema_version: Option<u64>,
    }
    // Syntax first, then the version, then the rest: a file of a later version must not be reported as damaged.
    let head: Head = serde_json::from_slice(text)?;
    match head.schema_version {
        None => return Err(RunFileError::NoVersion),
        Some(found) if found > u64::from(SCHEMA_VERSION) => return Err(RunFileError::Newer { found }),
        Some(found @ 0) => return Err(RunFileError::NoSuchVersion { found }),
        Some(_) => {}
    }
    let run: Run = serde_json::from_slice(text)?;
    check(&run)?;
    Ok(run)
}

/// Checks that the parts of a run agree with each other.
pub fn check(run: &Run) -> Result<(), RunFileError> {
    numbers::check(run)?;
    let options = run.facts.kernel.config.get().map_or(0, BTreeMap::len);
    if options > OPTIONS_MAX {
        let reason = format!("{options} options; the maximum is {OPTIONS_MAX}");
        return Err(contradiction("facts.kernel.config", &reason));
    }
    if run.progress.state == State::Complete && run.phases.iter().any(|phase| phase.end_ns.is_none()) {
        return Err(contradiction("progress.state", "complete, but a phase has no end"));
    }
    if run.phases.len() > run.plan.phases.len() {
        return Err(contradiction("phases", "more phases than were planned"));
    }
    if let Some(field) = run.plan.until.and_then(|rule| rule.wrong_field()) {
        return Err(contradiction(&format!("plan.until.{field}"), "out of range"));
    }
    for (index, phase) in run.phases.iter().enumerate() {
        times::check_phase(phase)
            .map_err(|(field, reason)| contradiction(&format!("phases[{index}].{field}"), &reason))?;
    }
    for (index, series) in run.series.iter().enumerate() {
        series::check(run, series)
            .map_err(|(field, reason)| contradiction(&format!("series[{index}].{field}"), &reason))?;
    }
    check_series_are_distinct(run)?;
    check_sums(run)?;
    let ended_samples = run.samples.as_ref().filter(|_| run.progress.state != State::Running);
    if let Some(reason) = ended_samples.and_then(|samples| samples.contradiction(run.recorded_samples())) {
        return Err(contradiction("samples", &reason));
    }
    if let Some(reason) = run.switch.as_ref().and_then(switch::contradiction) {
        return Err(contradiction("switch", &reason));
    }
    for (index, series) in run.environment.series.iter().enumerate() {
        check_environment(series)
            .map_err(|reason| contradiction(&format!("environment.series[{index}]"), &reason))?;
    }
    for (index, load) in run.loads.iter().enumerate() {
        for part in &load.parts {
            check_load(part)
                .map_err(|reason| contradiction(&format!("loads[{index}].parts '{}'", part.name), &reason))?;
        }
        if load.first_phase > load.last_phase || load.last_phase >= run.plan.phases.len() {
            return Err(contradiction(&format!("loads[{index}]"), "its phases do not exist"));
        }
    }
    Ok(())
}

impl From<serde_json::Error> for RunFileError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_eof() {
            return Self::Truncated { line: error.line(), column: error.column() };
        }
        Self::Json(error)
    }
}

fn contradiction(field: &str, reason: &str) -> RunFileError {
    RunFileError::Contradiction { field: excerpt(field).into_owned(), reason: excerpt(reason).into_owned() }
}

/// Checks that no series is a duplicate, which would count its readings twice. Threads on one CPU have the same label: there
/// are at most as many of these as were planned.
fn check_series_are_distinct(run: &Run) -> Result<(), RunFileError> {
    let mut known: BTreeMap<(usize, &str, String), usize> = BTreeMap::new();
    for (index, series) in run.series.iter().enumerate() {
        let (of, most) = match &series.kind {
            SeriesKind::Timer(timer) => {
                let plan = run.plan.phases.get(series.phase).and_then(|phase| phase.probe.timer());
                let threads = plan.iter().flat_map(|plan| &plan.threads);
                ("timer".to_owned(), threads.filter(|thread| thread.cpu == timer.cpu).count().max(1))
            }
            SeriesKind::Trace(trace) => (format!("{:?}", trace.source), 1),
            other => (format!("{:?}", std::mem::discriminant(other)), 1),
        };
        let of = format!("{of} {:?} {:?}", series.quantity, series.level);
        let times = known.entry((series.phase, &series.label, of)).or_default();
        *times += 1;
        if *times > most {
            let reason = format!("'{}' is there more often than it was measured", series.label);
            return Err(contradiction(&format!("series[{index}].label"), &reason));
        }
    }
    Ok(())
}

/// Checks that the values of all histograms have a sum, and the squares of all series too.
fn check_sums(run: &Run) -> Result<(), RunFileError> {
    let in_slices =
        |series: &Series| series.slices.iter().map(|slice| u128::from(slice.histogram.total())).sum::<u128>();
    let values = |series: &Series| {
        let corrected = series.corrected.as_ref().map_or(0, Histogram::total);
        u128::from(series.measured.total()) + u128::from(corrected) + in_slices(series)
    };
    if run.series.iter().map(values).sum::<u128>() > i64::MAX as u128 {
        return Err(contradiction("series", "the values of all histograms exceed 2^63"));
    }
    match run.series.iter().position(|one| one.sum_of_squares_ns2.get().is_some_and(|sum| sum > SQUARES_MAX))
    {
        Some(index) => {
            Err(contradiction(&format!("series[{index}].sum_of_squares_ns2"), "more than 2^120 ns²"))
        }
        None => Ok(()),
    }
}

fn check_environment(series: &EnvSeries) -> Result<(), String> {
    if series.at_ns.len() != series.values.len() {
        return Err(format!("{} times for {} values", series.at_ns.len(), series.values.len()));
    }
    if series.values.len() > POINT_COUNT {
        return Err(format!("more than {POINT_COUNT} points"));
    }
    ascending(&series.at_ns)
}

fn check_load(part: &LoadPart) -> Result<(), String> {
    if part.at_ns.len() != part.done.len() || part.at_ns.len() != part.alive.len() {
        return Err(format!(
            "{} times, {} totals, {} states",
            part.at_ns.len(),
            part.done.len(),
            part.alive.len()
        ));
    }
    ascending(&part.at_ns)
}

fn ascending(times: &[u64]) -> Result<(), String> {
    match times.windows(2).find(|pair| pair[1] < pair[0]) {
        Some(pair) => Err(format!("time goes back from {} to {}", pair[0], pair[1])),
        None => Ok(()),
    }
}
