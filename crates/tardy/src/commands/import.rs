//! `tardy import`: other tools' files as runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_formats::archive::{Content, Tar};
use tardy_formats::{FORMATS, Format, ImportError, ImportOptions, ImportedRun, Used, detect};
use tardy_measure::run::result_file::{ResultFile, is_same_place};
use tardy_present::latency::harmless;
use tardy_record::units::format_duration_ns;
use tardy_record::{file, validity};

use super::output;
use crate::args::ImportArgs;
use crate::exit::Exit;
use crate::resolve::wrong;

/// Directories lie no deeper in each other than this.
const DEPTH_MAX: usize = 16;

/// Imports files.
pub(crate) fn run(arguments: &ImportArgs) -> Result<Exit> {
    if arguments.list {
        return list();
    }
    let format = arguments.format.as_deref().map(named).transpose()?;
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
        format,
        options,
        place: Place::of(arguments, several)?,
        force: arguments.force,
        used: Used::default(),
        time_unit_stated: None,
        names: BTreeSet::new(),
        is_of_several: several,
        imported: 0,
        there_already: 0,
        passed_over: 0,
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

fn named(name: &str) -> Result<&'static Format> {
    detect::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        wrong("as", format!("{name}: there is no such format; it is one of {}", names.join(", "))).into()
    })
}

/// Where run files go.
enum Place {
    File(PathBuf),
    Directory(PathBuf),
}

