//! The runs that the reader has opened.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Serialize;
use tardy_analyse::name;
use tardy_formats::{ImportError, ImportOptions, Unit};
use tardy_plot::numbers::{harmless, highest_with_unit};
use tardy_record::Run;
use tardy_record::file::{self, SIZE_MAX};
use tardy_record::run::State;
use tardy_share::link;
use tardy_unpack::{Content, Tar};

use crate::import_options::{Options, named_in};

/// jitterdebugger's two files, of which one has the unit of the other.
const RESULTS: &str = "results.json";
const SAMPLES: &str = "samples.raw";
/// A run file has its version at the beginning.
const RUN_FILE_MARK: &str = "\"schema_version\"";
const MARK_WITHIN: usize = 1024;

/// A file of the reader, which can be read more than once.
pub trait Source {
    /// The content from its beginning.
    fn open(&self) -> Box<dyn Read + '_>;
}

/// Bytes in memory.
impl Source for &[u8] {
    fn open(&self) -> Box<dyn Read + '_> {
        Box::new(*self)
    }
}

/// What became of a file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Added {
    /// The runs in it: several for an archive or a link.
    pub runs: Vec<Summary>,
    /// What could not be read in it.
    pub refused: Vec<Refusal>,
}

/// A file, or a part of an archive, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The message, as the command line has it.
    pub message: String,
    /// The options that the message names, and that would help.
    pub asks: Vec<&'static str>,
    /// Whether the content is not that of a known tool.
    pub other: bool,
}

impl Refusal {
    fn of(message: String) -> Self {
        Self { asks: named_in(&message), message, other: false }
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Its number in the session.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The format of its file; `run file` for tardy's own.
    pub format: &'static str,
    /// The kernel that it measured.
    pub headline: String,
    /// Whether its numbers may be used.
    pub valid: bool,
    /// The readings that were recorded.
    pub readings: u64,
    /// The highest one.
    pub worst: Option<String>,
    /// Remarks about the file.
    pub remarks: Vec<String>,
}

/// The runs that the reader has opened, under their numbers.
#[derive(Debug, Default)]
pub struct Session {
    runs: BTreeMap<usize, Run>,
    next: usize,
    /// The units that results.json files state, by directory.
    units: BTreeMap<String, Unit>,
}

impl Session {
    /// An empty session.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run with this number.
    ///
    /// # Errors
    /// If it was closed.
    pub fn run(&self, number: usize) -> Result<&Run, String> {
        self.runs.get(&number).ok_or_else(|| format!("run {number} is closed; open its file again"))
    }

    /// Forgets a run.
    pub fn close(&mut self, number: usize) {
        self.runs.remove(&number);
    }

    /// Reads a file, which is a run file, a file of another tool, or an archive of both. `name` is its path below what the
    /// reader opened.
    pub fn add(&mut self, name: &str, source: &dyn Source, options: &Options) -> Added {
        let mut added = Added::default();
        let parsed = options.parsed().and_then(|parsed| Ok((parsed, options.format()?)));
        let (parsed, format) = match parsed {
            Ok(both) => both,
            Err(reason) => {
                added.refused.push(Refusal::of(reason));
                return added;
            }
        };
        let name = harmless(name);
        self.note_unit(&name, source);
        let opened = Content::open(source.open()).map_err(ImportError::from);
        match opened {
            Err(error) => added.refused.push(refusal(&name, &error)),
            Ok(content) if content.is_tar() => self.archive(content, &name, &parsed, &mut added),
            Ok(mut content) => {
                let options =
                    ImportOptions { unit: parsed.unit.or_else(|| self.unit_beside(&name)), ..parsed };
                self.content(&mut content, &name, format, &options, &mut added);
            }
        }
        added
    }

    /// Opens the runs of a link.
    ///
    /// # Errors
    /// If it is not one, or was damaged: a message for the reader.
    pub fn open_link(&mut self, text: &str) -> Result<Added, String> {
        let runs = link::runs(text).map_err(|error| error.to_string())?;
        let mut added = Added::default();
        for run in runs {
            let name = name::of_run(&run);
            added.runs.push(self.keep(run, &name, "link"));
        }
        Ok(added)
    }

