//! Parses the text of a file into a [`Network`].
//!
//! The parser reads the TOML tree without serde, so that every value keeps its place, all mistakes of a file are
//! reported at once, and the message about an unknown key suggests a similar one. docs/tsn.md lists every key.

mod classes;
mod flows;
mod intervals;
mod keys;
mod ports;
mod schedule;
mod switches;
mod values;

use std::fmt;

use toml::de::DeTable;

use crate::network::{Netns, Network, VirtualPorts};
use crate::span::Span;
pub use intervals::parse_intervals;
use keys::{Keys, Problems};
pub use values::format_rate;

/// The largest file that is read: enough for 2,300 gate entries on each of a few dozen ports.
pub const SIZE_MAX: u64 = 8 << 20;

/// The mistakes in a file; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The mistakes, in the order of the file.
    pub problems: Vec<Problem>,
}

/// One mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its place.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
    /// Further lines with the same mistake.
    pub also_on: Vec<usize>,
    /// What is wrong, and what to write instead.
    pub what: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}line {}", problem.line)?;
            if !problem.also_on.is_empty() {
                let lines: Vec<String> = problem.also_on.iter().map(ToString::to_string).collect();
                write!(f, " (and {})", lines.join(", "))?;
            }
            write!(f, ": {}", problem.what)?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}

/// Parses the text of a file.
///
/// # Errors
///
/// Every text without a meaning, with its line: invalid TOML, unknown keys, values of the wrong kind, names of hosts, ports and
/// classes that do not exist. Settings that a kernel refuses or executes wrongly are not errors here; [`crate::check`] reports
/// them.
pub fn parse(text: &str) -> Result<Network, FileError> {
    let (root, mistakes) = DeTable::parse_recoverable(text);
    let mut problems = Problems::default();
    for mistake in mistakes {
        let span = mistake.span().map(Span::from).unwrap_or_default();
        problems.add(span, format!("this is not TOML: {}", mistake.message()));
    }
    if problems.is_empty() {
        let network = network(&root, &mut problems);
        if problems.is_empty() {
            return Ok(network);
        }
    }
    Err(problems.into_error(text))
}

fn network(root: &toml::Spanned<DeTable<'_>>, problems: &mut Problems) -> Network {
    let mut keys = Keys::of_file(root);
    let mut network = Network {
        about: keys.text("about", problems).map(|about| about.value).unwrap_or_default(),
        published: keys.texts("published", problems),
        notes: keys.text("notes", problems).map(|notes| notes.value).unwrap_or_default(),
        ..Network::default()
    };
    if network.about.trim().is_empty() {
        problems.add(Span::default(), "the file has no description; add about = \"one sentence\"".to_owned());
    }
    let ends = switches::read(&mut keys, &mut network, problems);
    flows::hosts(&mut keys, &mut network, problems);
    ports::join(ends, &mut network, problems);
    // If hosts or ports could not be read, every flow to them would be reported as a further mistake.
    let flows = keys.tables("flow", problems);
    if problems.is_empty() {
        flows::flows(flows, &mut network, problems);
    }
    if let Some(table) = keys.table("netns", problems) {
        network.netns = netns(table, problems);
    }
    keys.finish(problems);
    network
}

fn netns(mut keys: Keys<'_>, problems: &mut Problems) -> Netns {
    const PORTS: [(&str, VirtualPorts); 3] =
        [("as-speed", VirtualPorts::AsSpeed), ("tap", VirtualPorts::Tap), ("veth", VirtualPorts::Veth)];
    let netns = Netns {
        ports: keys.word("ports", &PORTS, problems).map(|ports| ports.value).unwrap_or_default(),
        ingress_bits_per_second: keys.rate("ingress_rate", problems).map(|rate| rate.value),
        etf_delta_ns: classes::etf_delta(&mut keys, problems).map(|delta| delta.value),
    };
    keys.finish(problems);
    netns
}
