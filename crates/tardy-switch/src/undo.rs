//! Undoes a change to the network.

use serde_json::Value;
use tardy_host::journal::{self, Kind, Undo, Undone, tagged};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::links::{self, StampConfig};
use tardy_sys::netlink::NetlinkError;
use tardy_sys::qdiscs;

use super::change::{Change, Step, namespace};
use super::classifier::FILTER_TAGGED;
use super::displaced::Displaced;
use super::saved_states::SavedStates;
use super::shaper::HANDLE;
use super::vlans::{Vlan, set_vlans};
use super::{open_vswitch, program};

/// How to undo a [`Step`].
pub const UNDO: Kind = Kind { name: "network", read: journal::read::<Step>, first: false };

impl Undo for Step {
    fn kind(&self) -> &'static str {
        UNDO.name
    }

    fn describe(&self) -> String {
        Self::describe(self)
    }

    fn to_json(&self) -> Value {
        tagged(UNDO.name, self)
    }

    /// Undoes the step, and removes it from the saved states of its switches.
    fn undo(&self, _files: &KernelFiles) -> Result<Undone, String> {
        Self::undo(self)?;
        SavedStates::own().forget(self);
        Ok(Undone::Done)
    }
}

impl Step {
    /// Undoes the step. It is not an error if it is already undone, or its interface is gone.
    ///
    /// # Errors
    /// A message for the user.
    pub fn undo(&self) -> Result<(), String> {
        if namespace()? != self.namespace {
            let number = self.namespace;
            return Err(format!(
                "the change is in another network namespace (net:[{number}]); undo it there, with nsenter or 'ip netns exec'"
            ));
        }
        self.check()?;
        match &self.change {
            Change::Bridge { name } => gone(links::delete(name)),
            Change::OpenVSwitch { name } => open_vswitch::remove_bridge(name),
            Change::OpenVSwitchPort { name, bridge } => open_vswitch::remove_port(name, bridge),
            Change::OpenVSwitchVlans { name, columns } => open_vswitch::restore_vlans(name, columns),
            Change::Filtering { name, was } => gone(links::set_vlan_filtering(name, *was)),
            Change::Port { name, was_of, vlans } => undo_port(name, was_of.as_deref(), vlans),
            Change::Vlans { name, vlans } => set_vlans(name, vlans),
            Change::Up { name } => gone(links::set_down(name)),
            Change::Shaper { name, was } => undo_shaper(name, was.as_ref()),
            Change::Schedule { name, was } => was.send(name),
            Change::NftTable { name } => undo_table(name),
            Change::Filters { name } => undo_filters(name),
            Change::IptablesRule { words } => undo_rule(&words.words()),
            Change::Sysctl { path, was } => tardy_sys::kernel_files::KernelFiles::real()
                .write(path, was)
                .map_err(|error| error.to_string()),
            Change::ReceiveStamps { name, was } => undo_stamps(name, *was),
        }
    }

    /// Rejects a step that tardy does not make: a forged journal must not make tardy run or write anything else.
    fn check(&self) -> Result<(), String> {
        let sound = match &self.change {
            Change::Bridge { name }
            | Change::OpenVSwitch { name }
            | Change::Filtering { name, .. }
            | Change::Vlans { name, .. }
            | Change::Up { name }
            | Change::Shaper { name, .. }
            | Change::Schedule { name, .. }
            | Change::Filters { name }
            | Change::ReceiveStamps { name, .. } => is_interface(name),
            Change::Port { name, was_of, .. } => {
                is_interface(name) && was_of.as_deref().is_none_or(is_interface)
            }
            Change::OpenVSwitchPort { name, bridge } => is_interface(name) && is_interface(bridge),
            Change::OpenVSwitchVlans { name, columns } => {
                is_interface(name) && open_vswitch::are_columns(columns)
            }
            Change::NftTable { name } => name.starts_with("tardy_") && is_word(name),
            // Other rules are refused when the step is read.
            Change::IptablesRule { .. } => true,
            Change::Sysctl { path, was } => path == FILTER_TAGGED && (was == "0" || was == "1"),
        };
        if sound { Ok(()) } else { Err(format!("{} is not a change that tardy makes", self.describe())) }
    }
}

/// Whether this can be the name of an interface, and not an option of a program.
fn is_interface(name: &str) -> bool {
    let odd = |letter: char| letter == '/' || letter.is_whitespace() || letter.is_control();
    (1..16).contains(&name.len())
        && !name.starts_with('-')
        && name != "."
        && name != ".."
        && !name.contains(odd)
}

