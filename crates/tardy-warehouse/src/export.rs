//! An archive as Parquet files, one directory a table and a day, as DuckDB, Spark and ClickHouse read them:
//! `histograms/day=2026-11-26/part-00000.parquet`. Only the days whose runs changed are written again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tardy_archive::{Address, ArchiveError, Candidate, Query, Store, Stored, sha256};
use tardy_sys::files::{self, Directory, Existing};
use thiserror::Error;

use crate::parquet_file;
use crate::rows::{self, Row};
use crate::tables::{self, Table};

/// The file by which an export is recognised and continued.
const DATA: &str = "tardy-export.json";
/// The version of the tables and of their rows. Another one writes every day again.
const VERSION: u32 = 1;
/// Runs of one part: what is in memory at a time.
const RUNS_OF_A_PART: usize = 1024;
/// What Hive, and those who read its directories, call a value that is not known.
const NO_DAY: &str = "__HIVE_DEFAULT_PARTITION__";
/// The mode of files, which the umask reduces.
const MODE: u32 = 0o666;

/// Why an archive is not exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The directory has other files.
    #[error("{0} has files, and is not an export of an archive; choose a new directory")]
    OtherFiles(PathBuf),
    /// A file of the export cannot be written or read.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// The rows of a run do not fit into the tables.
    #[error("writing Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}

/// What was exported.
#[derive(Debug, Default, Serialize)]
pub struct Exported {
    /// Runs of the export.
    pub runs: usize,
    /// Days of the export.
    pub days: usize,
    /// Days that were written; the others had not changed.
    pub days_written: usize,
    /// Days that were removed, since the archive has no run of them.
    pub days_removed: usize,
    /// Why other runs are not in it.
    pub unreadable: Vec<String>,
}

/// The content of [`DATA`].
#[derive(Default, Serialize, Deserialize)]
struct Data {
    /// The version of the rows.
    tardy_export: u32,
    /// By day.
    days: BTreeMap<String, Day>,
}

/// A day that is written.
#[derive(Clone, Serialize, Deserialize)]
struct Day {
    /// The digest of the addresses of its runs.
    digest: String,
    /// The number of parts of each table.
    parts: usize,
}

/// Writes `store` as Parquet files into `directory`, which is new, empty, or an earlier export.
///
/// # Errors
/// If the store cannot be searched, or a file cannot be written. What was written before is an export of some days.
pub fn export(store: &dyn Store, directory: &Path) -> Result<Exported, ExportError> {
    let before = read(directory)?;
    let mut days: BTreeMap<String, Vec<Address>> = BTreeMap::new();
    for (address, entry) in store.find(&Query::default())? {
        days.entry(entry.day().unwrap_or(NO_DAY).to_owned()).or_default().push(address);
    }
    let mut exported = Exported { days: days.len(), ..Exported::default() };
    let mut data = Data { tardy_export: VERSION, days: before.days };
    write_data(directory, &data)?;
    for (day, addresses) in &days {
        exported.runs += addresses.len();
        let digest = digest(addresses);
        if data.days.get(day).is_some_and(|known| known.digest == digest && is_whole(directory, day, known)) {
            continue;
        }
        // Until it is whole, the next export writes this day again.
        if let Some(known) = data.days.remove(day) {
            write_data(directory, &data)?;
            remove(directory, day, known.parts)?;
        }
        let unreadable = exported.unreadable.len();
        write_day(store, directory, day, addresses, &mut exported.unreadable)?;
        let parts = addresses.len().div_ceil(RUNS_OF_A_PART);
        // A run that cannot be read today may be restored tomorrow.
        let digest = if exported.unreadable.len() == unreadable { digest } else { String::new() };
        data.days.insert(day.clone(), Day { digest, parts });
        exported.days_written += 1;
        write_data(directory, &data)?;
    }
    let gone: Vec<String> = data.days.keys().filter(|day| !days.contains_key(*day)).cloned().collect();
    for day in gone {
        if let Some(known) = data.days.remove(&day) {
            write_data(directory, &data)?;
            remove(directory, &day, known.parts)?;
            exported.days_removed += 1;
        }
    }
    write_data(directory, &data)?;
    Ok(exported)
}

