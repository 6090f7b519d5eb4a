//! Opens a run file, also that of a run in progress or of a killed run.
//!
//! Both have the state "running" in the file. While its supervisor lives, it holds a lock on the run file, and a process has the
//! map open. Otherwise the run was killed, and its last numbers are in the map. Opening a run writes nothing: the numbers are
//! recovered in memory. [`seal`] writes them into the file.

mod own_file;
mod rename;

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tardy_record::file::{self, RunFileError, SIZE_MAX};
use tardy_record::pins::ReactionPlan;
use tardy_record::plan::{NoiseThread, Policy};
use tardy_record::run::State;
use tardy_record::series::SeriesKind;
use tardy_record::wiggle::{EdgeSeries, Seen};
use tardy_record::{Run, Series, validity};
use tardy_redact::redact;
use tardy_sys::files;
use tardy_sys::shared_map::{self, SharedMap};
use thiserror::Error;

use tardy_probe::cells::{CELLS, HEADER_RUN_START, HEADER_SAMPLES_KEPT};
use tardy_probe::order::Granted;
use tardy_probe::timer::reading::{Of, Place};

use own_file::{OwnFile, OwnFileError};
pub use rename::{RenameError, rename};

use crate::engine::{counters_of_phase, map_of_phase};
use crate::sources::own_probe::{LiveSeries, setup_of};

/// Why a run cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file is larger than any run.
    #[error("{path} is not a run file: it has {size} bytes, more than the limit of {SIZE_MAX}")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// The file does not contain a run.
    #[error("{path}: {source}")]
    Content {
        /// The file.
        path: PathBuf,
        /// The error.
        source: RunFileError,
    },
}

/// Why a run cannot be sealed.
#[derive(Debug, Error)]
pub enum SealError {
    /// The run cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The path names a link or a directory.
    #[error("{path} cannot be sealed: {reason}")]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it names, and what to name instead.
        reason: &'static str,
    },
    /// The file or its directory does not belong to the caller.
    #[error(
        "{path} cannot be sealed: {source}. A run is sealed only by the owner of the file and of its directory; as another user, \
         copy it to a directory of your own and seal the copy"
    )]
    Foreign {
        /// The run file.
        path: PathBuf,
        /// The rule that the file or its directory breaks.
        source: io::Error,
    },
    /// The run is still in progress.
    #[error("{0}: this run is still in progress; interrupt it instead, or wait for its end")]
    InProgress(PathBuf),
    /// The file cannot be written.
    #[error("{path} cannot be written: {source}")]
    Io {
        /// The run file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl From<OwnFileError> for SealError {
    fn from(error: OwnFileError) -> Self {
        match error {
            OwnFileError::Open(error) => Self::Open(error),
            OwnFileError::NotAFile { path, reason } => Self::NotAFile { path, reason },
            OwnFileError::Foreign { path, source } => Self::Foreign { path, source },
            OwnFileError::Io { path, source } => Self::Io { path, source },
        }
    }
}

/// A run that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The run.
    pub run: Run,
    /// A remark for the user, such as that the run was recovered or is still in progress.
    pub remark: Option<String>,
}

/// The text of a run file, and what the file system knows about it.
struct Content {
    text: Vec<u8>,
    /// The owner of a regular file; `None` for a pipe.
    owner: Option<u32>,
    /// Whether a supervisor holds the file.
    is_held: bool,
}

/// A run file, and what became of its run.
struct Found {
    run: Run,
    fate: Fate,
}

/// What became of a run.
#[derive(Debug)]
enum Fate {
    /// Its file is sealed.
    Sealed,
    /// It is in progress. `is_current`: the numbers are those in its map.
    InProgress { is_current: bool },
    /// It was killed.
    Killed(Recovered),
}

