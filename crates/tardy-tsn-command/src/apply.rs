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
    if !arguments.unchecked
        && let Some(exit) = refuse(&file, arguments)
    {
        return exit;
    }
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
        output::print_json(&Answer { switch: name, applied: &applied, restored })?;
    }
    Ok(Exit::Done)
}

/// Reports what the kernel would refuse, with the line of the file, before anything is changed.
fn refuse(file: &SwitchFile, arguments: &TsnApplyArgs) -> Option<Result<Exit>> {
    let mut machine = machine::read(&file.network);
    // `apply` itself decides whether an existing shaper may be replaced.
    machine.devices.values_mut().for_each(|device| device.running = None);
    let model = check::model(&file.network, &machine);
    let mut findings = check::check(&file.network, &file.text, &machine);
    findings.retain(|finding: &Finding| matches!(finding.kind, Kind::Refused { .. }));
    if findings.is_empty() {
        return None;
    }
    let switch = &arguments.one.switch.file;
    output::report(&format!("the kernel would refuse {switch}; nothing was changed"));
    Some(print_findings(file, &model, &findings, arguments.json).map(|()| Exit::Failed))
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
