//! `tardy tsn remove`: removes a switch.

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use tardy_switch::saved_states::SavedStates;

use super::apply::remove_switch;
use tardy_args::TsnRemoveArgs;
use tardy_command::{Exit, output};

/// The result as JSON.
#[derive(Serialize)]
struct Removed {
    switch: String,
    restored: Vec<String>,
}

/// Removes the switch of that name, or the only active one.
pub(crate) fn run(arguments: &TsnRemoveArgs) -> Result<Exit> {
    let saved_states = SavedStates::own();
    let switch = name(&saved_states, arguments.name.as_deref())?;
    let restored = remove_switch(&saved_states, &switch)?;
    if arguments.json {
        output::print_json(&Removed { switch, restored })?;
    }
    Ok(Exit::Done)
}

fn name(saved_states: &SavedStates, given: Option<&str>) -> Result<String> {
    let names = saved_states.names().map_err(|reason| anyhow!(reason))?;
    match (given, &names[..]) {
        (Some(name), _) => Ok(name.to_owned()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => bail!("no switch of tardy is active in this network namespace"),
        (None, several) => bail!("several switches are active: {}; name one of them", several.join(", ")),
    }
}