    /// Keeps a run that was made here.
    pub(crate) fn keep(&mut self, mut run: Run, name: &str, format: &'static str) -> Summary {
        if format != "link" {
            let file_name = name.rsplit(['/', ':']).next().unwrap_or(name);
            name::after_file(&mut run, file_name);
        }
        let number = self.next;
        self.next += 1;
        let summary = summary(number, &run, name, format);
        self.runs.insert(number, run);
        summary
    }

    fn archive(&mut self, content: Content<'_>, name: &str, options: &ImportOptions, added: &mut Added) {
        let mut tar = Tar::new(content);
        loop {
            match tar.next_member() {
                Ok(None) => return,
                Ok(Some(member)) => {
                    let whole = format!("{name}:{}", harmless(&member.name));
                    match tar.content() {
                        Ok(mut content) => self.content(&mut content, &whole, None, options, added),
                        Err(error) => added.refused.push(refusal(&whole, &error.into())),
                    }
                }
                Err(error) => {
                    added.refused.push(refusal(name, &error.into()));
                    return;
                }
            }
        }
    }

    fn content(
        &mut self,
        content: &mut Content<'_>,
        name: &str,
        format: Option<&'static tardy_formats::Format>,
        options: &ImportOptions,
        added: &mut Added,
    ) {
        if format.is_none() && is_run_file(content.head()) {
            match run_file(content) {
                Ok(run) => added.runs.push(self.keep(run, name, "run file")),
                Err(reason) => added.refused.push(Refusal::of(format!("{name}: {reason}"))),
            }
            return;
        }
        match tardy_formats::import(content, name, format, options) {
            Ok(imported) => added.runs.push(self.keep(imported.run, name, imported.format)),
            Err(error) => added.refused.push(refusal(name, &error)),
        }
    }

    /// Remembers the unit that a results.json states, for the samples in the same directory.
    fn note_unit(&mut self, name: &str, source: &dyn Source) {
        let (directory, file) = directory_and_file(name);
        if file == RESULTS
            && let Some(unit) = tardy_formats::unit_of_results(&mut *source.open())
        {
            self.units.insert(directory.to_owned(), unit);
        }
    }

    fn unit_beside(&self, name: &str) -> Option<Unit> {
        let (directory, file) = directory_and_file(name);
        (file == SAMPLES).then(|| self.units.get(directory).copied()).flatten()
    }
}

fn directory_and_file(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

fn refusal(name: &str, error: &ImportError) -> Refusal {
    Refusal { other: error.is_of_other_content(), ..Refusal::of(error.about(name)) }
}

fn is_run_file(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&head[..head.len().min(MARK_WITHIN)]);
    head.trim_start().starts_with('{') && head.contains(RUN_FILE_MARK)
}

fn run_file(content: &mut Content<'_>) -> Result<Run, String> {
    let mut text = Vec::new();
    content.take(SIZE_MAX + 1).read_to_end(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
    if text.len() as u64 > SIZE_MAX {
        return Err(format!("not a run file: it has more bytes than the limit of {SIZE_MAX}"));
    }
    let run = file::from_text(&text).map_err(|error| error.to_string())?;
    match run.progress.state {
        State::Running => Err(
            "the run is in progress, or was killed; 'tardy recover' writes its last numbers into the file"
                .to_owned(),
        ),
        _ => Ok(run),
    }
}

fn summary(number: usize, run: &Run, name: &str, format: &'static str) -> Summary {
    let worst = run.own_series().filter(|series| series.max_ns.is_some()).max_by_key(|series| series.max_ns);
    let remarks = run.phases.iter().flat_map(|phase| phase.remarks.iter().map(|remark| harmless(remark)));
    Summary {
        number,
        name: harmless(&if run.lab.is_some() {
            name::of_run(run)
        } else {
            run.origin.name.clone().unwrap_or_else(|| name.to_owned())
        }),
        format,
        headline: harmless(&run.headline()),
        valid: run.validity.valid,
        readings: run.series.iter().fold(0, |sum: u64, series| sum.saturating_add(series.tally.recorded)),
        worst: worst.and_then(|series| Some(highest_with_unit(series.max_ns?, series.max_at_least))),
        remarks: remarks.collect(),
    }
}
