//! `tardy tsn apply`: makes this machine the switch of a file.

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use tardy_host::journal::Place;
use tardy_record::units::format_duration_ns;
use tardy_switch::{
    self, Applied, Leak, OpenVSwitch, Request,
    saved_states::{SavedStates, up},
};
use tardy_tsn::check::{self, Finding, Kind};
use tardy_tsn::settings;

use super::check::print_findings;
use super::machine;
use super::one_switch::{self, End};
use crate::switch_file::SwitchFile;
use tardy_args::TsnApplyArgs;
use tardy_command::{Exit, output};

/// The result as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    switch: &'a str,
    #[serde(flatten)]
    applied: &'a Applied,
    /// What the kernel accepted and gets wrong.
    wrong: &'a [Finding],
    /// What was restored at the end of `--for`; `None` if the switch stays active.
    restored: Option<Vec<String>>,
}

/// Checks the file and configures the switch; with `--for` also removes it.
pub(crate) fn run(arguments: &TsnApplyArgs) -> Result<Exit> {
    let (file, index) = one_switch::find(&arguments.one)?;
    let request = Request {
        settings: settings::of(&file.network.switches[index]),
        file: file.text.clone(),
        replace: arguments.replace,
        unchecked: arguments.unchecked,
        even_own_connection: arguments.even_my_own_connection,
        shaped: true,
        open_vswitch: OpenVSwitch::System,
    };
    let end = arguments.duration.map(|duration| End::after(Some(duration))).transpose()?;
    let (saved_states, name) = (SavedStates::own(), &request.settings.bridge.name);
    if end.is_some() && up(&saved_states, name).map_err(|reason| anyhow!(reason))?.is_some() {
        bail!(
            "the switch {name} is already active, and --for would remove it; run 'tardy tsn remove {name}' first"
        );
    }
    let (model, mut findings) = findings(&file);
    let is_refused = findings.iter().any(|finding| finding.kind.is_refusal());
    if is_refused && !arguments.unchecked {
        findings.retain(|finding| finding.kind.is_refusal());
        output::report(&format!("{} is refused; nothing was changed", arguments.one.switch.file));
        print_findings(&file, &model, &findings, arguments.json)?;
        return Ok(Exit::Failed);
    }
    findings.retain(|finding| finding.kind == Kind::Accepted && finding.switch == *name);
    findings.iter().for_each(|finding| output::report(&wrong(&file, finding)));
    let (applied, changes) =
        tardy_switch::apply(Some(Place::own()), &saved_states, &request).map_err(|reason| anyhow!(reason))?;
    report(name, &applied);
    let restored = match end {
        Some(end) => {
            while !end.wait(&[])? {}
            changes.keep();
            Some(remove_switch(&saved_states, name)?)
        }
        None => {
            changes.keep();
            output::report(&format!("{name} is active until 'tardy tsn remove {name}'"));
            None
        }
    };
    if arguments.json {
        output::print_json(&Answer { switch: name, applied: &applied, wrong: &findings, restored })?;
    }
    Ok(Exit::Done)
}

/// What `tardy tsn check` finds in the file, before anything is changed, and the model that it follows.
fn findings(file: &SwitchFile) -> (String, Vec<Finding>) {
    let mut machine = machine::read(&file.network);
    // `apply` itself decides whether an existing shaper may be replaced.
    machine.devices.values_mut().for_each(|device| device.running = None);
    (check::model(&file.network, &machine), check::check(&file.network, &file.text, &machine))
}

/// A message about what the kernel accepts and gets wrong.
fn wrong(file: &SwitchFile, finding: &Finding) -> String {
    let Finding { rule, what, effect, change, line, .. } = finding;
    format!("WRONG {}:{line}: {what} [{rule}]. {effect} {change}", file.name)
}

fn report(name: &str, applied: &Applied) {
    if applied.changed.is_empty() {
        output::report(&format!("{name} is already configured as in the file; nothing was changed"));
    }
    for line in applied.changed.iter().chain(&applied.remarks) {
        output::report(line);
    }
    for Leak { port, bound_ns, classes } in &applied.leaks {
        output::report(&match classes {
            0 => format!("{port}: replaced while every gate was open; nothing leaked"),
            classes => format!(
                "{port}: gates of classes {classes:#b} were open for at most {} while it was replaced",
                format_duration_ns(*bound_ns)
            ),
        });
    }
}

/// Removes a switch, and reports and returns what was restored.
pub(crate) fn remove_switch(saved_states: &SavedStates, name: &str) -> Result<Vec<String>> {
    let undone = tardy_switch::remove(saved_states, name).map_err(|reason| {
        anyhow!("could not restore everything:\n{reason}\nrun 'tardy tsn remove {name}' to try again")
    })?;
    let Some(undone) = undone else { bail!("no switch {name} of tardy is active here") };
    for what in &undone {
        output::report(&format!("restored: {what}"));
    }
    Ok(undone)
}
