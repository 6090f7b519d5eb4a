//! `tardy reflect`: returns the requests of `tardy run --probe round-trip` on another host.

use anyhow::{Result, anyhow};
use tardy_args::ReflectArgs;
use tardy_round_trip::reflect::Reflector;
use tardy_sys::signals::EndSignals;

use tardy_command::{Exit, output};

/// Returns requests until a signal ends it.
pub(crate) fn run(arguments: &ReflectArgs) -> Result<Exit> {
    let ReflectArgs { protocol, port, link, priority } = arguments;
    let mut reflector =
        Reflector::open(*protocol, *port, link.as_deref()).map_err(|reason| anyhow!(reason))?;
    let signals = EndSignals::catch()?;
    Reflector::be_scheduled(*priority).unwrap_or_else(|refused| output::report(&refused));
    output::report(&format!("returning requests {}", reflector.place()));
    reflector.run(&signals).map_err(|error| anyhow!("requests can no longer be received: {error}"))?;
    output::report(&format!("returned {} requests", reflector.returned));
    Ok(Exit::Done)
}
