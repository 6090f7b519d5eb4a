//! `tardy archive site`: an archive as a static site. A page is written again only if its runs changed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tardy_analyse::findings::Options;
use tardy_archive::{Address, Entry, KernelVersion, Query, Store, Stored, sha256, write_compressed};
use tardy_args::ArchiveSiteArgs;
use tardy_compare::difference;
use tardy_compare::history::{self, History};
use tardy_load::quoted;
use tardy_measure::engine::result_file::ResultFile;
use tardy_plot::numbers::counted;
use tardy_present::{history as shown, report};
use tardy_recipe::wrong;
use tardy_site::SiteFile;
use tardy_site::archive::{self as site, About, Board, BoardSummary, KnownRun};
use tardy_sys::files;

use crate::stores;
use tardy_command::{Exit, identity, output, published};

/// The data of the site, by which it is recognised and continued.
const DATA: &str = "site.json";
/// The directory of what belongs to single runs.
const RUNS: &str = "runs/";
/// Files that are written before the data says so: a process that is killed repeats at most these.
const NOTED_AFTER: usize = 64;
/// Directories of pages.
const DIRECTORIES: [&str; 3] = ["boards", "kernels", "runs"];

/// What the site was made from.
#[derive(Default, Serialize, Deserialize)]
struct Data {
    /// The program. Another one writes every page again.
    made_by: String,
    /// The boards, by name.
    boards: BTreeMap<String, BoardData>,
    /// The digest of what each page was made from.
    pages: BTreeMap<String, String>,
    /// Whether pages are being written, or the process that wrote them was killed: those of boards and kernels may have been made from
    /// other runs than `pages` says. A page of a run never changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unfinished: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct BoardData {
    page: String,
    #[serde(flatten)]
    summary: BoardSummary,
}

/// Writes the site.
pub(super) fn run(arguments: &ArchiveSiteArgs) -> Result<Exit> {
    let archive = stores::to_read(&arguments.archive)?;
    let runs = archive.find(&Query::default())?;
    if runs.is_empty() {
        return Err(wrong("archive", format!("{} has no runs", arguments.archive.display())).into());
    }
    check_place(arguments)?;
    let before = read_data(&arguments.output)?;
    let mut writer = Writer::new(arguments, archive.as_ref(), before);
    writer.note_progress()?;
    let boards = writer.boards(&runs)?;
    let kernels = writer.kernels(&boards)?;
    writer.finish(&kernels, runs.len())
}

/// Refuses a directory that is part of the archive, or has files that are not of a site.
fn check_place(arguments: &ArchiveSiteArgs) -> Result<()> {
    let output = &arguments.output;
    // The directory need not exist yet.
    let existing = |path: &PathBuf| path.ancestors().find_map(|path| place_of(path).canonicalize().ok());
    let inside = [output, &arguments.archive].map(existing);
    if let [Some(output), Some(archive)] = &inside
        && output.starts_with(archive)
    {
        return Err(wrong("output", "the site must not be in the archive; choose another directory").into());
    }
    // What a process left that was killed while it wrote the first file.
    let is_other = |entry: io::Result<DirEntry>| !entry.is_ok_and(|entry| is_temporary(&entry.file_name()));
    let has_files = std::fs::read_dir(output).is_ok_and(|mut entries| entries.any(is_other));
    if has_files && !output.join(DATA).exists() && !arguments.force {
        let reason = format!(
            "{} has files that are not of an archive's site; choose another directory",
            output.display()
        );
        return Err(wrong("output", reason).into());
    }
    Ok(())
}

/// Whether this is the name of a file that a process was writing when it was killed.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.')
        && name.ends_with(".tmp")
        && [".html.", ".gz.", ".json."].iter().any(|end| name.contains(end))
}

