//! `tardy load`: a load without a measurement, or the receiver of network loads.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tardy_host::cpus::Cpus;
use tardy_load::LoadContext;
use tardy_recipe::wrong;
use tardy_record::load_spec::{LoadSpec, LoadSpecError};
use tardy_sys::kernel_files::KernelFiles;

use tardy_args::LoadArgs;
use tardy_command::{Exit, output};

/// Runs the load for its duration, or until Ctrl-C.
pub(crate) fn run(arguments: &LoadArgs) -> Result<Exit> {
    let duration = arguments.duration.map(|duration| Duration::from_nanos(duration.ns()));
    let text = match &arguments.host {
        Some(host) if arguments.name == "sink" => format!("sink:{host}"),
        Some(host) => {
            bail!("{} takes no host; use --peer {host} for the host that it sends to", arguments.name)
        }
        None => arguments.name.clone(),
    };
    let load: LoadSpec = text.parse().map_err(|error: LoadSpecError| wrong("load", error))?;
    let exe = std::env::current_exe().context("cannot find the path of this program, which runs the load")?;
    let cpus = Cpus::of_this_process(&KernelFiles::real()).map_err(|reason| anyhow!(reason))?;
    let context = LoadContext {
        seed: arguments.seed,
        peer: arguments.peer.clone(),
        cpus: cpus.load_cpus(),
        ..LoadContext::new(exe)
    };
    let results = tardy_load::run_alone(&[load], &context, duration, &mut std::io::stderr())?;
    if arguments.json {
        output::print_json(&results)?;
    }
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
