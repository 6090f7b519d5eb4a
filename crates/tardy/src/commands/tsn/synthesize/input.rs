//! What is scheduled: a switch file, or TSNKit's tables.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_synthesis::answer::{Answer, Verdict};
use tardy_synthesis::instance::{InputError, Instance, Source};
use tardy_synthesis::read::network::{self, Scheduled};
use tardy_synthesis::read::tsnkit::{self, Tables};
use tardy_synthesis::write;

use super::super::switch_file::{self, SwitchFile, SwitchFileError, text_of};
use crate::args::TsnSynthesizeArgs;

/// The default of `--margin` for a switch file, in ns: a frame fits only if it ends before its gate closes.
const MARGIN_NS: u64 = 1000;

/// The flows and links.
pub(super) enum Input {
    /// From a switch file.
    Switch { file: SwitchFile, scheduled: Scheduled },
    /// From tables: that of the streams, and that of the links.
    Tables { paths: [PathBuf; 2], tables: Tables },
}

impl Input {
    /// Reads the files of the command line.
    pub(super) fn read(arguments: &TsnSynthesizeArgs) -> Result<Self> {
        let margin_ns = arguments.margin.map(|margin| margin.ns());
        match (&arguments.file, arguments.tsnkit.as_deref()) {
            (_, Some([task, topology])) => {
                let texts = (text_of(task)?, text_of(topology)?);
                let tables = tsnkit::read(&texts.0, &texts.1, margin_ns.unwrap_or(0));
                let place = |wrong: &InputError| match wrong.source {
                    Source::Topology => topology,
                    Source::Task | Source::Switch => task,
                };
                let tables =
                    tables.map_err(|wrong| unschedulable(&place(&wrong).display().to_string(), wrong))?;
                Ok(Self::Tables { paths: [task.clone(), topology.clone()], tables })
            }
            (Some(name), _) => {
                let file = switch_file::find(name)?;
                let scheduled = network::read(&file.network, &file.text, margin_ns.unwrap_or(MARGIN_NS))
                    .map_err(|wrong| unschedulable(&file.name, wrong))?;
                Ok(Self::Switch { file, scheduled })
            }
            (None, _) => bail!("name a switch file, or two tables after --tsnkit"),
        }
    }

    /// The file's name, in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Switch { file, .. } => file.name.clone(),
            Self::Tables { paths, .. } => paths[0].display().to_string(),
        }
    }

    /// The flows and links.
    pub(super) fn instance(&self) -> &Instance {
        match self {
            Self::Switch { scheduled, .. } => &scheduled.instance,
            Self::Tables { tables, .. } => &tables.instance,
        }
    }

    /// What is not scheduled, as messages for the user.
    pub(super) fn remarks(&self) -> &[String] {
        match self {
            Self::Switch { scheduled, .. } => &scheduled.remarks,
            Self::Tables { .. } => &[],
        }
    }

    /// Claims the files of `-o`.
    pub(super) fn claim(&self, arguments: &TsnSynthesizeArgs) -> Result<Vec<ResultFile>> {
        let Some(path) = &arguments.output else { return Ok(Vec::new()) };
        let (paths, inputs) = match self {
            Self::Switch { file, .. } => (vec![path.clone()], vec![PathBuf::from(&file.name)]),
            Self::Tables { paths, .. } => {
                let named = |suffix: &&str| {
                    let mut name = path.clone().into_os_string();
                    name.push(suffix);
                    PathBuf::from(name)
                };
                (write::tsnkit::SUFFIXES.iter().map(named).collect(), paths.to_vec())
            }
        };
        let claim = |path: &PathBuf| -> Result<ResultFile> {
            let is_input = |input: &PathBuf| is_same_place(input, Path::new(path));
            if inputs.iter().any(is_input) {
                bail!("{} is read by this command; choose another -o", path.display());
            }
            Ok(ResultFile::claim(path, arguments.force)?)
        };
        paths.iter().map(claim).collect()
    }

    /// The texts of the files of `-o`; none if there is nothing to write.
    pub(super) fn output(&self, answer: &Answer) -> Result<Vec<String>> {
        match (self, &answer.verdict) {
            (_, Verdict::Infeasible(_)) => Ok(Vec::new()),
            (Self::Tables { tables, .. }, _) => {
                Ok(write::tsnkit::texts(tables, &answer.schedule, &answer.ports).to_vec())
            }
            // A switch with gates for some of its flows would drop the others.
            (Self::Switch { .. }, Verdict::Undecided) => Ok(Vec::new()),
            (Self::Switch { file, scheduled }, Verdict::Scheduled) => {
                let text = write::switch_file::text(
                    &file.text,
                    &file.network,
                    scheduled,
                    &answer.schedule,
                    &answer.ports,
                );
                Ok(vec![text.map_err(|reason| anyhow!("{}: {reason}", file.name))?])
            }
        }
    }
}

fn unschedulable(place: &str, wrong: InputError) -> SwitchFileError {
    SwitchFileError::Unschedulable { place: place.to_owned(), wrong }
}
