//! `tardy tsn plan`: prints the configuration of a switch.

use anyhow::{Result, bail};
use tardy_recipe::wrong;
use tardy_tsn::check::{self, Finding, Kind, Machine};
use tardy_tsn::network::Network;
use tardy_tsn::plan::{commands, message, yang};
use tardy_tsn::settings::{self, Settings};

use crate::switch_file::{self, SwitchFile};
use tardy_args::{PlanForm, TsnPlanArgs};
use tardy_command::{Exit, output};

/// Prints the plan for one switch, without reading or changing this machine.
pub(crate) fn run(arguments: &TsnPlanArgs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    let settings = of_switch(&file.network, arguments.of.as_deref())?;
    if settings.ports.iter().all(|port| port.taprio.is_none()) && arguments.form != PlanForm::Commands {
        bail!("no port of {} has a gate control list; add gates = [ … ] to one", settings.bridge.name);
    }
    let warnings = refused(&file, &settings.bridge.name);
    warnings.iter().for_each(|warning| output::report(warning));
    if matches!(arguments.form, PlanForm::Yang | PlanForm::YangXml) {
        left_out(&file, &settings.bridge.name).iter().for_each(|remark| output::report(remark));
    }
    match arguments.form {
        PlanForm::Commands => {
            let script = commands::script(&settings, arguments.classifier.into(), &warnings)
                .map_err(anyhow::Error::msg)?;
            output::print_data(&script)?;
        }
        PlanForm::Netlink => output::print(&message::text(&settings))?,
        PlanForm::Yang => output::print_json(&yang_of(&settings, arguments)?)?,
        PlanForm::YangXml => output::print_data(&yang_of(&settings, arguments)?.xml())?,
    }
    Ok(Exit::Done)
}

fn yang_of(settings: &Settings, arguments: &TsnPlanArgs) -> Result<yang::Document> {
    yang::document(settings, arguments.yang.into()).map_err(anyhow::Error::msg)
}

/// Messages about settings that the kernel would refuse, or tardy, without knowledge of this machine.
fn refused(file: &SwitchFile, switch: &str) -> Vec<String> {
    let findings = check::check(&file.network, &file.text, &Machine::default());
    let of_switch = |finding: &&Finding| finding.switch == switch && finding.kind.is_refusal();
    let message = |finding: &Finding| {
        let who = if finding.kind == Kind::Unsupported { "'tardy tsn apply'" } else { "the kernel" };
        format!(
            "{who} would refuse this: {}:{}: {}; 'tardy tsn check' explains it",
            file.name, finding.line, finding.what
        )
    };
    findings.iter().filter(of_switch).map(message).collect()
}

/// The keys of classes that have no node in the modules of `yang`, as messages.
fn left_out(file: &SwitchFile, switch: &str) -> Vec<String> {
    let of = file.network.switches.iter().filter(|of| of.name.value == switch);
    let mut messages = Vec::new();
    for class in of.flat_map(|of| &of.classes) {
        let keys = [
            ("idle_slope", class.idle_slope.is_some()),
            ("preemptible", class.preemptible.as_ref().is_some_and(|preemptible| preemptible.value)),
            ("etf_delta", class.etf_delta_ns.is_some()),
        ];
        messages.extend(keys.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| {
            format!(
                "{key} of class {} is not in the modules that --as yang writes, and is left out",
                class.name.value
            )
        }));
    }
    messages
}

/// The only switch of the file, or the named one.
fn of_switch(network: &Network, name: Option<&str>) -> Result<Settings> {
    let names =
        || network.switches.iter().map(|switch| switch.name.value.as_str()).collect::<Vec<_>>().join(", ");
    let switch = match (name, network.switches.as_slice()) {
        (None, [only]) => only,
        (None, _) => {
            return Err(wrong(
                "switch",
                format!("the file has several switches ({}); choose one with --switch", names()),
            )
            .into());
        }
        (Some(name), switches) => {
            switches.iter().find(|switch| switch.name.value == name).ok_or_else(|| {
                wrong("switch", format!("the file has no switch '{name}'; expected one of {}", names()))
            })?
        }
    };
    Ok(settings::of(switch))
}
