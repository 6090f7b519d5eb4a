//! `tardy tsn remove`: takes a switch back.

use anyhow::{Result, anyhow, bail};
use tardy_switch::state::Shelf;

use super::apply::take_back;
use crate::args::TsnRemoveArgs;
use crate::exit::Exit;

/// Takes back the switch of that name, or the only one that is up.
pub(super) fn run(arguments: &TsnRemoveArgs) -> Result<Exit> {
    let shelf = Shelf::own();
    take_back(&shelf, &name(&shelf, arguments.name.as_deref())?)
}

fn name(shelf: &Shelf, given: Option<&str>) -> Result<String> {
    let names = shelf.names().map_err(|reason| anyhow!(reason))?;
    match (given, &names[..]) {
        (Some(name), _) => Ok(name.to_owned()),
        (None, [only]) => Ok(only.clone()),
        (None, []) => bail!("no switch of tardy's is up in this network namespace"),
        (None, several) => bail!("several switches are up: {}; say which", several.join(", ")),
    }
}