/// The parent of a relative path of one part is the working directory.
fn place_of(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// The data of the site that is there; without digests if another tardy made it, so that every page is written again.
fn read_data(directory: &Path) -> Result<Data> {
    let path = directory.join(DATA);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Data::default()),
        Err(error) => return Err(error).context(path.display().to_string()),
    };
    let mut data: Data = serde_json::from_slice(&text).with_context(|| {
        format!("{} is not of an archive's site; choose another directory", path.display())
    })?;
    if data.made_by != identity::get() {
        data.boards.clear();
        data.pages.values_mut().for_each(String::clear);
    }
    if data.unfinished {
        data.boards.clear();
        let changing = data.pages.iter_mut().filter(|(page, _)| !page.starts_with(RUNS));
        changing.for_each(|(_, digest)| digest.clear());
    }
    Ok(data)
}

struct Writer<'a> {
    archive: &'a dyn Store,
    output: &'a Path,
    reports: usize,
    about: About,
    before: Data,
    now: Data,
    written: usize,
    /// How many were when the data was written.
    noted: usize,
    /// Runs that cannot be opened.
    problems: usize,
}

impl<'a> Writer<'a> {
    fn new(arguments: &'a ArchiveSiteArgs, archive: &'a dyn Store, before: Data) -> Self {
        let place = arguments.archive.display().to_string();
        let reports = arguments.reports;
        let command = format!("tardy archive site {} --reports {reports} -o DIR", quoted(&place));
        let made_by = identity::get().to_owned();
        let about = About { archive: quoted(&place), command, made_by: made_by.clone(), served: None };
        let now = Data { made_by, ..Data::default() };
        Self {
            archive,
            output: &arguments.output,
            reports,
            about,
            before,
            now,
            written: 0,
            noted: 0,
            problems: 0,
        }
    }

    /// Writes the pages of all boards, and returns the boards' runs.
    fn boards(&mut self, runs: &[(Address, Entry)]) -> Result<Vec<Vec<KnownRun>>> {
        let mut by_machine: BTreeMap<&str, Vec<&(Address, Entry)>> = BTreeMap::new();
        for run in runs {
            by_machine.entry(&run.1.machine).or_default().push(run);
        }
        by_machine.into_iter().map(|(machine, runs)| self.board(machine, &runs)).collect()
    }

    fn board(&mut self, machine: &str, runs: &[&(Address, Entry)]) -> Result<Vec<KnownRun>> {
        let first_with_report = runs.len().saturating_sub(self.reports);
        let known = |(at, (address, entry)): (usize, &&(Address, Entry))| KnownRun {
            address: address.clone(),
            entry: entry.clone(),
            has_report: at >= first_with_report,
            has_comparison: at >= first_with_report.max(1),
        };
        let mut runs: Vec<KnownRun> = runs.iter().enumerate().map(known).collect();
        for at in first_with_report..runs.len() {
            if let Err(error) = self.reports_of(&runs[at], at.checked_sub(1).map(|before| &runs[before])) {
                self.problem(&error);
                (runs[at].has_report, runs[at].has_comparison) = (false, false);
            }
            if self.written >= self.noted + NOTED_AFTER {
                self.note_progress()?;
            }
        }
        let page = site::board_path(machine);
        let digest = digest(&runs);
        let known = self.before.boards.get(machine).filter(|_| self.is_written(&page, &digest)).cloned();
        let data = match known {
            Some(known) => known,
            None => self.board_page(machine, &runs, &page)?,
        };
        self.now.pages.insert(page, digest);
        self.now.boards.insert(machine.to_owned(), data);
        Ok(runs)
    }

    fn board_page(&mut self, machine: &str, runs: &[KnownRun], page: &str) -> Result<BoardData> {
        let entries = runs.iter().map(|run| run.entry.history.clone()).collect();
        let mut history = history::of(entries, history::MOST_P, history::LEAST_CHANGE);
        if let Err(error) = self.explain(&mut history, runs) {
            self.problem(&error);
        }
        let newest = runs.last().context("a board has a run")?.entry.clone();
        let change = shown::newest_change(&history);
        let board = Board { name: machine.to_owned(), runs: runs.to_vec(), history };
        self.write(site::board(&board, &self.about))?;
        Ok(BoardData { page: page.to_owned(), summary: BoardSummary { newest, runs: runs.len(), change } })
    }

