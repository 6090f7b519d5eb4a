//! `tardy import`: converts other tools' files to runs.

mod advice;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_formats::{FORMATS, Format, ImportError, ImportOptions, ImportedRun, Used};
use tardy_measure::engine::result_file::{ResultBatch, ResultFile, is_same_place};
use tardy_plot::numbers::harmless;
use tardy_recipe::wrong;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, file, validity};
use tardy_sys::files;
use tardy_unpack::{Content, Tar};

use tardy_args::{ImportArgs, RedactionFlag, UnitRule};
use tardy_command::additions::Addition;
use tardy_command::{Exit, file_tree, output};

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Imports files.
pub(crate) fn run(arguments: &ImportArgs) -> Result<Exit> {
    if arguments.list {
        return output::list_formats(
            FORMATS.iter().map(|format| (format.name, format.about)),
            arguments.json,
        );
    }
    let options = ImportOptions {
        unit: None,
        command: arguments.command.clone(),
        input: arguments.input.clone(),
        output: arguments.output_channel.clone(),
        edge: arguments.edge.map(Into::into),
        time_unit: arguments.time_unit.map(Into::into),
        path: None,
    };
    let several = arguments.files.len() > 1 || arguments.files.iter().any(|file| file.is_dir());
    let mut import = Import {
        format: arguments.format,
        options,
        units: arguments.unit.clone(),
        used_units: vec![false; arguments.unit.len()],
        place: Place::of(arguments, several)?,
        force: arguments.force,
        redaction: arguments.redaction,
        used: Used::default(),
        named_time_unit: None,
        names: BTreeSet::new(),
        is_of_several: several,
        imported: 0,
        batch: None,
        addition: arguments.keep.as_deref().map(Addition::to).transpose()?,
        written: Vec::new(),
        unchanged: 0,
        skipped: Vec::new(),
        links_outside: Vec::new(),
        without_unit: Vec::new(),
        invalid: false,
        failed: 0,
    };
    if let ([file], false) = (arguments.files.as_slice(), several) {
        import.path(file, true)?;
    } else {
        arguments.files.iter().for_each(|file| import.one_of_several(file, true));
    }
    import.write()?;
    import.finish()
}

/// The destination of the run files.
enum Place {
    File(PathBuf),
    Directory(PathBuf),
    Archive(PathBuf),
}

impl Place {
    fn of(arguments: &ImportArgs, several: bool) -> Result<Self> {
        if let Some(archive) = &arguments.keep {
            return Ok(Self::Archive(archive.clone()));
        }
        match &arguments.output {
            None => Ok(Self::Directory(PathBuf::from("."))),
            Some(output) if several || output.is_dir() => {
                files::make_directories(output)
                    .with_context(|| format!("cannot create {}", shown(output)))?;
                Ok(Self::Directory(output.clone()))
            }
            Some(output) if arguments.files.iter().any(|file| is_same_place(file, output)) => {
                let why = "is the file to import, which would be overwritten; choose another name";
                Err(wrong("output", format!("{}: {why}", shown(output))).into())
            }
            Some(output) => Ok(Self::File(output.clone())),
        }
    }
}

struct Import {
    format: Option<&'static Format>,
    options: ImportOptions,
    /// The units that the user gave, and which of them had an effect.
    units: Vec<UnitRule>,
    used_units: Vec<bool>,
    place: Place,
    force: bool,
    redaction: RedactionFlag,
    used: Used,
    /// The first capture that states its time unit, with the statement, for a message.
    named_time_unit: Option<String>,
    names: BTreeSet<String>,
    is_of_several: bool,
    imported: usize,
    /// The run files that [`Self::write`] puts in their places, if they are in a directory.
    batch: Option<ResultBatch>,
    /// The archive that the runs are put into instead.
    addition: Option<Addition>,
    /// The messages about each run that was written, in the batch or as the only file.
    written: Vec<Vec<String>>,
    /// Runs that exist unchanged from an earlier import.
    unchanged: usize,
    skipped: Vec<String>,
    /// Symbolic links that lead out of a directory that the user named.
    links_outside: Vec<String>,
    /// Files that failed because their unit is unknown.
    without_unit: Vec<String>,
    invalid: bool,
    failed: usize,
}

