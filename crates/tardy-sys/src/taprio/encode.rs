//! Encodes a shaper as a request.

use super::{ClassMap, Entry, Taprio, TaprioError};
use crate::netlink::{ATTRIBUTE_BYTES_MAX, Request};
use crate::qdiscs::{TCA_KIND, TCA_OPTIONS, TCA_STAB, traffic};

pub(super) const PRIOMAP: u16 = 1;
pub(super) const ENTRY_LIST: u16 = 2;
pub(super) const BASE_TIME: u16 = 3;
pub(super) const CLOCKID: u16 = 5;
pub(super) const ADMIN_SCHED: u16 = 7;
pub(super) const CYCLE_TIME: u16 = 8;
pub(super) const CYCLE_TIME_EXTENSION: u16 = 9;
pub(super) const FLAGS: u16 = 10;
pub(super) const TXTIME_DELAY: u16 = 11;
pub(super) const TC_ENTRY: u16 = 12;

pub(super) const ENTRY: u16 = 1;
pub(super) const ENTRY_CMD: u16 = 2;
pub(super) const ENTRY_GATE_MASK: u16 = 3;
pub(super) const ENTRY_INTERVAL: u16 = 4;

pub(super) const TC_ENTRY_INDEX: u16 = 1;
pub(super) const TC_ENTRY_MAX_SDU: u16 = 2;
pub(super) const TC_ENTRY_FP: u16 = 3;

/// NLA_F_NESTED of include/uapi/linux/netlink.h.
const NESTED: u16 = 1 << 15;
/// An entry with its command, gates and interval; its index is left out, since the kernel ignores it.
const ENTRY_BYTES: usize = 28;
/// An entry without its command, which then defaults to SetGateStates, 0.
const SHORT_ENTRY_BYTES: usize = 20;
/// `struct tc_sizespec`.
const SIZE_SPEC_BYTES: usize = 24;
/// An upper limit for the size of everything except the entries: the class map, times, and 16 classes' options.
const BESIDE_ENTRIES_BYTES: usize = 700;

/// RTM_NEWQDISC for `taprio` as the root of the device `index`.
pub(super) fn request(index: u32, taprio: &Taprio) -> Result<Request, TaprioError> {
    let entries = &taprio.schedule.entries;
    let room = ATTRIBUTE_BYTES_MAX - BESIDE_ENTRIES_BYTES;
    // Commands are left out if the list would not fit otherwise and all of them are the default.
    let says_command = entries.len() * ENTRY_BYTES <= room || entries.iter().any(|entry| entry.command != 0);
    let each = if says_command { ENTRY_BYTES } else { SHORT_ENTRY_BYTES };
    if entries.len() * each > room {
        let (entries, bytes) = (entries.len(), entries.len() * each);
        return Err(TaprioError::TooLong { entries, bytes, fit: room / each });
    }
    let flags = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
    let fixed = traffic(index, u32::from(taprio.handle) << 16, crate::qdiscs::ROOT);
    let mut request = Request::new(libc::RTM_NEWQDISC, flags, &fixed);
    request.text(TCA_KIND, "taprio");
    if let Some(overhead) = taprio.overhead_bytes {
        request.nest(TCA_STAB, |stab| {
            stab.attribute(1, &size_spec(overhead));
        });
    }
    request.nest(TCA_OPTIONS, |options| options_of(options, taprio, says_command));
    Ok(request)
}

fn options_of(options: &mut Request, taprio: &Taprio, says_command: bool) {
    let schedule = &taprio.schedule;
    options.attribute(PRIOMAP, &class_map(&taprio.classes));
    options.nest(ENTRY_LIST, |list| {
        for entry in &schedule.entries {
            list.nest(ENTRY, |one| entry_of(one, *entry, says_command));
        }
    });
    options.attribute(BASE_TIME, &schedule.base_time_ns.to_ne_bytes());
    if let Some(clock_id) = taprio.clock_id {
        options.attribute(CLOCKID, &clock_id.to_ne_bytes());
    }
    if schedule.cycle_time_ns != 0 {
        options.attribute(CYCLE_TIME, &schedule.cycle_time_ns.to_ne_bytes());
    }
    if schedule.cycle_time_extension_ns != 0 {
        options.attribute(CYCLE_TIME_EXTENSION, &schedule.cycle_time_extension_ns.to_ne_bytes());
    }
    if taprio.flags != 0 {
        options.attribute(FLAGS, &taprio.flags.to_ne_bytes());
    }
    if let Some(delay_ns) = taprio.txtime_delay_ns {
        options.attribute(TXTIME_DELAY, &delay_ns.to_ne_bytes());
    }
    for option in &taprio.class_options {
        // The kernel requires the flag here, and for no other attribute of TAPRIO (taprio_parse_tc_entries()).
        options.nest(TC_ENTRY | NESTED, |one| {
            one.attribute(TC_ENTRY_INDEX, &option.class.to_ne_bytes());
            one.attribute(TC_ENTRY_MAX_SDU, &option.max_sdu.to_ne_bytes());
            if let Some(preemptible) = option.preemptible {
                // TC_FP_EXPRESS is 1, TC_FP_PREEMPTIBLE 2.
                one.attribute(TC_ENTRY_FP, &(1 + u32::from(preemptible)).to_ne_bytes());
            }
        });
    }
}

