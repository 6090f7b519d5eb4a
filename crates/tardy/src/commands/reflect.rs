//! `tardy reflect`: returns the requests of `tardy run --probe round-trip` on another host.

use anyhow::{Result, anyhow};
use tardy_args::ReflectArgs;
use tardy_record::plan::Protocol;
use tardy_round_trip::reflect::Reflector;
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::signals::EndSignals;

use super::output;
use crate::exit::Exit;

/// Returns requests until a signal ends it.
pub(crate) fn run(arguments: &ReflectArgs) -> Result<Exit> {
    let ReflectArgs { protocol, port, link, priority } = arguments;
    let mut reflector =
        Reflector::open(*protocol, *port, link.as_deref()).map_err(|reason| anyhow!(reason))?;
    let signals = EndSignals::catch()?;
    if *priority > 0
        && let Err(error) = scheduling::set(Scheduling::Fifo(*priority))
    {
        output::report(&format!(
            "the kernel refuses real-time priority {priority} ({error}): answers may be late; CAP_SYS_NICE permits it"
        ));
    }
    match protocol {
        Protocol::Udp => output::report(&format!("returning requests on UDP port {port}")),
        _ => {
            let link = link.as_deref().unwrap_or_default();
            output::report(&format!("returning {} frames on {link}", protocol.name()));
        }
    }
    reflector.run(&signals).map_err(|error| anyhow!("requests can no longer be received: {error}"))?;
    output::report(&format!("returned {} requests", reflector.returned));
    Ok(Exit::Done)
}
