//! Pushing runs to an archive on another machine.
//!
//! A run is first put into a spool, a directory on this machine, and is removed from it when the other side has it on its disk. So a run
//! survives a network that is away and a process that is killed. The other side knows a run by its content and stores it once, however
//! often it is sent (docs/adr/0038-push.md).

mod http;
mod send;
mod sender;
mod spool;
mod ssh;
mod target;

pub use http::agent;
pub use send::{Report, send_all};
pub use sender::{Failure, Sender, Token};
pub use spool::{Spool, SpoolError, Spooled};
pub use target::{Target, TargetError};

impl Target {
    /// The way to this target.
    pub fn sender(&self, token: Option<Token>) -> Box<dyn Sender> {
        match self {
            Self::Server(address) => Box::new(http::Server::new(address.clone(), token)),
            Self::Ssh { machine, port, archive } => {
                Box::new(ssh::Machine::new(machine.clone(), *port, archive.clone()))
            }
        }
    }
}
