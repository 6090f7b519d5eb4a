//! `tardy tsn plan`: what would be set, in words that a person can read and run.

use anyhow::{Result, bail};
use tardy_tsn::network::Network;
use tardy_tsn::plan::{commands, message, yang};
use tardy_tsn::settings::{self, Settings};

use super::switch_file;
use crate::args::{PlanForm, TsnPlanArgs};
use crate::commands::output;
use crate::exit::Exit;

/// Prints the plan for one switch; nothing is touched, and nothing asked of this machine.
pub(super) fn run(arguments: &TsnPlanArgs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    let settings = of_switch(&file.network, arguments.of.as_deref())?;
    if settings.ports.iter().all(|port| port.taprio.is_none()) && arguments.form != PlanForm::Commands {
        bail!("no port of {} has a gate control list; add gates = [ … ] to one", settings.bridge.name);
    }
    match arguments.form {
        PlanForm::Commands => {
            let script =
                commands::script(&settings, arguments.classifier.into()).map_err(anyhow::Error::msg)?;
            output::print(&script)?;
        }
        PlanForm::Netlink => output::print(&message::text(&settings))?,
        PlanForm::Yang => output::print_json(&yang::document(&settings).map_err(anyhow::Error::msg)?)?,
    }
    Ok(Exit::Done)
}

/// The one switch of the file, or that of many which was named.
fn of_switch(network: &Network, name: Option<&str>) -> Result<Settings> {
    let names =
        || network.switches.iter().map(|switch| switch.name.value.as_str()).collect::<Vec<_>>().join(", ");
    let switch = match (name, network.switches.as_slice()) {
        (None, [only]) => only,
        (None, _) => bail!("the file has several switches; say --switch with one of {}", names()),
        (Some(name), switches) => match switches.iter().find(|switch| switch.name.value == name) {
            Some(switch) => switch,
            None => bail!("there is no switch '{name}' in the file; it has {}", names()),
        },
    };
    Ok(settings::of(switch))
}