    /// Reports a run that cannot be opened. The site is finished without it.
    fn problem(&mut self, error: &anyhow::Error) {
        output::report(&format!(
            "{}; 'tardy archive verify' names every damaged run",
            tardy_command::message(error)
        ));
        self.problems += 1;
    }

    /// Opens the runs on both sides of each change.
    fn explain(&self, history: &mut History, runs: &[KnownRun]) -> Result<()> {
        let by_file: BTreeMap<&str, &Address> =
            runs.iter().map(|run| (run.entry.row.file.as_str(), &run.address)).collect();
        history.explain(|before, after| {
            let open = |file: &str| {
                let address = by_file.get(file).context("a run of the history is one of the board")?;
                anyhow::Ok(self.archive.open(address)?)
            };
            Ok(difference::between(&open(&before.file)?, &open(&after.file)?))
        })
    }

    /// Writes the report of a run, its comparison with the one before, and the run file itself. A run never changes.
    fn reports_of(&mut self, run: &KnownRun, before: Option<&KnownRun>) -> Result<()> {
        let options = published::options();
        let [report_page, file] = [site::report_path(&run.address), site::run_path(&run.address)];
        if !self.is_written(&report_page, run.address.as_str()) {
            let opened = self.archive.open(&run.address)?;
            let content = report::html(&[&opened], &options);
            self.write(SiteFile { path: report_page.clone(), content })?;
            self.copy(&run.address, &file)?;
        }
        self.now.pages.insert(report_page, run.address.to_string());
        self.now.pages.insert(file, run.address.to_string());
        match before {
            Some(before) => self.comparison(run, before, &options),
            None => Ok(()),
        }
    }

    fn comparison(&mut self, run: &KnownRun, before: &KnownRun, options: &Options<'_>) -> Result<()> {
        let page = site::comparison_path(&run.address);
        let digest = format!("{} {}", before.address, run.address);
        if !self.is_written(&page, &digest) {
            let runs = [self.archive.open(&before.address)?, self.archive.open(&run.address)?];
            let content = report::html(&[&runs[0], &runs[1]], options);
            self.write(SiteFile { path: page.clone(), content })?;
        }
        self.now.pages.insert(page, digest);
        Ok(())
    }

    /// Writes the pages of all kernels, and returns their releases, the oldest kernel first.
    fn kernels(&mut self, boards: &[Vec<KnownRun>]) -> Result<Vec<String>> {
        let mut by_kernel: BTreeMap<&str, Vec<&KnownRun>> = BTreeMap::new();
        for run in boards.iter().flatten() {
            if let Some(release) = &run.entry.row.kernel {
                by_kernel.entry(release).or_default().push(run);
            }
        }
        let mut releases: Vec<String> = by_kernel.keys().map(|release| (*release).to_owned()).collect();
        releases.sort_by_key(|release| (KernelVersion::of_release(release), release.clone()));
        for (release, mut runs) in by_kernel {
            runs.sort_by(|one, other| one.entry.row.started_at.cmp(&other.entry.row.started_at));
            let page = site::kernel_path(release);
            let digest = digest(runs.iter().copied());
            if !self.is_written(&page, &digest) {
                self.write(site::kernel(release, &runs, &self.about))?;
            }
            self.now.pages.insert(page, digest);
        }
        Ok(releases)
    }

