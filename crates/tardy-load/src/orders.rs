//! The command line of a load process, written by its parent.

use std::os::fd::RawFd;

use tardy_record::cpu_list;
use tardy_record::load_spec::{LoadSpec, LoadSpecError, LoadTask};

/// The hidden subcommand.
pub(super) const SUBCOMMAND: &str = "__load";

/// The task of a load process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Orders {
    /// The index of its part among the parts of all loads; `None` for the parent.
    pub(super) part: Option<usize>,
    /// The parent process.
    pub(super) parent: u32,
    /// The descriptor of the counters.
    pub(super) counters: RawFd,
    pub(super) seed: u64,
    pub(super) port: u16,
    pub(super) peer: Option<String>,
    /// The CPUs of all load processes; empty for every CPU that they may use.
    pub(super) cpus: Vec<u32>,
    pub(super) specs: Vec<LoadSpec>,
}

impl Orders {
    /// All tasks of all loads.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &LoadTask> {
        self.specs.iter().flat_map(LoadSpec::tasks)
    }

    /// The arguments, subcommand included.
    pub(super) fn to_arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            SUBCOMMAND.to_owned(),
            self.part.map_or_else(|| "parent".to_owned(), |part| part.to_string()),
            format!("--parent={}", self.parent),
            format!("--counters={}", self.counters),
            format!("--seed={}", self.seed),
            format!("--port={}", self.port),
            format!("--cpus={}", cpu_list::format(&self.cpus)),
        ];
        arguments.extend(self.peer.iter().map(|peer| format!("--peer={peer}")));
        arguments.push("--".to_owned());
        arguments.extend(self.specs.iter().map(|spec| spec.text().to_owned()));
        arguments
    }

    /// Reads the arguments that follow the subcommand.
    pub(super) fn from_arguments(arguments: &[String]) -> Result<Self, String> {
        let (role, rest) = arguments.split_first().ok_or("no role")?;
        let split = rest.iter().position(|argument| argument == "--").ok_or("no --")?;
        let options: Vec<(&str, &str)> = rest[..split]
            .iter()
            .filter_map(|argument| argument.strip_prefix("--")?.split_once('='))
            .collect();
        let option = |name: &str| options.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
        let part = match role.as_str() {
            "parent" => None,
            part => Some(number(Some(part), "part")?),
        };
        let specs = rest[split + 1..]
            .iter()
            .map(|spec| spec.parse().map_err(|error: LoadSpecError| error.to_string()));
        Ok(Self {
            part,
            parent: number(option("parent"), "parent")?,
            counters: number(option("counters"), "counters")?,
            seed: number(option("seed"), "seed")?,
            port: number(option("port"), "port")?,
            peer: option("peer").map(str::to_owned),
            cpus: option("cpus").and_then(cpu_list::parse).ok_or("no cpus")?,
            specs: specs.collect::<Result<_, _>>()?,
        })
    }
}

fn number<T: std::str::FromStr>(text: Option<&str>, what: &str) -> Result<T, String> {
    let text = text.ok_or_else(|| format!("no {what}"))?;
    text.parse().map_err(|_| format!("'{text}' is not a {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_a_round_trip() {
        let specs = vec!["doload".parse().unwrap(), "cmd:sh -c 'a=--; -- --peer=x'".parse().unwrap()];
        let orders = Orders {
            part: None,
            parent: 7,
            counters: 3,
            seed: u64::MAX,
            port: 5566,
            peer: None,
            cpus: Vec::new(),
            specs,
        };
        let (peer, cpus) = (Some("fe80::1".to_owned()), vec![0, 1, 5]);
        for orders in [orders.clone(), Orders { part: Some(4), peer, cpus, ..orders }] {
            assert_eq!(Orders::from_arguments(&orders.to_arguments()[1..]), Ok(orders));
        }
    }

    #[test]
    fn malformed_orders_are_refused() {
        for line in
            ["", "parent", "parent --", "x --parent=1 --", "1 --parent=-1 --counters=3 --seed=0 --port=1 --"]
        {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert!(Orders::from_arguments(&arguments).is_err(), "{line}");
        }
    }
}
