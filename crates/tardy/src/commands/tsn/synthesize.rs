//! `tardy tsn synthesize`: when each flow is sent, and the gates for it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_present::synthesis;
use tardy_synthesis::answer::{self, Verdict};
use tardy_synthesis::files::Files;
use tardy_synthesis::instance::{InputError, Source};
use tardy_synthesis::read::tsnkit;
use tardy_synthesis::solver::Options;
use tardy_synthesis::summary::Summary;

use super::switch_file::{self, SwitchFileError, text_of};
use crate::commands::output;
use crate::exit::Exit;
use tardy_args::TsnSynthesizeArgs;

/// The default of `--margin` for a switch file, in ns: a frame fits only if it ends before its gate closes.
const MARGIN_NS: u64 = 1000;

/// Schedules the flows, prints the result and writes the requested files.
pub(super) fn run(arguments: &TsnSynthesizeArgs) -> Result<Exit> {
    let (input, names) = read(arguments)?;
    let files = claim(&input, &names, arguments)?;
    let instance = input.instance();
    if instance.flows.is_empty() {
        bail!("{} has no flow to schedule: add a flow with a period", names[0]);
    }
    let begun = Instant::now();
    let options = Options {
        effort: arguments.effort,
        seed: arguments.seed,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        is_over: &|| {
            arguments.time_limit.is_some_and(|limit| begun.elapsed().as_nanos() >= u128::from(limit.ns()))
        },
    };
    let answer = answer::find(instance, &options, arguments.max_entries)
        .map_err(|mistake| anyhow!(mistake.describe(instance)))?;
    input.remarks().iter().for_each(|remark| output::report(remark));
    print(&Summary::of(instance, &answer, &options, begun.elapsed()), arguments)?;
    let texts = input.texts(&answer).map_err(|reason| anyhow!("{}: {reason}", names[0]))?;
    for (file, text) in files.iter().zip(texts) {
        file.write(text.as_bytes())?;
        output::report(&format!("wrote {}", file.path().display()));
    }
    Ok(match answer.verdict {
        Verdict::Scheduled => Exit::Done,
        Verdict::Infeasible(_) => Exit::Failed,
        Verdict::Undecided => Exit::Inconclusive,
    })
}

fn print(summary: &Summary, arguments: &TsnSynthesizeArgs) -> Result<()> {
    match (arguments.json, arguments.csv) {
        (true, _) => output::print_json(summary),
        (_, true) => output::print_content(&summary.csv()),
        (false, false) => output::print(&synthesis::of(summary, output::width())),
    }
}

/// Reads the files of the command line. Returns their names too.
fn read(arguments: &TsnSynthesizeArgs) -> Result<(Files, Vec<String>)> {
    let unschedulable =
        |place: &str, wrong| SwitchFileError::Unschedulable { place: place.to_owned(), wrong };
    let margin_ns = arguments.margin.map(|margin| margin.ns());
    if let Some([task, topology]) = arguments.tsnkit.as_deref() {
        let names = [task, topology].map(|path| path.display().to_string());
        let place = |wrong: &InputError| &names[usize::from(wrong.source == Source::Topology)];
        let tables = tsnkit::read(&text_of(task)?, &text_of(topology)?, margin_ns.unwrap_or(0));
        let tables = tables.map_err(|wrong| unschedulable(place(&wrong), wrong))?;
        return Ok((Files::Tables(tables), names.to_vec()));
    }
    let file = switch_file::find(arguments.file.as_deref().unwrap_or_default())?;
    let input = Files::of_switch(&file.network, &file.text, margin_ns.unwrap_or(MARGIN_NS));
    Ok((input.map_err(|wrong| unschedulable(&file.name, wrong))?, vec![file.name]))
}

/// Claims the files of `-o`, which must not be those that are read.
fn claim(input: &Files, names: &[String], arguments: &TsnSynthesizeArgs) -> Result<Vec<ResultFile>> {
    let Some(path) = &arguments.output else { return Ok(Vec::new()) };
    let claim = |suffix: &&str| -> Result<ResultFile> {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        let path = PathBuf::from(name);
        if names.iter().any(|input| is_same_place(Path::new(input), &path)) {
            bail!("{} is read by this command; choose another -o", path.display());
        }
        Ok(ResultFile::claim(&path, arguments.force)?)
    };
    input.suffixes().iter().map(claim).collect()
}