/// Opens a run file. A killed run is completed from its map in memory; the file stays as it is.
///
/// # Errors
/// If the file cannot be read or does not contain a run.
pub fn open(path: &Path) -> Result<Opened, OpenError> {
    let fail = |source| OpenError::Io { path: path.to_owned(), source };
    let mut file = files::open_to_read(path).map_err(fail)?;
    let text = read(path, &mut file)?;
    let owner = file.owner();
    let is_held = owner.is_some() && files::is_held(file.file()).unwrap_or(false);
    let Found { mut run, fate } = find(path, &Content { text, owner, is_held })?;
    let remark = match fate {
        Fate::Sealed => None,
        Fate::InProgress { is_current: true } => {
            run.validity = validity::judge(&run);
            Some("this run is still in progress; these are its numbers so far".to_owned())
        }
        Fate::InProgress { is_current: false } => {
            run.validity = validity::judge(&run);
            Some("this run is still in progress; these are the numbers of its last checkpoint".to_owned())
        }
        Fate::Killed(source) => {
            mark_cut_short(&mut run);
            let hint = match owner {
                Some(owner) if owner == files::caller() => {
                    format!(". The file is unchanged; 'tardy recover {}' seals it", path.display())
                }
                Some(owner) => {
                    format!(". Only the file's owner, user {owner}, can seal it with 'tardy recover'")
                }
                None => String::new(),
            };
            Some(format!("this run was cut short; {}{hint}", source.describe()))
        }
    };
    Ok(Opened { run, remark })
}

/// Writes the last numbers of a killed run into its file, and removes its map. The file and its directory must belong to the
/// caller. Returns the source of the numbers, for the user; `None` if the run was sealed before and nothing was written.
///
/// # Errors
/// If they do not, if the run is still in progress, or if the file cannot be read or written. The file is unchanged then.
pub fn seal(path: &Path) -> Result<Option<String>, SealError> {
    let io = |source| SealError::Io { path: path.to_owned(), source };
    let mut own = OwnFile::open(path)?;
    let (text, is_held) = (own.read()?, own.is_held());
    let Found { mut run, fate } = find(path, &Content { text, owner: Some(files::caller()), is_held })?;
    let source = match fate {
        Fate::Sealed => return Ok(None),
        Fate::InProgress { .. } => return Err(SealError::InProgress(path.to_owned())),
        Fate::Killed(source) => source,
    };
    mark_cut_short(&mut run);
    if !run.redacted.is_empty() {
        run = redact(&run).map_err(|error| io(io::Error::other(error)))?.run;
    }
    own.replace(file::to_text(&run).as_bytes())?;
    remove_leftovers(path, &run);
    Ok(Some(format!("this run was cut short; {}, and the file is now sealed", source.describe())))
}

/// Parses a run file and recovers the last numbers of its run.
fn find(path: &Path, content: &Content) -> Result<Found, OpenError> {
    let mut run = file::from_text(&content.text)
        .map_err(|source| OpenError::Content { path: path.to_owned(), source })?;
    if run.progress.state != State::Running {
        return Ok(Found { run, fate: Fate::Sealed });
    }
    let current = run.phases.len().saturating_sub(1);
    let map = map_of_phase(&run.origin.id, current);
    let is_in_use = maps_of(&run).iter().any(|map| shared_map::is_in_use(map).unwrap_or(false));
    // A file that belongs to another user, a link or a pipe is not this run's map; `SharedMap::read` refuses it.
    let owner = content.owner.unwrap_or_else(files::caller);
    let has_map = map.as_ref().is_some_and(|map| overlay_from(&mut run, map, owner, current));
    let fate = if content.is_held || is_in_use {
        Fate::InProgress { is_current: has_map }
    } else if has_map {
        Fate::Killed(Recovered::Memory)
    } else if overlay_from(&mut run, &counters_of_phase(path, current), owner, current) {
        Fate::Killed(Recovered::Counters)
    } else {
        let owner_of = |map: PathBuf| Some((map.symlink_metadata().ok()?.uid(), map));
        let foreign = map.and_then(owner_of).filter(|(owner, _)| *owner != files::caller());
        Fate::Killed(foreign.map_or(Recovered::Checkpoint, |(owner, map)| Recovered::Foreign { map, owner }))
    };
    Ok(Found { run, fate })
}

/// The paths of the maps that a running or killed run may have: of its last phase, and of one that is being set up.
fn maps_of(run: &Run) -> Vec<PathBuf> {
    let current = run.phases.len().saturating_sub(1);
    [current, current + 1].into_iter().filter_map(|phase| map_of_phase(&run.origin.id, phase)).collect()
}

/// Removes the maps and the counters of a run that is sealed.
fn remove_leftovers(path: &Path, run: &Run) {
    for map in maps_of(run).iter().filter(|map| shared_map::is_in_use(map).is_ok_and(|in_use| !in_use)) {
        let _ = files::remove_own(map);
    }
    let _ = files::remove_own(&counters_of_phase(path, run.phases.len().saturating_sub(1)));
}

