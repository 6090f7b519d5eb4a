//! Which loads there are, and what each is made of.

use super::LoadError;

/// A load as asked for, known to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSpec {
    text: String,
    parts: Vec<Part>,
}

impl LoadSpec {
    /// As the person wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

/// One part of a load: what one worker process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// What stood after the colon.
    pub(super) argument: String,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Scheduler,
    Network,
    Copy,
    Listing,
    Sink,
    Command,
}

impl Kind {
    /// Its name in the run.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Network => "network",
            Self::Copy => "copy",
            Self::Listing => "listing",
            Self::Sink => "sink",
            Self::Command => "command",
        }
    }

    /// What it counts; empty where nothing can be counted.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Scheduler => "messages",
            Self::Network | Self::Copy | Self::Sink => "bytes",
            Self::Listing => "entries",
            Self::Command => "",
        }
    }

    /// How many counters it raises: one for each process that counts.
    pub(super) fn counters(self) -> usize {
        match self {
            Self::Scheduler => super::scheduler::RECEIVERS,
            Self::Network | Self::Copy | Self::Listing | Self::Sink => 1,
            Self::Command => 0,
        }
    }

    /// Whether its first pass is slower than the later ones by design.
    pub(super) fn has_first_pass(self) -> bool {
        self == Self::Listing
    }

    /// From the beginning of one burst to the next, where it works in bursts.
    pub(super) fn burst_every_ns(self) -> Option<u64> {
        match self {
            Self::Network | Self::Sink => Some(super::network::EVERY.as_nanos() as u64),
            _ => None,
        }
    }
}

/// A load's name and what it is, for help texts.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// How it is asked for.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    kinds: &'static [Kind],
}

/// All loads.
pub const KNOWN: [Known; 8] = [
    Known { name: "none", about: "nothing", kinds: &[] },
    Known {
        name: "doload",
        about: "the AT91SAM article's script: scheduler, network, copy and listing at once",
        kinds: &[Kind::Scheduler, Kind::Network, Kind::Copy, Kind::Listing],
    },
    Known {
        name: "scheduler",
        about: "hackbench's one group: 40 tasks over sockets, killed and forked anew every 5 s",
        kinds: &[Kind::Scheduler],
    },
    Known {
        name: "network",
        about: "4 MiB over TCP port 5566 every 7 s, to --peer or over loopback",
        kinds: &[Kind::Network],
    },
    Known { name: "copy", about: "dd from /dev/zero to /dev/null", kinds: &[Kind::Copy] },
    Known { name: "listing", about: "ls -lR / over and over", kinds: &[Kind::Listing] },
    Known {
        name: "sink:HOST",
        about: "takes what `network` and `doload` on HOST send to their peer",
        kinds: &[Kind::Sink],
    },
    Known { name: "cmd:COMMAND", about: "any command, by sh -c", kinds: &[Kind::Command] },
];

/// Reads a load as a person writes it: `doload`, `none`, `cmd:ping -f 10.0.0.2`, `sink:10.0.0.1` or `sink 10.0.0.1`.
///
/// # Errors
/// When there is no such load (the error lists those that there are), or its command or host is missing.
pub fn parse(spec: &str) -> Result<LoadSpec, LoadError> {
    let text = spec.trim();
    let (known, argument) =
        KNOWN.iter().find_map(|known| Some((known, argument_of(known, text)?))).ok_or_else(|| {
            let known: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            LoadError::Unknown { spec: text.to_owned(), known: known.join(", ") }
        })?;
    for kind in known.kinds {
        check_argument(*kind, text, argument)?;
    }
    let part = |kind: &Kind| Part { kind: *kind, argument: argument.to_owned() };
    Ok(LoadSpec { text: text.to_owned(), parts: known.kinds.iter().map(part).collect() })
}

/// What follows the load's name, if this is the load.
fn argument_of<'a>(known: &Known, text: &'a str) -> Option<&'a str> {
    let Some((name, _)) = known.name.split_once(':') else { return (text == known.name).then_some("") };
    let rest = text.strip_prefix(name)?;
    // A host may stand apart, as `tardy load sink HOST` has it; a command may not, for `cmd x` may be a name mistyped.
    let separators: &[char] = if name == "sink" { &[':', ' '] } else { &[':'] };
    if rest.is_empty() { Some("") } else { rest.strip_prefix(separators).map(str::trim) }
}

fn check_argument(kind: Kind, spec: &str, argument: &str) -> Result<(), LoadError> {
    let (what, example) = match kind {
        Kind::Command => ("which command", "cmd:COMMAND, for example 'cmd:ping -f 10.0.0.2'"),
        Kind::Sink => ("which host sends", "sink:HOST, for example sink:10.0.0.1"),
        _ => return Ok(()),
    };
    // A command line cannot hold a zero byte, so what follows one would be lost on the way.
    if argument.is_empty() || argument.contains('\0') {
        return Err(LoadError::Incomplete { spec: spec.replace('\0', "\\0"), what, example });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_written_like_this() {
        for (text, parts) in [
            ("none", 0),
            ("doload", 4),
            (" listing ", 1),
            ("sink:10.0.0.1", 1),
            ("sink 10.0.0.1", 1),
            ("cmd: a:b", 1),
        ] {
            let spec = parse(text).unwrap();
            assert_eq!((spec.text(), spec.parts().len()), (text.trim(), parts));
        }
        assert_eq!(parse("cmd: a:b").unwrap().parts()[0].argument, "a:b");
    }

    #[test]
    fn what_is_no_load_is_told_which_there_are() {
        for text in ["", "Doload", "doload2", "doload:", "cmds", "sinks:a", "none:", ":", "cmd :x", "cmd x"] {
            let told = parse(text).unwrap_err().to_string();
            assert!(told.contains("none, doload,") && told.contains("cmd:COMMAND"), "{text}: {told}");
        }
    }

    #[test]
    fn a_command_or_host_that_is_missing_is_asked_for() {
        for (text, example) in [
            ("cmd:", "cmd:ping"),
            ("cmd:  ", "cmd:ping"),
            ("cmd", "cmd:ping"),
            ("sink", "sink:10"),
            ("cmd:a\0b", "cmd:ping"),
            ("sink:", "sink:10"),
        ] {
            let told = parse(text).unwrap_err().to_string();
            assert!(told.contains(example), "{text}: {told}");
        }
    }
}
