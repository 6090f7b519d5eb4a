//! `[switch]` and `[[classify]]`.

use super::classes::{class, priority_map};
use super::keys::{Keys, Problems};
use super::ports::{self, CableEnd};
use crate::network::{Bridge, CLASSES_MAX, Class, Classifier, Marks, Network, Switch};
use crate::span::{Located, Span};

/// The most switches in a file.
const SWITCHES_MAX: usize = 4096;

/// Settings of the file that a switch can override.
struct Shared {
    classes: Vec<Class>,
    priority_map: Located<Vec<Located<u8>>>,
    classifiers: Vec<Classifier>,
}

/// Reads all switches into `network`. Returns the far ends of their cables, which can be resolved once the hosts are
/// known.
pub(super) fn read(keys: &mut Keys<'_>, network: &mut Network, problems: &mut Problems) -> Vec<CableEnd> {
    let shared = shared(keys, None, problems);
    let tables = keys.tables("switch", problems);
    if tables.is_empty() {
        problems.add(
            Span::default(),
            "there is no switch; add [switch] with a name, and [[switch.port]] for each port".to_owned(),
        );
    }
    if tables.len() > SWITCHES_MAX {
        problems.add(tables[SWITCHES_MAX].span, format!("there are more than {SWITCHES_MAX} switches"));
        return Vec::new();
    }
    let mut ends = Vec::new();
    for table in tables {
        let place = network.switches.len();
        if let Some(switch) = switch(table, place, &shared, &mut ends, problems) {
            if network.switches.iter().any(|other| other.name.value == switch.name.value) {
                let name = &switch.name;
                problems.add(name.span, format!("there are two switches called '{}'", name.value));
            }
            network.switches.push(switch);
        }
    }
    ends
}

fn switch(
    mut keys: Keys<'_>,
    place: usize,
    shared: &Shared,
    ends: &mut Vec<CableEnd>,
    problems: &mut Problems,
) -> Option<Switch> {
    const BRIDGES: [(&str, Bridge); 2] = [("kernel", Bridge::Kernel), ("openvswitch", Bridge::OpenVSwitch)];
    let name = keys.interface("name", problems);
    if name.is_none() {
        keys.missing("name", "\"tsn0\"", problems);
    }
    let bridge = keys.word("bridge", &BRIDGES, problems).map(|bridge| bridge.value).unwrap_or_default();
    let forwarding_ns = keys.duration("forwarding", problems).map_or(0, |time| time.value);
    let own = self::shared(&mut keys, Some(shared), problems);
    let ports = ports::read(&mut keys, place, &own.classes, ends, problems);
    keys.finish(problems);
    Some(Switch {
        name: name?,
        bridge,
        forwarding_ns,
        classes: own.classes,
        priority_map: own.priority_map,
        classifiers: own.classifiers,
        ports,
    })
}

/// Reads classes, priority map and classifiers of the file, or of a switch: what a switch does not define is copied
/// from `otherwise`, those of the file.
fn shared(keys: &mut Keys<'_>, otherwise: Option<&Shared>, problems: &mut Problems) -> Shared {
    let own: Vec<Class> = keys
        .tables("class", problems)
        .into_iter()
        .enumerate()
        .map(|(number, table)| class(number, table, problems))
        .collect();
    if let Some(extra) = own.get(CLASSES_MAX) {
        problems
            .add(extra.span, format!("there are {} classes; TAPRIO has at most {CLASSES_MAX}", own.len()));
    }
    for (index, class) in own.iter().enumerate() {
        if own[..index].iter().any(|other| other.name.value == class.name.value) {
            problems.add(class.name.span, format!("there are two classes called '{}'", class.name.value));
        }
    }
    let classes = match otherwise {
        Some(shared) if own.is_empty() => shared.classes.clone(),
        _ => own,
    };
    let priority_map = match (keys.take("priority_map"), otherwise) {
        (Some(map), _) => priority_map(&map, &classes, problems),
        (None, Some(shared)) => shared.priority_map.clone(),
        // By default priority n has class n; priorities beyond the classes have class 0.
        (None, None) => {
            let class = |priority: usize| if priority < classes.len() { priority as u8 } else { 0 };
            let map = (0..CLASSES_MAX).map(|priority| Located::new(class(priority), keys.span)).collect();
            Located::new(map, keys.span)
        }
    };
    let rules: Vec<Classifier> = keys
        .tables("classify", problems)
        .into_iter()
        .filter_map(|table| classifier(table, problems))
        .collect();
    let classifiers = match otherwise {
        Some(shared) if rules.is_empty() => shared.classifiers.clone(),
        _ => rules,
    };
    Shared { classes, priority_map, classifiers }
}

fn classifier(mut keys: Keys<'_>, problems: &mut Problems) -> Option<Classifier> {
    let span = keys.span;
    let matches = marks(&mut keys, problems);
    let priority = keys.number("priority", 0..=15, problems);
    if priority.is_none() {
        keys.missing("priority", "1", problems);
    }
    if matches.is_empty() {
        problems.add(span, "a rule without conditions matches every frame; add udp_port, tcp_port, pcp, vlan, dscp, ethertype, source_mac or destination_mac".to_owned());
    }
    keys.finish(problems);
    Some(Classifier { matches, priority: priority?.map(|priority| priority as u8), span })
}

/// The conditions of a rule.
fn marks(keys: &mut Keys<'_>, problems: &mut Problems) -> Marks {
    let mut marks = carried_marks(keys, problems);
    marks.source_mac = keys.mac("source_mac", problems).map(|mac| mac.value);
    marks.destination_mac = keys.mac("destination_mac", problems).map(|mac| mac.value);
    marks
}

/// The fields that a flow's frames carry.
pub(super) fn carried_marks(keys: &mut Keys<'_>, problems: &mut Problems) -> Marks {
    let span = keys.span;
    let mut number = |key, most| keys.number(key, 0..=most, problems).map(|number| number.value);
    let marks = Marks {
        udp_port: number("udp_port", 65535).map(|port| port as u16),
        tcp_port: number("tcp_port", 65535).map(|port| port as u16),
        pcp: number("pcp", 7).map(|pcp| pcp as u8),
        vlan: number("vlan", 4094).map(|vlan| vlan as u16),
        dscp: number("dscp", 63).map(|dscp| dscp as u8),
        ethertype: number("ethertype", 0xffff).map(|kind| kind as u16),
        ..Marks::default()
    };
    if marks.udp_port.is_some() && marks.tcp_port.is_some() {
        problems.add(span, "no frame has both a udp_port and a tcp_port; write one of them".to_owned());
    }
    if marks.ethertype.is_some()
        && (marks.udp_port.is_some() || marks.tcp_port.is_some() || marks.dscp.is_some())
    {
        let why = "udp_port, tcp_port and dscp imply the EtherType of IP; remove ethertype";
        problems.add(span, why.to_owned());
    }
    marks
}