impl Place {
    fn of(arguments: &ImportArgs, several: bool) -> Result<Self> {
        match &arguments.output {
            None => Ok(Self::Directory(PathBuf::from("."))),
            Some(output) if several || output.is_dir() => {
                fs::create_dir_all(output).with_context(|| format!("{} cannot be made", shown(output)))?;
                Ok(Self::Directory(output.clone()))
            }
            Some(output) if arguments.files.iter().any(|file| is_same_place(file, output)) => {
                let why =
                    "that is the file to be imported, and what it holds would be gone; choose another name";
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
    used: Used,
    /// Where the first capture that says the unit of its times does so.
    time_unit_stated: Option<String>,
    names: BTreeSet<String>,
    is_of_several: bool,
    imported: usize,
    /// The same runs are there from an import before this one.
    there_already: usize,
    passed_over: usize,
    /// Of those that failed.
    without_unit: usize,
    invalid: bool,
    failed: usize,
}

impl Import {
    /// Imports one of several: what is wrong with it keeps no other one from being imported.
    fn one_of_several(&mut self, path: &Path, named: bool, depth: usize) {
        if let Err(error) = self.path(path, named, depth) {
            self.failed += 1;
            output::tell(&format!("{error:#}"));
        }
    }

    /// Imports a file, or all of a directory. What was `named` must be a file that can be imported.
    fn path(&mut self, path: &Path, named: bool, depth: usize) -> Result<()> {
        let metadata = if named { path.metadata() } else { path.symlink_metadata() };
        let metadata = metadata.with_context(|| format!("{} cannot be read", shown(path)))?;
        if metadata.is_dir() {
            if depth >= DEPTH_MAX {
                output::tell(&format!(
                    "{}: directories lie too deep in each other; passed over",
                    shown(path)
                ));
                return Ok(());
            }
            let entries = fs::read_dir(path).with_context(|| format!("{} cannot be read", shown(path)))?;
            let mut entries: Vec<PathBuf> =
                entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
            entries.sort();
            entries.iter().for_each(|entry| self.one_of_several(entry, false, depth + 1));
            return Ok(());
        }
        if !metadata.is_file() {
            if named {
                bail!("{} is not a regular file: a pipe or a device would be read for ever", shown(path));
            }
            return Ok(());
        }
        if !named && path.to_string_lossy().ends_with(".run.json") {
            return Ok(());
        }
        let file = File::open(path).with_context(|| format!("{} cannot be read", shown(path)))?;
        let name = shown(path);
        match Content::open(file) {
            Ok(content) if content.is_tar() => self.archive(content, &name),
            Ok(mut content) => {
                let mut options = self.options.clone();
                let beside = tardy_formats::unit_beside(path);
                if let (Some(said), Some(beside)) = (options.unit, beside)
                    && said != beside
                {
                    bail!(
                        "{name}: results.json beside it says that its numbers are {}: leave --unit out, or move it away from \
                         a results.json that is not its own",
                        beside.name()
                    );
                }
                options.unit = options.unit.or(beside);
                options.path = Some(path.to_owned());
                self.content(&mut content, &name, named, &options)
            }
            Err(error) => self.failure(&name, &error, named),
        }
    }

    /// Imports the members of a tar archive.
    fn archive(&mut self, content: Content<'_>, name: &str) -> Result<()> {
        // Its members are several files, whose runs go into a directory.
        if let Place::File(path) = &self.place {
            fs::create_dir_all(path)
                .with_context(|| format!("{} cannot be made a directory", shown(path)))?;
            self.place = Place::Directory(path.clone());
        }
        self.is_of_several = true;
        let mut tar = Tar::new(content);
        loop {
            match tar.next_member() {
                Ok(None) if !tar.has_end_mark() => {
                    output::tell(&format!(
                        "{name}: the archive has no end: it may have been cut off behind its last member"
                    ));
                    return Ok(());
                }
                Ok(None) => return Ok(()),
                Ok(Some(member)) => {
                    let whole = format!("{name}:{}", harmless(&member.name));
                    let options = self.options.clone();
                    match Content::open(&mut tar) {
                        Ok(mut content) => self.content(&mut content, &whole, false, &options)?,
                        Err(error) => self.failure(&whole, &error, false)?,
                    }
                }
                Err(error) => return self.failure(name, &error, true),
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

    fn keep(&mut self, imported: ImportedRun, name: &str, named: bool) -> Result<()> {
        self.used.add(imported.used);
        if self.time_unit_stated.is_none() {
            self.time_unit_stated = imported.time_unit_stated.as_ref().map(|said| format!("{name}: {said}"));
        }
        if named && matches!(self.place, Place::File(_)) {
            self.refuse_unused()?;
        }
        let own_name = self.file_name(&imported);
        let path = match &self.place {
            Place::File(path) => path.clone(),
            Place::Directory(directory) => directory.join(own_name),
        };
        let text = file::to_text(&imported.run);
        self.invalid |= !imported.run.validity.valid;
        if self.is_of_several && fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            self.there_already += 1;
            return Ok(());
        }
        ResultFile::claim(&path, self.force)?.write(text.as_bytes())?;
        self.imported += 1;
        output::tell(&format!("{name}: {} → {}", what(&imported), shown(&path)));
        if let Some(missing) = validity::what_is_missing(&imported.run) {
            output::tell(&format!("{name}: {missing}"));
        }
        for reason in imported.run.validity.spoilt_by.iter().take(3) {
            output::tell(&format!("{name}: INVALID: {reason}"));
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
            output::tell(&format!("{name} {error}; passed over"));
        }
        if is_other && !named {
            self.passed_over += 1;
            return Ok(());
        }
        // Of a capture that is spread over several files one stands for all.
        let is_other_channel = matches!(error, ImportError::OtherChannel(_));
        if !is_other_channel || named {
            self.failed += 1;
        }
        if self.is_of_several && matches!(error, ImportError::UnitUnknown { .. }) {
            // What to do about it is said once, for all of them.
            self.without_unit += 1;
            output::tell(&format!("{name}: not imported: in us or in ns?"));
            return Ok(());
        }
        let verb = if is_other { " " } else { ": " };
        output::tell(&format!("{name}{verb}{error}"));
        Ok(())
    }

    /// An option that changed nothing was meant for something else.
    fn refuse_unused(&self) -> Result<()> {
        let mut unused = BTreeMap::new();
        if self.options.unit.is_some() && !self.used.unit {
            unused.insert("unit", "the files say their own unit");
        }
        if self.options.command.is_some() && !self.used.command {
            unused.insert("command", "only cyclictest's text and samples need cyclictest's command line");
        }
        let only_captures = "only a logic analyser's capture has channels";
        for (option, given) in [("in", &self.options.input), ("out", &self.options.output)] {
            if given.is_some() && !self.used.channels {
                unused.insert(option, only_captures);
            }
        }
        if self.options.edge.is_some() && !self.used.edge {
            unused.insert("edge", only_captures);
        }
        if self.options.time_unit.is_some() && !self.used.time_unit {
            let said = self.time_unit_stated.as_deref();
            unused.insert(
                "time-unit",
                said.unwrap_or("only a logic analyser's capture may leave out a unit of times"),
            );
        }
        match unused.first_key_value() {
            Some((option, why)) => {
                Err(wrong(option, format!("it is of no use here: {why}; leave it out")).into())
            }
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<Exit> {
        if self.passed_over > 0 {
            let others = if self.passed_over == 1 { "file is" } else { "files are" };
            output::tell(&format!(
                "{} {others} in no format that tardy knows, and passed over",
                self.passed_over
            ));
        }
        if self.is_of_several {
            let place = match &self.place {
                Place::File(path) | Place::Directory(path) => shown(path),
            };
            let there = match self.there_already {
                0 => String::new(),
                already => format!(", {already} more were there already"),
            };
            output::tell(&format!("{} imported into {place}{there}, {} failed", self.imported, self.failed));
        }
        if self.without_unit > 0 {
            output::tell(&format!(
                "{} of them do not say whether their numbers are microseconds or nanoseconds: import once more, with --unit \
                 us (what the tools do by themselves) or --unit ns, or with their command line in --command",
                self.without_unit
            ));
        }
        if self.failed > 0 {
            return Ok(Exit::CouldNot);
        }
        self.refuse_unused()?;
        if self.imported + self.there_already == 0 {
            bail!("nothing was imported: there is no file in a format that 'tardy import --list' names");
        }
        Ok(if self.invalid { Exit::Invalid } else { Exit::Done })
    }
}

/// A path in a message: its name may have any character in it, and some steer a terminal.
fn shown(path: &Path) -> String {
    harmless(&path.display().to_string())
}

/// What was imported, in a line.
fn what(imported: &ImportedRun) -> String {
    let run = &imported.run;
    let worst = run.own_series().filter_map(|series| series.max_ns).max();
    let readings = run.series.iter().fold(0u64, |sum, series| sum.saturating_add(series.tally.recorded));
    let worst = worst.and_then(|ns| u64::try_from(ns).ok());
    let worst = worst.map_or_else(String::new, |ns| format!(", worst {}", format_duration_ns(ns)));
    format!("{}, {} series, {readings} readings{worst}", imported.format, run.series.len())
}
