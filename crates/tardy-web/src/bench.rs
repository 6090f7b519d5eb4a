//! The TSN bench: a switch file, its problems at their lines, its gates, its simulation in both models, and its plan.

use serde_json::{Value, json};
use tardy_analyse::findings;
use tardy_analyse::published::built_in;
use tardy_plot::{Options as PlotOptions, cycle};
use tardy_present::summary;
use tardy_record::units::{format_duration_ns, parse_duration_ns};
use tardy_share::link;
use tardy_tsn::check::{self, Kind, Machine};
use tardy_tsn::file::{self, SIZE_MAX};
use tardy_tsn::generate;
use tardy_tsn::network::Network;
use tardy_tsn::plan::commands::{self, Classifying};
use tardy_tsn::settings;
use tardy_tsn::simulate::recorded::{self, Request};
use tardy_tsn::simulate::wiring::WiringError;
use tardy_tsn::simulate::{Mode, Options, Ports};
use tardy_tsn_report::check as tsn_check;

use crate::gantt;
use crate::reply::Answer;
use crate::session::Session;
use crate::synthesis;

/// The switch files of the repository.
const EXAMPLES: [(&str, &str); 1] = [("tsn-two-flows", include_str!("../../../recipes/tsn-two-flows.toml"))];
/// The generated switch files that are offered as examples, by their seeds.
const SEEDS: [u64; 3] = [1, 2, 3];
const GENERATED: &str = "generated-";
/// The longest time that talkers may send here, in ns: a page is not to hang.
const TALK_NS_MAX: u64 = 10_000_000_000;
/// The width of texts for the page, in characters.
const TEXT_WIDTH: usize = 100;

/// The names of the examples.
pub(crate) fn examples() -> Vec<String> {
    let written = EXAMPLES.iter().map(|(name, _)| (*name).to_owned());
    written.chain(SEEDS.map(|seed| format!("{GENERATED}{seed}"))).collect()
}

/// The example with this name.
pub(crate) fn example(name: &str) -> Result<Value, String> {
    let seed = name.strip_prefix(GENERATED).and_then(|seed| seed.parse().ok());
    let written = EXAMPLES.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    let text = written.or_else(|| seed.map(generate::file));
    text.map(|text| json!({ "text": text })).ok_or_else(|| format!("there is no example '{name}'"))
}

/// The problems of a switch file at their lines: those of the file, or else those that `tardy tsn check --offline` finds. With a
/// file that can be read also its gates, and the names of its switches.
pub(crate) fn check(text: &str, name: &str) -> Value {
    let network = match parsed(text) {
        Ok(network) => network,
        Err(problems) => return json!({ "problems": problems }),
    };
    let machine = Machine { ports: Ports::of_test(&network), ..Machine::default() };
    let findings = check::check(&network, text, &machine);
    let model = check::model(&network, &machine);
    let shown = findings.iter().map(|finding| {
        let (kind, error) = match &finding.kind {
            Kind::Refused { errno, message } => ("refused", Some(format!("{errno}: {message}"))),
            Kind::Unsupported => ("refused", None),
            Kind::Accepted => ("accepted", None),
            Kind::Note => ("note", None),
        };
        json!({
            "line": finding.line, "kind": kind, "what": finding.what, "effect": finding.effect,
            "change": finding.change, "rule": finding.rule, "error": error, "port": finding.port,
        })
    });
    let names: Vec<&str> = network.switches.iter().map(|switch| switch.name.value.as_str()).collect();
    json!({
        "findings": shown.collect::<Vec<_>>(),
        "text": tsn_check::text((name, text), &model, &findings, false),
        "gates": gantt::draw("gates", &network, None),
        "switches": names,
        "flows": network.flows.len(),
    })
}

/// Simulates as Linux's software TAPRIO does, and as the standard says.
pub(crate) fn simulate(session: &mut Session, text: &str, name: &str, talk: &str) -> Result<Answer, String> {
    let network = parsed(text).map_err(|problems| in_lines(&problems))?;
    let talk_ns = parse_duration_ns(talk).map_err(|error| error.to_string())?;
    if talk_ns == 0 || talk_ns > TALK_NS_MAX {
        let most = format_duration_ns(TALK_NS_MAX);
        return Err(format!(
            "'{talk}' is not a time to simulate here; give up to {most}, or use 'tardy tsn simulate'"
        ));
    }
    if network.flows.is_empty() {
        return Err("the file has no [[flow]], so there is nothing to send".to_owned());
    }
    let both = [("linux", Mode::Linux), ("standard", Mode::Standard)]
        .map(|(word, mode)| (word, of_mode(session, &network, text, name, talk_ns, mode)));
    let [linux, standard] = both.map(|(word, result)| match result {
        Ok(value) => (word, value),
        Err(error) => (word, json!({ "error": error })),
    });
    Ok(json!({ linux.0: linux.1, standard.0: standard.1 }).into())
}