impl Import {
    /// Imports one of several files. The others are imported even if it fails.
    fn one_of_several(&mut self, path: &Path, named: bool) {
        if let Err(error) = self.path(path, named) {
            self.failed += 1;
            output::report(&format!("{error:#}"));
        }
    }

    /// Imports a file, or all files of a directory. A file that the user `named` must be importable.
    fn path(&mut self, path: &Path, named: bool) -> Result<()> {
        if named && path == Path::new(STANDARD_INPUT) {
            return self.standard_input();
        }
        let metadata = path.metadata().with_context(|| format!("cannot read {}", shown(path)))?;
        if metadata.is_dir() {
            let tree = file_tree::below(path).with_context(|| format!("cannot read {}", shown(path)))?;
            tree.files.iter().for_each(|file| self.one_of_several(file, false));
            for (path, error) in &tree.unreadable {
                self.failed += 1;
                output::report(&format!("cannot read {}: {error}", shown(path)));
            }
            self.links_outside.extend(tree.links_outside.iter().map(|link| shown(link)));
            return Ok(());
        }
        if !metadata.is_file() {
            bail!(
                "{} is not a regular file; pipes and devices cannot be imported, except standard input as -",
                shown(path)
            );
        }
        if !named && path.to_string_lossy().ends_with(".run.json") {
            return Ok(());
        }
        let file = files::open_to_read(path).with_context(|| format!("cannot read {}", shown(path)))?;
        let name = shown(path);
        match Content::open(file) {
            Ok(content) if content.is_tar() => self.archive(content, &name),
            Ok(mut content) => {
                let mut options = self.options_for(&name);
                let found = tardy_formats::unit_beside(path);
                if let (Some(given), Some(found)) = (options.unit, found)
                    && given != found
                {
                    bail!(
                        "{name}: results.json in its directory gives the unit {}; remove --unit, or move the file away from a \
                         results.json that describes other files",
                        found.name()
                    );
                }
                options.unit = options.unit.or(found);
                options.path = Some(path.to_owned());
                self.content(&mut content, &name, named, &options)
            }
            Err(error) => self.failure(&name, &error.into(), named),
        }
    }

    fn standard_input(&mut self) -> Result<()> {
        let name = "stdin";
        match Content::open(io::stdin().lock()) {
            Ok(content) if content.is_tar() => self.archive(content, name),
            Ok(mut content) => {
                let options = self.options_for(name);
                self.content(&mut content, name, true, &options)
            }
            Err(error) => self.failure(name, &error.into(), true),
        }
    }

    /// The index of the first of the user's units that is for the file `name`.
    fn unit_of(&self, name: &str) -> Option<usize> {
        self.units.iter().position(|rule| rule.applies_to(name))
    }

    fn options_for(&self, name: &str) -> ImportOptions {
        let unit = self.unit_of(name).map(|index| self.units[index].unit);
        ImportOptions { unit, ..self.options.clone() }
    }

    /// Imports the members of a tar archive.
    fn archive(&mut self, content: Content<'_>, name: &str) -> Result<()> {
        // An archive may have several members, so their runs need a directory.
        if let Place::File(path) = &self.place {
            files::make_directories(path)
                .with_context(|| format!("cannot create the directory {}", shown(path)))?;
            self.place = Place::Directory(path.clone());
        }
        self.is_of_several = true;
        let mut tar = Tar::new(content);
        loop {
            match tar.next_member() {
                Ok(None) if !tar.has_end_mark() => {
                    output::report(&format!(
                        "{name}: the archive has no end mark; it may be truncated after its last member"
                    ));
                    return Ok(());
                }
                Ok(None) => return Ok(()),
                Ok(Some(member)) => {
                    let whole = format!("{name}:{}", harmless(&member.name));
                    let options = self.options_for(&whole);
                    match tar.content() {
                        Ok(mut content) => self.content(&mut content, &whole, false, &options)?,
                        Err(error) => self.failure(&whole, &error.into(), false)?,
                    }
                }
                Err(error) => return self.failure(name, &error.into(), true),
            }
        }
    }