    /// Writes the first page and the data, and removes the pages that no run belongs to any more.
    fn finish(mut self, kernels: &[String], runs: usize) -> Result<Exit> {
        let summaries: Vec<BoardSummary> =
            self.now.boards.values().map(|board| board.summary.clone()).collect();
        self.write(site::overview(&summaries, kernels, runs, &self.about))?;
        self.write(site::published(&self.about))?;
        self.write_data(&self.now)?;
        self.written += 1;
        if self.before.unfinished {
            self.remove_temporary()?;
        }
        let removed = self.remove_others()?;
        let pages = counted(self.written as u64, "file", "files");
        let removed = if removed == 0 { String::new() } else { format!(", {removed} removed") };
        let index = self.output.join("index.html");
        output::report(&format!("site {}: {pages} written{removed}", index.display()));
        Ok(if self.problems == 0 { Exit::Done } else { Exit::CouldNot })
    }

    /// Writes what is there: what the site had before, and what this process has written. So a site that is not finished is recognised, and
    /// continued.
    fn note_progress(&mut self) -> Result<()> {
        let mut pages = self.before.pages.clone();
        pages.extend(self.now.pages.clone());
        let made_by = self.now.made_by.clone();
        self.write_data(&Data { made_by, boards: BTreeMap::new(), pages, unfinished: true })?;
        self.noted = self.written;
        Ok(())
    }

    fn write_data(&self, data: &Data) -> Result<()> {
        let text = serde_json::to_string_pretty(data)? + "\n";
        Ok(self.place(DATA)?.write(text.as_bytes())?)
    }

    /// Removes the files that a killed process did not finish.
    fn remove_temporary(&self) -> Result<()> {
        for directory in
            DIRECTORIES.map(|name| self.output.join(name)).iter().chain([&self.output.to_owned()])
        {
            // The directories are made when they are needed.
            for entry in std::fs::read_dir(directory).into_iter().flatten() {
                let path = entry.with_context(|| directory.display().to_string())?.path();
                if path.file_name().is_some_and(is_temporary) {
                    files::remove_own(&path).with_context(|| path.display().to_string())?;
                }
            }
        }
        Ok(())
    }

    /// Removes the pages of the site before that this one does not have, and nothing else.
    fn remove_others(&self) -> Result<usize> {
        let mut removed = 0;
        for page in self.before.pages.keys().filter(|page| !self.now.pages.contains_key(*page)) {
            let path = self.output.join(page);
            if is_page(page) && path.is_file() {
                files::remove_own(&path).with_context(|| path.display().to_string())?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Whether a page is there and was made from the same.
    fn is_written(&self, page: &str, digest: &str) -> bool {
        self.before.pages.get(page).is_some_and(|known| known == digest) && self.output.join(page).is_file()
    }

    fn write(&mut self, file: SiteFile) -> Result<()> {
        self.place(&file.path)?.write(file.content.as_bytes())?;
        self.written += 1;
        Ok(())
    }

    fn copy(&mut self, address: &Address, to: &str) -> Result<()> {
        let Stored { name, content: text } = self.archive.get(address)?;
        let mut content = Vec::new();
        write_compressed(&text, &name, &mut content)?;
        self.place(to)?.write(&content)?;
        self.written += 1;
        Ok(())
    }

    fn place(&self, path: &str) -> Result<ResultFile> {
        let path: PathBuf = self.output.join(path);
        let parent = path.parent().unwrap_or(self.output);
        files::make_directories(parent).with_context(|| parent.display().to_string())?;
        Ok(ResultFile::claim(&path, true)?)
    }
}

/// Whether a name in the data is that of a page or of a run file of a site.
fn is_page(name: &str) -> bool {
    let Some((directory, file)) = name.split_once('/') else { return false };
    DIRECTORIES.contains(&directory) && !file.contains('/') && !file.starts_with('.')
}

/// The digest of what a page shows of runs.
fn digest<'r>(runs: impl IntoIterator<Item = &'r KnownRun>) -> String {
    let one = |run: &KnownRun| format!("{} {} {}\n", run.address, run.has_report, run.has_comparison);
    sha256(runs.into_iter().map(one).collect::<String>().as_bytes())
}
