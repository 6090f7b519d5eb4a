//! `tardy import`: converts other tools' files to runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_archive::{Content, Tar};
use tardy_formats::{FORMATS, Format, ImportError, ImportOptions, ImportedRun, Used};
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_present::latency::harmless;
use tardy_recipe::wrong;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, file, validity};
use tardy_sys::files;

use super::output;
use crate::args::{ImportArgs, RedactionFlag};
use crate::exit::Exit;

/// Deepest nesting of directories.
const DEPTH_MAX: usize = 16;

/// Imports files.
pub(crate) fn run(arguments: &ImportArgs) -> Result<Exit> {
    if arguments.list {
        return list();
    }
    let options = ImportOptions {
        unit: arguments.unit.map(Into::into),
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
        place: Place::of(arguments, several)?,
        force: arguments.force,
        redaction: arguments.redaction,
        used: Used::default(),
        named_time_unit: None,
        names: BTreeSet::new(),
        is_of_several: several,
        imported: 0,
        unchanged: 0,
        skipped: 0,
        without_unit: 0,
        invalid: false,
        failed: 0,
    };
    if let ([file], false) = (arguments.files.as_slice(), several) {
        import.path(file, true, 0)?;
    } else {
        arguments.files.iter().for_each(|file| import.one_of_several(file, true, 0));
    }
    import.finish()
}

fn list() -> Result<Exit> {
    let width = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let lines: String =
        FORMATS.iter().map(|format| format!("{:width$}  {}\n", format.name, format.about)).collect();
    output::print(&lines)?;
    Ok(Exit::Done)
}

/// The destination of the run files.
enum Place {
    File(PathBuf),
    Directory(PathBuf),
}

impl Place {
    fn of(arguments: &ImportArgs, several: bool) -> Result<Self> {
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
    place: Place,
    force: bool,
    redaction: RedactionFlag,
    used: Used,
    /// The first capture that states its time unit, with the statement, for a message.
    named_time_unit: Option<String>,
    names: BTreeSet<String>,
    is_of_several: bool,
    imported: usize,
    /// Runs that exist unchanged from an earlier import.
    unchanged: usize,
    skipped: usize,
    /// Files that failed because their unit is unknown.
    without_unit: usize,
    invalid: bool,
    failed: usize,
}

impl Import {
    /// Imports one of several files. The others are imported even if it fails.
    fn one_of_several(&mut self, path: &Path, named: bool, depth: usize) {
        if let Err(error) = self.path(path, named, depth) {
            self.failed += 1;
            output::report(&format!("{error:#}"));
        }
    }

    /// Imports a file, or all files of a directory. A file that the user `named` must be importable.
    fn path(&mut self, path: &Path, named: bool, depth: usize) -> Result<()> {
        let metadata = if named { path.metadata() } else { path.symlink_metadata() };
        let metadata = metadata.with_context(|| format!("cannot read {}", shown(path)))?;
        if metadata.is_dir() {
            if depth >= DEPTH_MAX {
                output::report(&format!("{}: directories are nested too deeply; skipped", shown(path)));
                return Ok(());
            }
            let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", shown(path)))?;
            let mut entries: Vec<PathBuf> =
                entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
            entries.sort();
            entries.iter().for_each(|entry| self.one_of_several(entry, false, depth + 1));
            return Ok(());
        }
        if !metadata.is_file() {
            if named {
                bail!("{} is not a regular file; pipes and devices cannot be imported", shown(path));
            }
            return Ok(());
        }
        if !named && path.to_string_lossy().ends_with(".run.json") {
            return Ok(());
        }
        let file = files::open_to_read(path).with_context(|| format!("cannot read {}", shown(path)))?;
        let name = shown(path);
        match Content::open(file) {
            Ok(content) if content.is_tar() => self.archive(content, &name),
            Ok(mut content) => {
                let mut options = self.options.clone();
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
                    let options = self.options.clone();
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
        if self.named_time_unit.is_none() {
            self.named_time_unit = imported.time_unit_stated.as_ref().map(|unit| format!("{name}: {unit}"));
        }
        if named && matches!(self.place, Place::File(_)) {
            self.refuse_unused()?;
        }
        let own_name = self.file_name(&imported);
        let path = match &self.place {
            Place::File(path) => path.clone(),
            Place::Directory(directory) => directory.join(own_name),
        };
        imported.run = output::redacted(imported.run, self.redaction)?;
        self.invalid |= !imported.run.validity.valid;
        if self.is_of_several && holds(&path, &imported.run) {
            self.unchanged += 1;
            return Ok(());
        }
        ResultFile::claim(&path, self.force)?.write_by(|to| file::write(&imported.run, to))?;
        self.imported += 1;
        output::report(&format!("{name}: {} → {}", what(&imported), shown(&path)));
        if let Some(missing) = validity::what_is_missing(&imported.run) {
            output::report(&format!("{name}: {missing}"));
        }
        for reason in imported.run.validity.spoilt_by.iter().take(3) {
            output::report(&format!("{name}: INVALID: {reason}"));
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
        let is_wrapped = matches!(error, ImportError::Wrapped(_));
        let is_other = is_wrapped || matches!(error, ImportError::NoFormat | ImportError::Empty);
        if is_wrapped && !named {
            output::report(&format!("{name} {error}; skipped"));
        }
        if is_other && !named {
            self.skipped += 1;
            return Ok(());
        }
        // A capture in several files is imported once.
        let is_other_channel = matches!(error, ImportError::OtherChannel(_));
        if !is_other_channel || named {
            self.failed += 1;
        }
        if self.is_of_several && matches!(error, ImportError::UnitUnknown { .. }) {
            // `finish` prints the advice once for all files.
            self.without_unit += 1;
            output::report(&format!("{name}: not imported: its unit is unknown"));
            return Ok(());
        }
        let verb = if is_other { " " } else { ": " };
        output::report(&format!("{name}{verb}{error}"));
        Ok(())
    }

    /// Refuses options that no file used.
    fn refuse_unused(&self) -> Result<()> {
        let mut unused = BTreeMap::new();
        if self.options.unit.is_some() && !self.used.unit {
            unused.insert("unit", "the files name their unit");
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
        if self.skipped > 0 {
            let files = if self.skipped == 1 { "file" } else { "files" };
            output::report(&format!("{} {files} skipped: unknown format", self.skipped));
        }
        if self.is_of_several {
            let place = match &self.place {
                Place::File(path) | Place::Directory(path) => shown(path),
            };
            let there = match self.unchanged {
                0 => String::new(),
                already => format!(", {already} unchanged"),
            };
            output::report(&format!(
                "{} imported into {place}{there}, {} failed",
                self.imported, self.failed
            ));
        }
        if self.without_unit > 0 {
            output::report(&format!(
                "files that do not name their unit: {}; import them again with --unit us (the tools' default) or --unit ns, or give \
                 their command line with --command",
                self.without_unit
            ));
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
