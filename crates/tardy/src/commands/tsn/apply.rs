//! `tardy tsn apply`: makes this machine the switch of a file.

use anyhow::{Result, anyhow, bail};
use tardy_measure::journal::Place;
use tardy_measure::switch::{
    self, Applied, Leak, OpenVSwitch, Request,
    state::{Shelf, up},
};
use tardy_present::tsn_check as shown;
use tardy_record::units::format_duration_ns;
use tardy_tsn::check::{self, Finding, Kind};
use tardy_tsn::settings;

use super::machine;
use super::one_switch::{self, End};
use super::switch_file::SwitchFile;
use crate::args::TsnApplyArgs;
use crate::commands::output;
use crate::exit::Exit;

/// Checks, sets up, and with `--for` takes back.
pub(super) fn run(arguments: &TsnApplyArgs) -> Result<Exit> {
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
    let end = arguments.duration.as_deref().map(|duration| End::after(Some(duration))).transpose()?;
    let (shelf, name) = (Shelf::own(), &request.settings.bridge.name);
    if end.is_some() && up(&shelf, name).map_err(|reason| anyhow!(reason))?.is_some() {
        bail!(
            "the switch {name} is up already, and --for would take back what others rely on; 'tardy tsn remove {name}' first"
        );
    }
    if !arguments.unchecked
        && let Some(exit) = refuse(&file, arguments)
    {
        return exit;
    }
    let (applied, ledger) =
        switch::apply(Some(Place::own()), &shelf, &request).map_err(|reason| anyhow!(reason))?;
    tell(name, &applied);
    let Some(end) = end else {
        ledger.keep();
        output::tell(&format!("{name} is up, until 'tardy tsn remove {name}'"));
        return Ok(Exit::Done);
    };
    while !end.wait(&[])? {}
    ledger.keep();
    take_back(&shelf, name)
}

/// What the kernel would refuse is told before anything is touched, with the line in the file.
fn refuse(file: &SwitchFile, arguments: &TsnApplyArgs) -> Option<Result<Exit>> {
    let mut machine = machine::ask(&file.network);
    // Another shaper on a port is this command's own business: what may be replaced and what not.
    machine.devices.values_mut().for_each(|device| device.running = None);
    let mut findings = check::check(&file.network, &file.text, &machine);
    findings.retain(|finding: &Finding| matches!(finding.kind, Kind::Refused { .. }));
    if findings.is_empty() {
        return None;
    }
    let text = shown::text(&file.name, &file.text, &findings, output::colour());
    let switch = &arguments.one.switch.file;
    output::tell(&format!("the kernel would refuse {switch}; nothing was changed"));
    Some(output::print(&text).map(|()| Exit::Failed))
}

fn tell(name: &str, applied: &Applied) {
    if applied.changed.is_empty() {
        output::tell(&format!("{name} is as the file says already; nothing was changed"));
    }
    for line in applied.changed.iter().chain(&applied.remarks) {
        output::tell(line);
    }
    for Leak { port, bound_ns, classes } in &applied.leaks {
        output::tell(&match classes {
            0 => format!("{port}: replaced while every gate was open; nothing leaked"),
            classes => format!(
                "{port}: gates of classes {classes:#b} were open for at most {} while it was replaced",
                format_duration_ns(*bound_ns)
            ),
        });
    }
}

/// Takes a switch back, and says so.
pub(super) fn take_back(shelf: &Shelf, name: &str) -> Result<Exit> {
    let undone = switch::remove(shelf, name).map_err(|reason| {
        anyhow!("not everything could be put back:\n{reason}\n'tardy tsn remove {name}' tries again")
    })?;
    let Some(undone) = undone else { bail!("no switch {name} of tardy's is up here") };
    for what in undone {
        output::tell(&format!("put back: {what}"));
    }
    Ok(Exit::Done)
}
