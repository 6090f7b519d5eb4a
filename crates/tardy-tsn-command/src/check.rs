//! `tardy tsn check`: what the kernel would refuse, and what it would accept and handle wrongly.

use anyhow::Result;
use serde::Serialize;
use tardy_tsn::check::{self, Finding, Kind, Machine};
use tardy_tsn_report::check as shown;

use super::{machine, simulate, switch_file};
use crate::switch_file::SwitchFile;
use tardy_args::TsnCheckArgs;
use tardy_command::{Exit, output};

#[derive(Serialize)]
struct Answer<'a> {
    file: &'a str,
    /// The model of the ports.
    model: &'a str,
    findings: &'a [Finding],
}

/// Checks a file, against this machine's interfaces unless `--offline` is given.
pub(crate) fn run(arguments: &TsnCheckArgs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    let machine = if arguments.offline { Machine::default() } else { machine::read(&file.network) };
    let machine = Machine { ports: simulate::ports(arguments.ports, &file.network), ..machine };
    let model = check::model(&file.network, &machine);
    let findings = check::check(&file.network, &file.text, &machine);
    print_findings(&file, &model, &findings, arguments.json)?;
    let fails = |finding: &Finding| match finding.kind {
        Kind::Refused { .. } | Kind::Unsupported => true,
        Kind::Accepted => arguments.strict,
        Kind::Note => false,
    };
    Ok(if findings.iter().any(fails) { Exit::Failed } else { Exit::Done })
}

/// Prints what was found in a file, as text or as JSON.
pub(crate) fn print_findings(file: &SwitchFile, model: &str, findings: &[Finding], json: bool) -> Result<()> {
    if json {
        output::print_json(&Answer { file: &file.name, model, findings })
    } else {
        output::print(&shown::text((&file.name, &file.text), model, findings, output::colour()))
    }
}
