//! Assigns priorities to frames: by nft's bridge family, or otherwise by tc's flower, or otherwise by iptables.

use tardy_sys::links;
use tardy_tsn::classify;
use tardy_tsn::network::Bridge;
use tardy_tsn::settings::Settings;

use super::change::Change;
use super::change_journal::ChangeJournal;
use super::iptables_rule::IptablesRule;
use super::missing::explained;
use super::program;
use super::saved_states::SwitchState;

/// Makes iptables see tagged frames of bridges.
pub(super) const FILTER_TAGGED: &str = "/proc/sys/net/bridge/bridge-nf-filter-vlan-tagged";

/// The classifier that was set.
#[derive(Debug)]
pub(super) struct Classified {
    /// The commands that were sent; `None` if the file has no classifier.
    pub(super) sent: Option<String>,
    /// The changes, for messages.
    pub(super) changed: Vec<String>,
    /// Remarks for the user.
    pub(super) remarks: Vec<String>,
}

/// Sets the classifier, unless it is already as in `known`.
pub(super) fn set(
    settings: &Settings,
    known: Option<&SwitchState>,
    changes: &mut ChangeJournal,
) -> Result<Classified, String> {
    let mut classified = Classified { sent: None, changed: Vec::new(), remarks: Vec::new() };
    if settings.classifiers.is_empty() {
        return Ok(classified);
    }
    let before = known.and_then(|state| state.classifier.as_deref());
    // Frames of Open vSwitch do not pass the netfilter hooks of the kernel's bridge.
    let tries: &[(&str, Try)] = match settings.bridge.kind {
        Bridge::Kernel => &[("nft", nft), ("tc flower", flower), ("iptables", iptables)],
        Bridge::OpenVSwitch => &[("tc flower", flower)],
    };
    let mut refused = Vec::new();
    for (name, attempt) in tries {
        match attempt(settings, before, changes) {
            Ok((sent, is_new)) => {
                if is_new {
                    classified.changed.push(format!("{}: classifier by {name}", settings.bridge.name));
                }
                if !refused.is_empty() {
                    classified.remarks.push(format!("classified by {name}, since {}", refused.join("; ")));
                }
                classified.sent = Some(sent);
                return Ok(classified);
            }
            // Only the first line, since some programs also print their usage.
            Err(reason) => refused.push(reason.lines().next().unwrap_or_default().to_owned()),
        }
    }
    Err(format!("no program on this machine can classify the frames: {}", refused.join("; ")))
}

/// Sets the classifier by one program. Returns the commands, and whether they had to be sent.
type Try = fn(&Settings, Option<&str>, &mut ChangeJournal) -> Result<(String, bool), String>;

fn nft(
    settings: &Settings,
    before: Option<&str>,
    changes: &mut ChangeJournal,
) -> Result<(String, bool), String> {
    program::output("nft", &["--version"], "")?;
    let (script, table) = (classify::nft(settings), classify::nft_table(&settings.bridge.name));
    let is_there =
        before == Some(script.as_str()) && program::run("nft", &["list", "table", "bridge", &table]).is_ok();
    if !is_there {
        changes.step(Change::NftTable { name: table }, || program::feed("nft", &["-f", "-"], &script))?;
    }
    Ok((script, !is_there))
}

fn flower(
    settings: &Settings,
    before: Option<&str>,
    changes: &mut ChangeJournal,
) -> Result<(String, bool), String> {
    program::output("tc", &["-V"], "")?;
    let lines = classify::flower(settings);
    let text = lines.iter().map(|line| line.join(" ") + "\n").collect::<String>();
    let ports = settings.ports.iter().filter(|port| port.taprio.is_some());
    let names: Vec<&str> = ports.map(|port| port.interface.as_str()).collect();
    let has = |name: &&str| {
        tardy_sys::qdiscs::of(name).is_ok_and(|all| all.iter().any(|qdisc| qdisc.kind == "clsact"))
    };
    if before == Some(text.as_str()) && names.iter().all(has) {
        return Ok((text, false));
    }
    for name in names {
        changes.step(Change::Filters { name: name.to_owned() }, || {
            if has(&name) {
                program::run("tc", &["qdisc", "del", "dev", name, "clsact"])?;
            }
            program::run("tc", &["qdisc", "add", "dev", name, "clsact"])?;
            let of_port = lines.iter().filter(|line| line.get(3).is_some_and(|device| device == name));
            for line in of_port {
                program::run("tc", &line.iter().map(String::as_str).collect::<Vec<_>>())?;
            }
            Ok(())
        })?;
    }
    Ok((text, true))
}

fn iptables(
    settings: &Settings,
    before: Option<&str>,
    changes: &mut ChangeJournal,
) -> Result<(String, bool), String> {
    program::output("iptables", &["--version"], "")?;
    let rules = classify::iptables(settings)?;
    let text = rules.iter().map(|rule| rule.join(" ") + "\n").collect::<String>();
    if before == Some(text.as_str()) {
        return Ok((text, false));
    }
    let name = &settings.bridge.name;
    links::set_bridge_calls_iptables(name, true).map_err(|error| {
        let what = format!("iptables for bridge {name}, for which br_netfilter must be loaded");
        explained(&what, &error)
    })?;
    let files = tardy_sys::kernel_files::KernelFiles::real();
    if let Ok(was) = files.text(FILTER_TAGGED).map(|text| text.trim().to_owned())
        && was != "1"
    {
        changes.step(Change::Sysctl { path: FILTER_TAGGED.to_owned(), was }, || {
            files.write(FILTER_TAGGED, "1").map_err(|error| error.to_string())
        })?;
    }
    for rule in rules {
        let mut words = vec!["-t", "mangle", "-A"];
        words.extend(rule.iter().map(String::as_str));
        let own = IptablesRule::try_from(rule.clone())?;
        changes.step(Change::IptablesRule { words: own }, || program::run("iptables", &words))?;
    }
    Ok((text, true))
}