fn is_word(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn gone(result: Result<(), NetlinkError>) -> Result<(), String> {
    match result {
        Err(error) if !error.is_absent() => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn undo_port(name: &str, was_of: Option<&str>, vlans: &[Vlan]) -> Result<(), String> {
    match links::find(name).map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(_) => {
            gone(links::set_master(name, was_of))?;
            if was_of.is_some() { set_vlans(name, vlans) } else { Ok(()) }
        }
    }
}

fn undo_shaper(name: &str, was: Option<&Displaced>) -> Result<(), String> {
    let classes = match qdiscs::classes_of(name) {
        Err(error) if error.is_absent() => return Ok(()),
        classes => classes.map_err(|error| error.to_string())?,
    };
    // Another program may have replaced tardy's shaper; its queueing discipline stays.
    let is_ours = |(kind, handle): &(String, u32)| kind == "taprio" && handle >> 16 == u32::from(HANDLE);
    if classes.iter().any(is_ours) {
        gone(qdiscs::delete_root(name))?;
    }
    was.map_or(Ok(()), |was| was.restore(name))
}

fn undo_stamps(name: &str, [flags, transmit, filter]: [i32; 3]) -> Result<(), String> {
    match links::find(name).map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(_) => links::set_stamp_config(name, StampConfig { flags, transmit, filter })
            .map_err(|error| error.to_string()),
    }
}

fn undo_table(name: &str) -> Result<(), String> {
    // Declaring the table first prevents an error if it is gone.
    program::feed("nft", &["-f", "-"], &format!("table bridge {name} {{\n}}\ndelete table bridge {name}\n"))
}

fn undo_filters(name: &str) -> Result<(), String> {
    let has = match qdiscs::of(name) {
        Err(error) if error.is_absent() => return Ok(()),
        qdiscs => qdiscs.map_err(|error| error.to_string())?.iter().any(|qdisc| qdisc.kind == "clsact"),
    };
    if has { program::run("tc", &["qdisc", "del", "dev", name, "clsact"]) } else { Ok(()) }
}

fn undo_rule(words: &[String]) -> Result<(), String> {
    let rule = |action: &'static str| {
        let mut all = vec!["-t", "mangle", action];
        all.extend(words.iter().map(String::as_str));
        all
    };
    match program::run("iptables", &rule("-C")) {
        Ok(()) => program::run("iptables", &rule("-D")),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_that_tardy_makes_are_undone() {
        let step = |change| Step { namespace: namespace().unwrap(), change };
        let bridge = |name: &str| step(Change::Bridge { name: name.to_owned() });
        assert!(bridge("tsn0").check().is_ok());
        for name in ["", "--help", "a b", "../x", "seventeen-letters"] {
            assert!(bridge(name).check().is_err(), "{name}");
        }
        assert!(step(Change::NftTable { name: "filter".to_owned() }).check().is_err());
        let file = |path: &str| step(Change::Sysctl { path: path.to_owned(), was: "1".to_owned() });
        assert!(file("/etc/passwd").check().is_err());
        assert!(file("/proc/sys/net/../kernel/x").check().is_err());
        assert!(file("/proc/sys/net/ipv4/ip_forward").check().is_err());
        assert!(file(FILTER_TAGGED).check().is_ok());
        let port = |was_of: &str| {
            step(Change::Port { name: "p0".to_owned(), was_of: Some(was_of.to_owned()), vlans: Vec::new() })
        };
        assert!(port("br0").check().is_ok() && port("--help").check().is_err());
    }

    #[test]
    fn restoring_a_receive_filter_ignores_a_missing_interface_and_fails_without_time_stamps() {
        let stamps = |name: &str| Change::ReceiveStamps { name: name.to_owned(), was: [0, 1, 12] };
        let step = Step::here(stamps("no-such-link")).unwrap();
        assert_eq!(step.undo(), Ok(()));
        assert!(step.describe().contains("receive filter was 12"), "{}", step.describe());
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), step);
        assert!(Step::here(stamps("lo")).unwrap().undo().is_err(), "the loopback device has no time stamps");
        assert!(
            Step::here(stamps("../x")).unwrap().undo().unwrap_err().contains("not a change that tardy makes")
        );
    }

    #[test]
    fn a_step_in_another_namespace_is_not_undone() {
        let step = Step { namespace: 1, change: Change::Bridge { name: "tsn0".to_owned() } };
        assert!(step.undo().unwrap_err().contains("another network namespace"));
    }
}
