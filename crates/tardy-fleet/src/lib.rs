//! A recipe on many hosts over the system's ssh.
//!
//! A host is one thread and a sequence of steps ([`work`]): each step is one script that `ssh` runs there ([`script`]), and whose
//! answer is a few marked lines ([`answer`]). The run itself is detached from the connection: its process, its log and its exit
//! status are in a directory of its own on the host, so that neither a dead connection nor the end of this program ends it. What is
//! known about each host is written to a file before it is acted on ([`state`]), and a fleet that was interrupted continues there.
//!
//! What a host sends is hostile: it is bounded, shown without control characters, and never part of a local path or of a script.
//!
//! Alternatives not taken: scp, which since OpenSSH 9.0 needs an SFTP server that boards lack; a connection that stays open, which
//! ends the run with it; an agent on the host (docs/adr/0037-fleets.md).

pub mod answer;
pub mod binaries;
pub mod failure;
pub mod fleet;
pub mod hosts;
pub mod script;
pub mod ssh;
pub mod state;
pub mod table;
pub mod transport;
pub mod work;
