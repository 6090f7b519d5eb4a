//! Opens files: run files, and those of other tools.

use std::io::Read;
use std::path::PathBuf;

use pyo3::prelude::*;
use tardy_formats::{FORMATS, Format, ImportOptions, TimeUnit, Unit};
use tardy_record::capture::Edge;
use tardy_record::{Run, file};
use tardy_unpack::Content;

use crate::error::error;
use crate::run::NativeRun;

/// What a caller knows about a file.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Known {
    format: Option<String>,
    unit: Option<String>,
    time_unit: Option<String>,
    command: Option<String>,
    input: Option<String>,
    output: Option<String>,
    edge: Option<String>,
}

impl Known {
    fn options(&self, path: Option<PathBuf>) -> PyResult<ImportOptions> {
        Ok(ImportOptions {
            unit: choice("unit", self.unit.as_deref(), &[("us", Unit::Us), ("ns", Unit::Ns)])?,
            command: self.command.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            edge: choice(
                "edge",
                self.edge.as_deref(),
                &[("rising", Edge::Rising), ("falling", Edge::Falling)],
            )?,
            time_unit: choice("time_unit", self.time_unit.as_deref(), &TIME_UNITS)?,
            path,
        })
    }

    fn format(&self) -> PyResult<Option<&'static Format>> {
        let Some(name) = &self.format else { return Ok(None) };
        let unknown = || error(format!("'{name}' is not a format; tardy.formats() lists them"));
        tardy_formats::detect::by_name(name).map(Some).ok_or_else(unknown)
    }
}

const TIME_UNITS: [(&str, TimeUnit); 5] = [
    ("s", TimeUnit::S),
    ("ms", TimeUnit::Ms),
    ("us", TimeUnit::Us),
    ("ns", TimeUnit::Ns),
    ("ps", TimeUnit::Ps),
];

/// The value that `given` names.
fn choice<T: Copy>(argument: &str, given: Option<&str>, choices: &[(&str, T)]) -> PyResult<Option<T>> {
    let Some(given) = given else { return Ok(None) };
    match choices.iter().find(|(name, _)| *name == given) {
        Some((_, value)) => Ok(Some(*value)),
        None => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            Err(error(format!("{argument}: '{given}' is not one of {}", names.join(", "))))
        }
    }
}

/// Opens the file `path`, a run file or another tool's, as a stream. Other Python threads go on.
#[pyfunction]
pub(crate) fn read_path(py: Python<'_>, path: PathBuf, known: Known) -> PyResult<NativeRun> {
    let name = path.display().to_string();
    let mut opened = std::fs::File::open(&path)?;
    let mut options = known.options(Some(path.clone()))?;
    if options.unit.is_none() {
        options.unit = tardy_formats::unit_beside(&path);
    }
    let format = known.format()?;
    let file_name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    py.detach(|| of_content(Content::open(&mut opened), &name, format, &options))
        .map(|run| NativeRun::of_file(run, &file_name))
        .map_err(|reason| error(format!("{name}: {reason}")))
}

/// Opens `bytes`, the content of the file `name`.
#[pyfunction]
pub(crate) fn read_bytes(py: Python<'_>, bytes: &[u8], name: String, known: Known) -> PyResult<NativeRun> {
    let options = known.options(None)?;
    let format = known.format()?;
    py.detach(|| of_content(Content::open(bytes), &name, format, &options))
        .map(NativeRun::of_bytes)
        .map_err(|reason| error(format!("{name}: {reason}")))
}

/// Every format that can be opened: its name, and a description.
#[pyfunction]
pub(crate) fn formats() -> Vec<(&'static str, &'static str)> {
    FORMATS.iter().map(|format| (format.name, format.about)).collect()
}

/// The beginning of a run file names its version; no other tool's format has that key.
const RUN_FILE_KEY: &[u8] = b"\"schema_version\"";
/// How far into a run file the key is: tardy writes it first.
const RUN_FILE_HEAD: usize = 64;

fn of_content(
    content: Result<Content<'_>, tardy_unpack::ArchiveError>,
    name: &str,
    format: Option<&'static Format>,
    options: &ImportOptions,
) -> Result<Run, String> {
    let mut content = content.map_err(|reason| reason.to_string())?;
    let head = &content.head()[..content.head().len().min(RUN_FILE_HEAD)];
    if format.is_none() && head.windows(RUN_FILE_KEY.len()).any(|window| window == RUN_FILE_KEY) {
        let mut text = Vec::new();
        content.read_to_end(&mut text).map_err(|reason| reason.to_string())?;
        return file::from_text(&text).map_err(|reason| reason.to_string());
    }
    tardy_formats::import(&mut content, name, format, options)
        .map(|imported| imported.run)
        .map_err(|reason| reason.to_string())
}