    fn content(
        &mut self,
        content: &mut Content<'_>,
        name: &str,
        named: bool,
        options: &ImportOptions,
    ) -> Result<()> {
        match tardy_formats::import(content, name, self.format, options) {
            Ok(imported) => self.keep(imported, name, named),
            Err(error) => self.failure(name, &error, named),
        }
    }

    fn keep(&mut self, mut imported: ImportedRun, name: &str, named: bool) -> Result<()> {
        self.used.add(imported.used);
        if let Some(index) = self.unit_of(name).filter(|_| imported.used.unit) {
            self.used_units[index] = true;
        }
        if self.named_time_unit.is_none() {
            self.named_time_unit = imported.time_unit_stated.as_ref().map(|unit| format!("{name}: {unit}"));
        }
        if named && matches!(self.place, Place::File(_)) {
            self.refuse_unused()?;
        }
        let own_name = self.file_name(&imported);
        let path = match &self.place {
            Place::File(path) => path.clone(),
            Place::Directory(directory) => directory.join(&own_name),
            Place::Archive(archive) => archive.clone(),
        };
        imported.run = output::redacted(imported.run, self.redaction)?;
        self.invalid |= !imported.run.validity.valid;
        if self.is_of_several && holds(&path, &imported.run) {
            self.unchanged += 1;
            return Ok(());
        }
        let write = |to: &mut dyn Write| file::write(&imported.run, to);
        match &self.place {
            Place::Directory(directory) if self.is_of_several => {
                let batch = match &mut self.batch {
                    Some(batch) => batch,
                    none => none.insert(ResultBatch::of(directory, self.force)?),
                };
                batch.add(own_name.as_ref(), write)?;
            }
            Place::Directory(_) | Place::File(_) => ResultFile::claim(&path, self.force)?.write_by(write)?,
            Place::Archive(_) => {
                let text = file::to_text(&imported.run);
                let addition = self.addition.as_mut().context("the archive is closed")?;
                addition.content(name.to_owned(), &own_name, text.as_bytes())?;
            }
        }
        let mut messages = vec![format!("{name}: {} → {}", what(&imported), shown(&path))];
        messages.extend(validity::what_is_missing(&imported.run).map(|missing| format!("{name}: {missing}")));
        messages.extend(advice::unlikely_unit(&imported).map(|doubt| format!("{name}: {doubt}")));
        let reasons = imported.run.validity.spoilt_by.iter().take(3);
        messages.extend(reasons.map(|reason| format!("{name}: INVALID: {reason}")));
        self.written.push(messages);
        Ok(())
    }