/// The place of the last numbers of a killed run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Recovered {
    /// In the map.
    Memory,
    /// In the copy of its counters.
    Counters,
    /// In the run file itself.
    Checkpoint,
    /// In the run file, as far as the caller can see: there is a map that belongs to another user.
    Foreign { map: PathBuf, owner: u32 },
}

impl Recovered {
    fn describe(&self) -> String {
        match self {
            Self::Memory => "its last numbers were still in memory, so no count is lost".to_owned(),
            Self::Counters => "its counters were on the disk, so at most the last 5 s are lost".to_owned(),
            Self::Checkpoint => "these are the numbers of its last checkpoint".to_owned(),
            Self::Foreign { map, owner } => format!(
                "these are the numbers of its last checkpoint. Later ones may be in {}, which belongs to user {owner}. If this is \
                 a copy of a run file, that run may still be in progress",
                map.display()
            ),
        }
    }
}

/// Marks a killed run as cut short.
fn mark_cut_short(run: &mut Run) {
    run.progress.state = State::CutShort;
    // Samples in the rings are not added to the samples file: its name comes from the run file, which any user may have
    // written, so it must not be trusted for writing. Only samples that the supervisor had not read yet are lost.
    let recorded = run.recorded_samples();
    if let Some(samples) = &mut run.samples {
        samples.settle(recorded);
    }
    run.validity = validity::judge(run);
}

/// Removes a run file that is no longer needed, and the maps that its run left if it was killed.
pub(crate) fn discard(path: &Path) {
    let text = files::open_own(path).ok().and_then(|mut file| read(path, &mut file).ok());
    if let Some(run) = text.and_then(|text| file::from_text(&text).ok()) {
        let maps = (0..=run.plan.phases.len()).filter_map(|phase| map_of_phase(&run.origin.id, phase));
        for map in maps.filter(|map| shared_map::is_in_use(map).is_ok_and(|in_use| !in_use)) {
            let _ = files::remove_own(&map);
        }
        for phase in 0..run.phases.len() {
            let _ = files::remove_own(&counters_of_phase(path, phase));
        }
    }
    let _ = files::remove_own(path);
}

fn read(path: &Path, file: &mut impl Read) -> Result<Vec<u8>, OpenError> {
    let fail = |source| OpenError::Io { path: path.to_owned(), source };
    let mut text = Vec::new();
    let size = file.take(SIZE_MAX + 1).read_to_end(&mut text).map_err(fail)? as u64;
    if size > SIZE_MAX {
        return Err(OpenError::TooLarge { path: path.to_owned(), size });
    }
    Ok(text)
}

/// Replaces the last checkpoint's numbers by those in the map or the copy of its counters at `path`, which must belong to
/// `owner`. Returns whether there were any.
fn overlay_from(run: &mut Run, path: &Path, owner: u32, phase: usize) -> bool {
    let Some(setup) = run.plan.phases.get(phase).and_then(|plan| setup_of(plan, false)) else { return false };
    let blocks = setup.counters.len();
    let map = SharedMap::read(path, owner, blocks, CELLS);
    map.is_ok_and(|map| overlay(run, &Rc::new(map), phase))
}

/// Replaces the last checkpoint's numbers by those in the map, if they are a run's: another program may have written them.
/// Returns whether the map had any.
fn overlay(run: &mut Run, map: &Rc<SharedMap>, phase: usize) -> bool {
    let mut current = run.clone();
    let is_run = overlay_unchecked(&mut current, map, phase) && file::check(&current).is_ok();
    if is_run {
        *run = current;
    }
    is_run
}

fn overlay_unchecked(run: &mut Run, map: &Rc<SharedMap>, phase: usize) -> bool {
    let Some(plan) = run.plan.phases.get(phase).cloned() else { return false };
    let Some(setup) = setup_of(&plan, false) else { return false };
    let counters = setup.counters;
    let fits = !counters.is_empty() && map.block_count() == counters.len() && map.cell_count() == CELLS;
    if phase >= run.phases.len() || !fits {
        return false;
    }
    let run_start_ns = map.header(HEADER_RUN_START).get();
    let mut found = false;
    for (block, counter) in counters.into_iter().enumerate() {
        let (of, policy) = (counter.of, counter.policy);
        let place = place(run, phase, (of, policy), run_start_ns);
        let mut live = LiveSeries::new(Rc::clone(map), block, place, 0);
        let slot = run.series.iter().position(|known| is_of(known, phase, of));
        if let Some(slot) = slot {
            live.adopt_slices(std::mem::take(&mut run.series[slot].slices));
        }
        live.read_remains();
        live.cut_slice(true);
        let Some(mut series) = live.series() else { continue };
        if let Some(slot) = slot {
            keep_supervisors_knowledge(&mut series, &run.series[slot]);
            keep_times(&run.series[slot], &mut series);
            run.series[slot] = series;
        } else {
            run.series.push(series);
        }
        found = true;
    }
    if let Some(samples) = &mut run.samples {
        samples.kept = samples.kept.max(map.header(HEADER_SAMPLES_KEPT).get());
    }
    run.refresh_progress();
    found
}

