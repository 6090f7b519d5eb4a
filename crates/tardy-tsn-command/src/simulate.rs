//! `tardy tsn simulate`: simulates a switch and records a run like that of `tardy tsn test`.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_recipe::{UsageError, wrong};
use tardy_record::units::format_duration_ns;
use tardy_tsn::check;
use tardy_tsn::network::Network;
use tardy_tsn::simulate::of_network::wire;
use tardy_tsn::simulate::recorded::{self, Request};
use tardy_tsn::simulate::wiring::WiringError;
use tardy_tsn::simulate::{Mode, Options, Ports};

use super::frames::{Frames, List};
use super::machine;
use crate::switch_file::{self, SwitchFile};
use tardy_args::{SimulatedGates, SimulatedPorts, TsnSimulateArgs};
use tardy_command::{Exit, output, show_run};

/// Longest simulated time of a phase: 30 days.
const DURATION_MAX_NS: u64 = 30 * 86_400 * 1_000_000_000;

/// Refuses a file that the kernel would refuse, because there is no behaviour to simulate then.
fn check_that_the_kernel_accepts(file: &SwitchFile, ports: Ports) -> Result<()> {
    let machine = check::Machine { ports, ..check::Machine::default() };
    let findings = check::check(&file.network, &file.text, &machine);
    let refused = |finding: &&check::Finding| matches!(finding.kind, check::Kind::Refused { .. });
    match findings.iter().find(refused) {
        Some(finding) => bail!(
            "{}:{}: the kernel would refuse this: {}; 'tardy tsn check' explains it, and --mode standard ignores it",
            file.name,
            finding.line,
            finding.what
        ),
        None => Ok(()),
    }
}

/// Warns of schedules that are not in force yet by this machine's clocks. The simulation starts with them, so its result does not
/// depend on these.
fn warn_of_later_schedules(file: &SwitchFile) {
    let machine = check::Machine { now_ns: machine::clocks(), ..check::Machine::default() };
    let findings = check::check(&file.network, &file.text, &machine);
    for finding in findings.iter().filter(|finding| finding.rule == check::BASE_TIME_AHEAD) {
        output::report(&format!("{}:{}: {}: {}", file.name, finding.line, finding.what, finding.effect));
    }
}

/// Simulates the switch, shows the result and writes the requested files.
pub(crate) fn run(arguments: &TsnSimulateArgs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    let options = options(arguments, &file.network)?;
    let talk_ns = limited("for", arguments.duration.ns())?;
    if file.network.flows.is_empty() {
        bail!("{} has no [[flow]], so there is nothing to send; see docs/tsn.md", file.name);
    }
    let wrong_file = |error: WiringError| anyhow!("{}:{}: {error}", file.name, error.span.line(&file.text));
    if options.mode == Mode::Linux && !arguments.without_shaper {
        check_that_the_kernel_accepts(&file, options.ports)?;
    }
    // The wiring is checked before any file is claimed, so that a failure leaves no files.
    wire(&file.network, &options, !arguments.without_shaper).map_err(wrong_file)?;
    let run_file = arguments.output.as_deref().map(|path| claim(path, arguments)).transpose()?;
    let mut frames = arguments
        .frames
        .as_deref()
        .map(|path| {
            Frames::to(path, arguments.force, (&arguments.switch.file, &file.network), List::Simulated)
        })
        .transpose()?;
    let phases: &[bool] = match (arguments.with_shaper, arguments.without_shaper) {
        (true, _) => &[true],
        (_, true) => &[false],
        _ => &[true, false],
    };
    warn_of_later_schedules(&file);
    let request = Request {
        network: &file.network,
        options: &options,
        talk_ns,
        phases,
        file: (&file.name, &file.text),
        command: &["tardy".to_owned(), "tsn".to_owned(), "simulate".to_owned(), file.name.clone()],
        version: env!("CARGO_PKG_VERSION"),
    };
    let simulated = match &mut frames {
        Some(frames) => recorded::simulate(&request, frames),
        None => recorded::simulate(&request, &mut ()),
    };
    let simulated = simulated.map_err(wrong_file)?;
    let run = output::redacted(simulated.run, arguments.redaction)?;
    show_run(&run, arguments.json)?;
    if let Some(run_file) = run_file {
        run_file.write(tardy_record::file::to_text(&run).as_bytes())?;
        output::report(&format!("run file {}", run_file.path().display()));
    }
    frames.map_or(Ok(()), Frames::finish)?;
    Ok(Exit::of_verdict(&run))
}

fn claim(path: &Path, arguments: &TsnSimulateArgs) -> Result<ResultFile> {
    let file = Path::new(&arguments.switch.file);
    if is_same_place(file, path)
        || arguments.frames.as_ref().is_some_and(|frames| is_same_place(frames, path))
    {
        bail!("{} is also the switch file or the list of frames; choose another -o", path.display());
    }
    Ok(ResultFile::claim(path, arguments.force)?)
}

/// Checks that a time is short enough to be simulated.
pub(crate) fn limited(key: &'static str, ns: u64) -> Result<u64, UsageError> {
    if ns > DURATION_MAX_NS {
        let reason = format!("{} is longer than 30 days, the longest simulated time", format_duration_ns(ns));
        return Err(wrong(key, reason));
    }
    Ok(ns)
}

/// The ports of `--ports`, by default those that a test of the file would use.
pub(crate) fn ports(chosen: Option<SimulatedPorts>, network: &Network) -> Ports {
    match chosen {
        Some(SimulatedPorts::Hardware) => Ports::Hardware,
        Some(SimulatedPorts::Virtual) => Ports::Virtual,
        None => Ports::of_test(network),
    }
}

/// The gates of `--mode`.
pub(crate) fn mode(chosen: SimulatedGates) -> Mode {
    match chosen {
        SimulatedGates::Standard => Mode::Standard,
        SimulatedGates::Linux => Mode::Linux,
    }
}

fn options(arguments: &TsnSimulateArgs, network: &Network) -> Result<Options, UsageError> {
    Ok(Options {
        mode: mode(arguments.mode),
        ports: ports(arguments.ports, network),
        ring_frames: arguments.real.ring,
        gate_latency_ns: limited("gate-latency", arguments.real.gate_latency.ns())?,
        frame_cost_ns: limited("frame-cost", arguments.real.frame_cost.ns())?,
        talker_jitter_ns: limited("talker-jitter", arguments.real.talker_jitter.ns())?,
        lead_ns: limited("lead", arguments.early.lead.ns())?,
        gate_timer_ns: Vec::new(),
        installed_ns: None,
        replaced_after_ns: arguments
            .early
            .replace_after
            .map(|after| limited("replace-after", after.ns()))
            .transpose()?,
        queue_frames: arguments.real.queue,
        seed: arguments.seed,
    })
}