    /// Puts the run files in their places, after one wait for the disk for all of them, and reports each.
    fn write(&mut self) -> Result<()> {
        let written = std::mem::take(&mut self.written);
        if let Some(addition) = self.addition.take() {
            written.iter().flatten().for_each(|message| output::report(message));
            self.imported += written.len();
            self.failed += usize::from(!addition.finish(false)?);
            return Ok(());
        }
        let outcomes = self.batch.take().map(ResultBatch::finish);
        let outcomes = outcomes.unwrap_or_else(|| written.iter().map(|_| Ok(())).collect());
        for (messages, outcome) in written.into_iter().zip(outcomes) {
            match outcome {
                Ok(()) => {
                    messages.iter().for_each(|message| output::report(message));
                    self.imported += 1;
                }
                Err(error) if self.is_of_several => {
                    self.failed += 1;
                    output::report(&error.to_string());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A name that no other file of this import has.
    fn file_name(&mut self, imported: &ImportedRun) -> String {
        let id = &imported.run.origin.id;
        let mut name = format!("{id}.run.json");
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{id}-{number}.run.json");
            number += 1;
        }
        name
    }

    fn failure(&mut self, name: &str, error: &ImportError, named: bool) -> Result<()> {
        if matches!(error, ImportError::Wrapped(_)) && !named {
            output::report(&format!("{}; skipped", error.about(name)));
        }
        if error.is_of_other_content() && !named {
            self.skipped.push(name.to_owned());
            return Ok(());
        }
        // A capture in several files is imported once.
        let is_other_channel = matches!(error, ImportError::OtherChannel(_));
        if !is_other_channel || named {
            self.failed += 1;
        }
        if self.is_of_several && matches!(error, ImportError::UnitUnknown { .. }) {
            // `finish` reports all of them at once.
            self.without_unit.push(name.to_owned());
            return Ok(());
        }
        output::report(&error.about(name));
        Ok(())
    }

    /// The first pattern of --unit that had no effect.
    fn unused_pattern(&self) -> Option<&str> {
        let unused = self.units.iter().zip(&self.used_units).filter(|(_, used)| !**used);
        unused.filter_map(|(rule, _)| rule.pattern.as_deref()).next()
    }

    /// Refuses options that no file used.
    fn refuse_unused(&self) -> Result<()> {
        let mut unused = BTreeMap::new();
        let no_match;
        if !self.units.is_empty() && !self.used.unit {
            unused.insert("unit", "the files name their unit");
        } else if let Some(pattern) = self.unused_pattern() {
            no_match = format!("'{pattern}' matches no file without a unit, or an earlier --unit does");
            unused.insert("unit", &no_match);
        }
        if self.options.command.is_some() && !self.used.command {
            unused.insert("command", "only cyclictest's text and samples need a command line");
        }
        let only_captures = "only logic analyser captures have channels";
        for (option, given) in [("in", &self.options.input), ("out", &self.options.output)] {
            if given.is_some() && !self.used.channels {
                unused.insert(option, only_captures);
            }
        }
        if self.options.edge.is_some() && !self.used.edge {
            unused.insert("edge", only_captures);
        }
        if self.options.time_unit.is_some() && !self.used.time_unit {
            let named = self.named_time_unit.as_deref();
            unused.insert("time-unit", named.unwrap_or("only logic analyser captures can lack a time unit"));
        }
        match unused.first_key_value() {
            Some((option, why)) => Err(wrong(option, format!("not used here: {why}; remove it")).into()),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<Exit> {
        if !self.skipped.is_empty() {
            output::report(&advice::skipped(&self.skipped));
        }
        if !self.links_outside.is_empty() {
            output::report(&advice::links(&self.links_outside));
        }
        if let (true, Place::File(place) | Place::Directory(place)) = (self.is_of_several, &self.place) {
            let place = shown(place);
            let there = match self.unchanged {
                0 => String::new(),
                already => format!(", {already} unchanged"),
            };
            output::report(&format!(
                "{} imported into {place}{there}, {} failed",
                self.imported, self.failed
            ));
        }
        if !self.without_unit.is_empty() {
            output::report(&advice::units(&self.without_unit));
        }
        if self.failed > 0 {
            return Ok(Exit::CouldNot);
        }
        self.refuse_unused()?;
        if self.imported + self.unchanged == 0 {
            bail!("nothing imported: no file has a format of 'tardy import --list'");
        }
        Ok(if self.invalid { Exit::Invalid } else { Exit::Done })
    }
}

/// A path for a message, without control characters.
fn shown(path: &Path) -> String {
    harmless(&path.display().to_string())
}

/// The format, the number of readings and the worst latency of an imported run, for a message.
fn what(imported: &ImportedRun) -> String {
    let run = &imported.run;
    let worst = run.own_series().filter_map(|series| series.max_ns).max();
    let readings = run.series.iter().fold(0u64, |sum, series| sum.saturating_add(series.tally.recorded));
    let worst = worst.and_then(|ns| u64::try_from(ns).ok());
    let is_least = run.own_series().any(|series| series.max_at_least);
    let sign = if is_least { "≥ " } else { "" };
    let worst = worst.map_or_else(String::new, |ns| format!(", worst {sign}{}", format_duration_ns(ns)));
    format!("{}, {} series, {readings} readings{worst}", imported.format, run.series.len())
}

/// Whether the file `path` is that of `run`.
fn holds(path: &Path, run: &Run) -> bool {
    let Ok(existing) = File::open(path) else { return false };
    let mut same = Same(BufReader::new(existing));
    file::write(run, &mut same).is_ok() && same.0.fill_buf().is_ok_and(<[u8]>::is_empty)
}

/// Compares what is written to it with a file. A difference is an error.
struct Same(BufReader<File>);

impl Write for Same {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let existing = self.0.fill_buf()?;
        let count = existing.len().min(bytes.len());
        if count == 0 || existing[..count] != bytes[..count] {
            return Err(io::Error::other("the file differs"));
        }
        self.0.consume(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