/// Copies data that only the supervisor had from the last checkpoint's series `known`.
fn keep_supervisors_knowledge(series: &mut Series, known: &Series) {
    for outlier in &mut series.worst {
        if let Some(known) = known.worst.iter().find(|known| known.at_ns == outlier.at_ns) {
            outlier.around.clone_from(&known.around);
            outlier.moment.clone_from(&known.moment);
        }
    }
    if let (SeriesKind::Timer(timer), Some(known)) = (&mut series.kind, known.timer()) {
        timer.causes.clone_from(&known.causes);
    }
}

/// Whether `known` is the series that `of` describes, in this phase.
fn is_of(known: &Series, phase: usize, of: Of<'_>) -> bool {
    let same = match of {
        Of::Timer { .. } => known.timer().is_some(),
        Of::Noise(_) | Of::Holes(_) => known.gaps().is_some(),
        Of::Toggles { .. } => known.edges().is_some_and(|edges| matches!(edges.seen, Seen::Written { .. })),
        Of::Reaction { .. } | Of::Echo(_) => {
            known.reaction().is_some_and(|known| Some((known.from, known.to)) == of.between())
        }
    };
    known.phase == phase && same && known.cpu() == of.cpu()
}

/// Copies the times of gaps from the last checkpoint's series: the map does not contain them.
fn keep_times(known: &Series, series: &mut Series) {
    if let (Some(known), SeriesKind::Gaps(gaps)) = (known.gaps(), &mut series.kind) {
        gaps.first.clone_from(&known.first);
        gaps.windows.clone_from(&known.windows);
        gaps.longest.clone_from(&known.longest);
        gaps.longest_from_ns = known.longest_from_ns;
    }
}

/// The context of the block `of`, whose thread requested `policy`.
fn place<'a>(run: &Run, phase: usize, (of, policy): (Of<'a>, Policy), run_start_ns: u64) -> Place<'a> {
    let known = run.series.iter().find(|known| is_of(known, phase, of)).map(|known| &known.kind);
    // A run that was killed before its first checkpoint records only refused requests, as remarks of the phase.
    let refused = run.phases[phase].remarks.iter().any(|remark| remark.contains("was refused"));
    let granted = match known {
        Some(SeriesKind::Timer(known)) => {
            Granted { policy: known.policy, priority: known.priority, pinned: known.pinned }
        }
        Some(SeriesKind::Reaction(known)) => {
            Granted { policy: known.policy, priority: known.priority, pinned: true }
        }
        Some(SeriesKind::Edges(EdgeSeries { seen: Seen::Written { policy, priority, .. }, .. })) => {
            Granted { policy: *policy, priority: *priority, pinned: true }
        }
        Some(SeriesKind::Gaps(known)) => {
            Granted { policy: known.policy, priority: known.priority, pinned: true }
        }
        _ => match of {
            Of::Timer { thread, .. } if refused => {
                Granted { policy: Policy::Other, priority: 0, pinned: thread.pinned }
            }
            Of::Timer { timer, thread } => {
                Granted { policy: timer.policy, priority: thread.priority, pinned: thread.pinned }
            }
            Of::Noise(NoiseThread { priority, .. })
            | Of::Holes(NoiseThread { priority, .. })
            | Of::Toggles { thread: NoiseThread { priority, .. }, .. }
            | Of::Reaction { reaction: ReactionPlan { priority, .. }, .. }
            | Of::Echo(ReactionPlan { priority, .. }) => Granted {
                policy: if refused { Policy::Other } else { policy },
                priority: if refused { 0 } else { *priority },
                pinned: true,
            },
        },
    };
    Place { phase, of, granted, run_start_ns }
}

#[cfg(test)]
mod tests;
