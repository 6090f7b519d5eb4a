//! `tardy tsn synthesize`: when each flow is sent, and the gates for it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_record::Run;
use tardy_synthesis::answer::{self, Answer, Verdict};
use tardy_synthesis::files::Files;
use tardy_synthesis::instance::{InputError, Source};
use tardy_synthesis::keep::KeepError;
use tardy_synthesis::lateness::Lateness;
use tardy_synthesis::read::network::Scheduled;
use tardy_synthesis::read::tsnkit;
use tardy_synthesis::solver::Options;
use tardy_synthesis::summary::{KeptFlows, Summary};
use tardy_synthesis::verify::{self, Verified};
use tardy_tsn::file;
use tardy_tsn::network::Network;
use tardy_tsn::simulate;
use tardy_tsn::simulate::recorded::{self, Request};
use tardy_tsn::simulate::wiring::WiringError;
use tardy_tsn_report::synthesis::{self, Evidence};

use super::simulate as simulating;
use crate::switch_file::{self, SwitchFileError, text_of};
use tardy_args::TsnSynthesizeArgs;
use tardy_command::{Exit, output};

/// The default of `--margin` for a switch file, in ns: a frame fits only if it ends before its gate closes.
const MARGIN_NS: u64 = 1000;

/// The most flows whose bounds are computed: the time grows with the square of their number.
const VERIFIED_MAX: usize = 500;