fn entry_of(one: &mut Request, entry: Entry, says_command: bool) {
    if says_command {
        one.attribute(ENTRY_CMD, &[entry.command]);
    }
    one.attribute(ENTRY_GATE_MASK, &entry.gates.to_ne_bytes());
    one.attribute(ENTRY_INTERVAL, &entry.interval_ns.to_ne_bytes());
}

/// `struct tc_mqprio_qopt`: number of classes, class of each priority, whether it is offloaded to the hardware, and 16
/// counts and 16 first queues of 16 bits each.
fn class_map(classes: &ClassMap) -> Vec<u8> {
    let mut bytes = vec![classes.queues.len().min(16) as u8];
    bytes.extend_from_slice(&classes.of_priority);
    bytes.push(0);
    let of = |index: usize| classes.queues.get(index).copied().unwrap_or_default();
    (0..16).for_each(|index| bytes.extend_from_slice(&of(index).count.to_ne_bytes()));
    (0..16).for_each(|index| bytes.extend_from_slice(&of(index).first.to_ne_bytes()));
    bytes
}

/// `struct tc_sizespec` with only an overhead, which needs no table.
fn size_spec(overhead: u32) -> [u8; SIZE_SPEC_BYTES] {
    /// TC_LINKLAYER_ETHERNET.
    const ETHERNET: u32 = 1;
    let mut bytes = [0; SIZE_SPEC_BYTES];
    bytes[4..8].copy_from_slice(&overhead.to_ne_bytes());
    bytes[8..12].copy_from_slice(&ETHERNET.to_ne_bytes());
    bytes
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::taprio::{ClassOption, Queues, Schedule};

    pub(in crate::taprio) fn example(entries: usize) -> Taprio {
        let mut of_priority = [0; 16];
        of_priority[1] = 1;
        let entry = |index: usize| Entry { command: 0, gates: 1 + (index as u32 & 1), interval_ns: 1000 };
        Taprio {
            handle: 0x100,
            overhead_bytes: None,
            classes: ClassMap {
                of_priority,
                queues: vec![Queues { count: 1, first: 0 }, Queues { count: 1, first: 1 }],
            },
            schedule: Schedule { entries: (0..entries).map(entry).collect(), ..Schedule::default() },
            clock_id: Some(libc::CLOCK_TAI),
            flags: 0,
            txtime_delay_ns: None,
            class_options: Vec::new(),
        }
    }

    #[test]
    fn two_entries_are_a_message_of_220_bytes() {
        let bytes = request(7, &example(2)).unwrap().finished();
        assert_eq!(bytes.len(), 220);
        assert_eq!(bytes[20..36], [[7, 0, 0, 0], [0, 0, 0, 1], [0xff; 4], [0; 4]].concat(), "struct tcmsg");
        // PRIOMAP: 4 + 82 bytes, two classes, priority 1 of class 1, queues 1@0 and 1@1.
        assert_eq!(bytes[52..56], [86, 0, 1, 0]);
        assert_eq!(bytes[56..59], [2, 0, 1]);
        assert_eq!(bytes[74..78], [1, 0, 1, 0]);
        assert_eq!(bytes[106..110], [0, 0, 1, 0]);
        // The list, its first entry: command, gates, interval.
        assert_eq!(bytes[140..148], [60, 0, 2, 0, 28, 0, 1, 0]);
        assert_eq!(bytes[148..156], [5, 0, 2, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[156..164], [8, 0, 3, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[164..172], [8, 0, 4, 0, 0xe8, 3, 0, 0]);
    }

    #[test]
    fn a_classs_options_are_marked_as_nested() {
        let mut limited = example(2);
        limited.class_options = vec![ClassOption { class: 1, max_sdu: 1000, preemptible: None }];
        let bytes = request(7, &limited).unwrap().finished();
        assert_eq!(bytes[bytes.len() - 20..bytes.len() - 16], [20, 0, 12, 0x80]);
    }

    #[test]
    fn a_list_that_does_not_fit_is_refused_before_it_is_sent() {
        assert!(request(7, &example(2000)).is_ok());
        assert!(request(7, &example(3200)).is_ok(), "without commands");
        let error = request(7, &example(3300)).unwrap_err().to_string();
        assert!(error.contains("3300 entries") && error.contains("about 32"), "{error}");
        let mut held = example(2400);
        held.schedule.entries[0].command = 1;
        assert!(request(7, &held).is_err(), "commands must be included");
    }
}