fn of_mode(
    session: &mut Session,
    network: &Network,
    text: &str,
    name: &str,
    talk_ns: u64,
    mode: Mode,
) -> Result<Value, String> {
    let ports = Ports::of_test(network);
    if mode == Mode::Linux {
        refuse_what_the_kernel_refuses(network, text, ports)?;
    }
    let options = Options { mode, ports, ..Options::default() };
    let request = Request {
        network,
        options: &options,
        talk_ns,
        phases: &[true, false],
        file: (name, text),
        command: &["tardy", "tsn", "simulate", name].map(str::to_owned),
        version: env!("CARGO_PKG_VERSION"),
    };
    let simulated = recorded::simulate(&request, &mut ())
        .map_err(|error: WiringError| format!("line {}: {error}", error.span.line(text)))?;
    let options = findings::Options { published: built_in(), ..findings::Options::default() };
    let found = findings::of(&simulated.run, &options);
    let plot = PlotOptions { standalone: false, ..PlotOptions::default() };
    let word = if mode == Mode::Linux { "linux" } else { "standard" };
    let drawn = cycle::draw(&format!("cycle-{word}"), &simulated.run, &found.flows, &plot);
    let gates = gantt::draw(&format!("gates-{word}"), network, Some(&simulated.run));
    let summary = summary::text(&simulated.run, &found, TEXT_WIDTH, false);
    let kept = session.keep(simulated.run, &format!("{name}, {word}"), "simulation");
    Ok(json!({ "run": kept, "summary": summary, "plot": drawn, "gates": gates }))
}

fn refuse_what_the_kernel_refuses(network: &Network, text: &str, ports: Ports) -> Result<(), String> {
    let machine = Machine { ports, ..Machine::default() };
    let findings = check::check(network, text, &machine);
    match findings.iter().find(|finding| matches!(finding.kind, Kind::Refused { .. })) {
        Some(finding) => {
            Err(format!("line {}: the kernel would refuse this: {}", finding.line, finding.what))
        }
        None => Ok(()),
    }
}

/// A schedule for the flows of the file.
pub(crate) fn synthesize(text: &str) -> Result<Value, String> {
    synthesis::of(&parsed(text).map_err(|problems| in_lines(&problems))?, text)
}

/// The commands that configure one switch of the file.
pub(crate) fn plan(text: &str, switch: &str) -> Result<Value, String> {
    let network = parsed(text).map_err(|problems| in_lines(&problems))?;
    let chosen = network.switches.iter().find(|one| switch.is_empty() || one.name.value == switch);
    let chosen = chosen.ok_or_else(|| format!("the file has no switch '{switch}'"))?;
    let script = commands::script(&settings::of(chosen), Classifying::default(), &[])?;
    Ok(json!({ "text": script }))
}

/// The link to the file.
pub(crate) fn share(text: &str, base: &str) -> Result<Value, String> {
    refuse_long(text)?;
    Ok(json!({ "link": link::of_switch(text, base) }))
}

/// The file of a link.
pub(crate) fn open(text: &str) -> Result<Value, String> {
    link::switch(text).map(|text| json!({ "text": text })).map_err(|error| error.to_string())
}

fn refuse_long(text: &str) -> Result<(), String> {
    match text.len() as u64 > SIZE_MAX {
        true => Err(format!("longer than {} MiB, too long for a switch file", SIZE_MAX >> 20)),
        false => Ok(()),
    }
}

/// The network of a file, or its problems with their lines.
fn parsed(text: &str) -> Result<Network, Vec<Value>> {
    refuse_long(text).map_err(|reason| vec![json!({ "line": 1, "what": reason })])?;
    file::parse(text).map_err(|error| {
        let problem =
            |one: &file::Problem| json!({ "line": one.line, "also": one.also_on, "what": one.what });
        error.problems.iter().map(problem).collect()
    })
}

fn in_lines(problems: &[Value]) -> String {
    let line = |one: &Value| format!("line {}: {}", one["line"], one["what"].as_str().unwrap_or_default());
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}