fn write_day(
    store: &dyn Store,
    directory: &Path,
    day: &str,
    addresses: &[Address],
    unreadable: &mut Vec<String>,
) -> Result<(), ExportError> {
    let mut configs = BTreeSet::new();
    for (part, addresses) in addresses.chunks(RUNS_OF_A_PART).enumerate() {
        let mut all: [(&Table, Vec<Row>); 5] = tables::ALL.map(|table| (table, Vec::new()));
        for address in addresses {
            let opened =
                store.get(address).and_then(|Stored { name, content }| Candidate::of(&name, &content));
            let Candidate { address, run, outcome } = match opened {
                Ok(candidate) => candidate,
                Err(error @ ArchiveError::Service { .. }) => return Err(error.into()),
                Err(error) => {
                    unreadable.push(error.to_string());
                    continue;
                }
            };
            let options =
                outcome.config.as_ref().filter(|config| configs.insert(tardy_archive::config_digest(config)));
            let rows = [
                options.map(rows::options).unwrap_or_default(),
                rows::facts(&address, &run),
                rows::histograms(&address, &run),
                rows::series(&address, &run),
                vec![rows::run(&address, &run, &outcome)],
            ];
            all.iter_mut().zip(rows).for_each(|((_, all), rows)| all.extend(rows));
        }
        for (table, rows) in &all {
            write(&part_of(directory, table, day, part), &parquet_file::of(table, rows)?)?;
        }
    }
    Ok(())
}

fn part_of(directory: &Path, table: &Table, day: &str, part: usize) -> PathBuf {
    directory.join(table.name).join(format!("day={day}")).join(format!("part-{part:05}.parquet"))
}

fn parts<'a>(directory: &'a Path, day: &'a str, parts: usize) -> impl Iterator<Item = PathBuf> + 'a {
    (0..parts).flat_map(move |part| tables::ALL.map(|table| part_of(directory, table, day, part)))
}

fn is_whole(directory: &Path, day: &str, known: &Day) -> bool {
    parts(directory, day, known.parts).all(|file| file.is_file())
}

/// Removes the files of a day.
fn remove(directory: &Path, day: &str, count: usize) -> Result<(), ExportError> {
    // The day comes from a file.
    if day != NO_DAY && day.parse::<tardy_archive::Day>().is_err() {
        return Ok(());
    }
    for file in parts(directory, day, count) {
        match files::remove_own(&file) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(ExportError::Io { path: file, source });
            }
            _ => {}
        }
    }
    Ok(())
}

fn digest(addresses: &[Address]) -> String {
    let lines: String = addresses.iter().map(|address| format!("{address}\n")).collect();
    sha256(lines.as_bytes())
}

/// What an earlier export wrote; nothing of one of another version.
fn read(directory: &Path) -> Result<Data, ExportError> {
    let path = directory.join(DATA);
    let io = |source| ExportError::Io { path: path.clone(), source };
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let has_files = std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some());
            return match has_files {
                true => Err(ExportError::OtherFiles(directory.to_owned())),
                false => Ok(Data::default()),
            };
        }
        Err(error) => return Err(io(error)),
    };
    let mut data: Data = serde_json::from_slice(&text).map_err(|error| io(error.into()))?;
    if data.tardy_export != VERSION {
        data.days.values_mut().for_each(|day| day.digest.clear());
    }
    Ok(data)
}

fn write_data(directory: &Path, data: &Data) -> Result<(), ExportError> {
    let text = serde_json::to_string_pretty(data).expect("texts and numbers can be written") + "\n";
    write(&directory.join(DATA), text.as_bytes())
}

fn write(path: &Path, content: &[u8]) -> Result<(), ExportError> {
    use std::io::Write;
    let io = |source| ExportError::Io { path: path.to_owned(), source };
    let (parent, name) = files::split(path).map_err(io)?;
    files::make_directories(&parent).map_err(io)?;
    let directory = Directory::named(&parent).map_err(io)?;
    directory.replace(name, MODE, Existing::Replaced, |file| file.write_all(content)).map(drop).map_err(io)
}