/// Schedules the flows, prints the result and writes the requested files.
pub(crate) fn run(arguments: &TsnSynthesizeArgs) -> Result<Exit> {
    let (mut input, names) = read(arguments)?;
    input.leave_for_best_effort((arguments.best_effort * 1e6).round() as u32);
    let files = claim(&input, &names, arguments)?;
    let page = arguments.html.as_deref().map(|path| claim_one(path, &names, arguments.force)).transpose()?;
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
    let answer = answer::find_keeping(instance, input.kept(), &options, arguments.max_entries)
        .map_err(|mistake| anyhow!(mistake.describe(instance)))?;
    input.remarks().iter().for_each(|remark| output::report(remark));
    let mut summary = Summary::of(instance, &answer, &options, begun.elapsed());
    let texts = input.texts(&answer).map_err(|reason| anyhow!("{}: {reason}", names[0]))?;
    let written = Written::of(&input, &texts).map_err(|reason| anyhow!("{}: {reason}", names[0]))?;
    summary.verified = match &written {
        Some(written) if written.network.flows.len() <= VERIFIED_MAX => {
            Some(written.verify(&answer, arguments)?)
        }
        Some(written) => {
            let flows = written.network.flows.len();
            output::report(&format!(
                "bounds of {flows} flows may take minutes and are not computed; run 'tardy tsn bounds' with the file of -o"
            ));
            None
        }
        None => None,
    };
    summary.kept = input.kept().map(|kept| {
        let ports = written.as_ref().map(|written| kept.replacements(&written.network, written.scheduled));
        KeptFlows::of(kept, ports.unwrap_or_default())
    });
    print(&summary, arguments)?;
    for (file, text) in files.iter().zip(&texts) {
        file.write(text.as_bytes())?;
        output::report(&format!("wrote {}", file.path().display()));
    }
    if let Some(page) = page {
        let evidence = Evidence {
            file: &names[0],
            version: env!("CARGO_PKG_VERSION"),
            run: written.as_ref().map(|written| written.simulate(&names[0], arguments)).transpose()?,
        };
        page.write(synthesis::html(instance, &answer, &summary, &evidence).as_bytes())?;
        output::report(&format!("wrote {}", page.path().display()));
    }
    Ok(match answer.verdict {
        Verdict::Scheduled => Exit::Done,
        Verdict::Infeasible(_) | Verdict::Starved(_) => Exit::Failed,
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

/// The switch file with the schedule.
struct Written<'a> {
    text: &'a str,
    network: Network,
    scheduled: &'a Scheduled,
}

impl<'a> Written<'a> {
    /// The switch file in `texts`; `None` if there is none.
    fn of(input: &'a Files, texts: &'a [String]) -> Result<Option<Self>, String> {
        let Some((text, scheduled)) = texts.first().zip(input.scheduled()) else { return Ok(None) };
        let network = file::parse(text).map_err(|error| error.to_string())?;
        Ok(Some(Self { text, network, scheduled }))
    }

    fn options(&self, arguments: &TsnSynthesizeArgs) -> simulate::Options {
        simulate::Options {
            mode: simulating::mode(arguments.mode),
            ports: simulating::ports(Some(arguments.ports), &self.network),
            ..simulate::Options::default()
        }
    }

    fn verify(&self, answer: &Answer, arguments: &TsnSynthesizeArgs) -> Result<Verified> {
        let options = tardy_bounds::Options::of(self.options(arguments));
        verify::of(&self.network, self.scheduled, &answer.schedule, &options)
            .map_err(|error| self.mistake(&error))
    }

    /// A simulation of the file, as a run.
    fn simulate(&self, name: &str, arguments: &TsnSynthesizeArgs) -> Result<Run> {
        let request = Request {
            network: &self.network,
            options: &self.options(arguments),
            talk_ns: verify::talk_ns(&self.scheduled.instance),
            phases: &[true],
            file: (name, self.text),
            command: &["tardy", "tsn", "synthesize", name].map(str::to_owned),
            version: env!("CARGO_PKG_VERSION"),
        };
        let simulated = recorded::simulate(&request, &mut ()).map_err(|error| self.mistake(&error))?;
        Ok(simulated.run)
    }

    /// The simulator refuses the file.
    fn mistake(&self, error: &WiringError) -> anyhow::Error {
        anyhow!("line {} of the file with the schedule: {error}", error.span.line(self.text))
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
    let new = switch_file::find(arguments.file.as_deref().unwrap_or_default())?;
    let lateness = lateness(arguments, margin_ns.unwrap_or(MARGIN_NS))?;
    let input = Files::of_switch(&new.network, &new.text, lateness);
    let mut input = input.map_err(|wrong| unschedulable(&new.name, wrong))?;
    let Some(name) = &arguments.keep else { return Ok((input, vec![new.name])) };
    let old = switch_file::find(name)?;
    input.keep(&old.network, &old.text).map_err(|error| match error {
        KeepError::Old(wrong) => unschedulable(&old.name, wrong),
        KeepError::OtherNetwork(differences) => {
            SwitchFileError::OtherNetwork { old: old.name.clone(), new: new.name.clone(), differences }
        }
    })?;
    Ok((input, vec![new.name, old.name]))
}

/// What windows are widened to.
fn lateness(arguments: &TsnSynthesizeArgs, margin_ns: u64) -> Result<Lateness> {
    let Some(path) = &arguments.intervals else { return Ok(Lateness::of_margin(margin_ns)) };
    let wrong = |what: String| anyhow!("{}: {what}", path.display());
    let measured = file::parse_intervals(&text_of(path)?).map_err(|error| wrong(error.to_string()))?;
    let lateness = Lateness::of_measured(margin_ns, &measured).map_err(wrong)?;
    if let Some(intervals) = lateness.intervals {
        output::report(&format!("windows are widened to: {intervals}"));
    }
    Ok(lateness)
}

/// Claims the files of `-o`, which must not be those that are read.
fn claim(input: &Files, names: &[String], arguments: &TsnSynthesizeArgs) -> Result<Vec<ResultFile>> {
    let Some(path) = &arguments.output else { return Ok(Vec::new()) };
    let claim = |suffix: &&str| {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        claim_one(&PathBuf::from(name), names, arguments.force)
    };
    input.suffixes().iter().map(claim).collect()
}

fn claim_one(path: &Path, names: &[String], force: bool) -> Result<ResultFile> {
    if names.iter().any(|input| is_same_place(Path::new(input), path)) {
        bail!("{} is read by this command; choose another file to write", path.display());
    }
    Ok(ResultFile::claim(path, force)?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use tardy_record::units::parse_share;
    use tardy_synthesis::instance::BEST_EFFORT_PPM;

    /// The page in the browser takes the default from the crate.
    #[test]
    fn the_default_for_best_effort_is_that_of_the_page() {
        let mut cli = tardy_args::Cli::command();
        let tsn = cli.find_subcommand_mut("tsn").unwrap();
        let synthesize = tsn.find_subcommand_mut("synthesize").unwrap();
        let option = synthesize.get_arguments().find(|option| option.get_id() == "best_effort").unwrap();
        let default = option.get_default_values()[0].to_str().unwrap();
        assert_eq!(parse_share(default).map(|share| (share * 1e6) as u32), Some(BEST_EFFORT_PPM));
    }
}
