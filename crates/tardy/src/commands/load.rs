//! `tardy load`: a load by itself, or the other end of its network part.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tardy_load::LoadContext;
use tardy_record::units::parse_duration_ns;

use crate::args::LoadArgs;
use crate::exit::Exit;
use crate::resolve::wrong;

/// Runs the load until its time is over, or Ctrl-C.
pub(crate) fn run(arguments: &LoadArgs) -> Result<Exit> {
    let duration = match &arguments.duration {
        Some(text) => Some(Duration::from_nanos(parse_duration_ns(text).context("--duration")?)),
        None => None,
    };
    let text = match &arguments.host {
        Some(host) if arguments.name == "sink" => format!("sink:{host}"),
        Some(host) => {
            bail!("{} takes no host; --peer {host} names the other end of its network part", arguments.name)
        }
        None => arguments.name.clone(),
    };
    let spec = tardy_load::parse(&text).map_err(|error| wrong("load", error))?;
    let exe =
        std::env::current_exe().context("tardy does not find its own program, which serves as the load")?;
    let context = LoadContext { seed: arguments.seed, peer: arguments.peer.clone(), ..LoadContext::new(exe) };
    let results = tardy_load::run_alone(&[spec], &context, duration, &mut std::io::stderr())?;
    let deaths: Vec<String> = results
        .iter()
        .flat_map(|result| &result.parts)
        .flat_map(|part| part.deaths.iter().map(move |death| format!("{} died: {}", part.name, death.how)))
        .collect();
    if !deaths.is_empty() {
        bail!("{}", deaths.join("; "));
    }
    Ok(Exit::Done)
}
