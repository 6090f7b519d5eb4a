//! Parses a shaper from the kernel's message.

use super::encode::{
    ADMIN_SCHED, BASE_TIME, CLOCKID, CYCLE_TIME, CYCLE_TIME_EXTENSION, ENTRY, ENTRY_CMD, ENTRY_GATE_MASK,
    ENTRY_INTERVAL, ENTRY_LIST, FLAGS, PRIOMAP, TC_ENTRY, TC_ENTRY_FP, TC_ENTRY_INDEX, TC_ENTRY_MAX_SDU,
    TXTIME_DELAY,
};
use super::{ClassMap, ClassOption, Entry, Queues, Schedule};
use crate::netlink::{Attribute, Attributes};
use crate::qdiscs::Qdisc;

/// A shaper as shown by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Its handle's major number.
    pub handle: u16,
    /// Bytes on the wire in addition to a frame's own.
    pub overhead_bytes: Option<u32>,
    /// The class of each priority, and the queues of each class.
    pub classes: ClassMap,
    /// The clock's id; `None` for full offload.
    pub clock_id: Option<i32>,
    /// 0: software; 1: transmit times (txtime-assist); 2: full offload.
    pub flags: u32,
    /// In txtime-assist mode: how long before its transmit time a frame is passed on, in ns.
    pub txtime_delay_ns: Option<u32>,
    /// Settings of single classes, without those that have none.
    pub class_options: Vec<ClassOption>,
    /// The running schedule.
    pub operating: Option<Schedule>,
    /// The schedule that starts at its base time.
    pub admin: Option<Schedule>,
    /// Waiting frames.
    pub waiting_frames: u32,
    /// Dropped frames.
    pub dropped: u32,
}

impl Shown {
    /// Parses the settings of `qdisc`, which is a shaper. What is missing or malformed is left out.
    pub fn read(qdisc: &Qdisc) -> Self {
        let options = Attributes::of(&qdisc.options);
        let admin = options.find(ADMIN_SCHED).and_then(|admin| schedule(admin.inner()));
        let number = |kind: u16| options.number(kind).map(|number| number as u32);
        Self {
            handle: (qdisc.handle >> 16) as u16,
            overhead_bytes: qdisc.overhead_bytes,
            classes: options.find(PRIOMAP).map(|map| class_map(map.value)).unwrap_or_default(),
            clock_id: number(CLOCKID).map(u32::cast_signed),
            flags: number(FLAGS).unwrap_or(0),
            txtime_delay_ns: number(TXTIME_DELAY),
            class_options: options
                .filter(|one| one.kind == TC_ENTRY)
                .filter_map(|one| class_option(&one))
                .collect(),
            operating: schedule(options),
            admin,
            waiting_frames: qdisc.waiting_frames,
            dropped: qdisc.dropped,
        }
    }
}

fn schedule(attributes: Attributes<'_>) -> Option<Schedule> {
    let time = |kind: u16| attributes.number(kind).unwrap_or(0).cast_signed();
    let entries = attributes.find(ENTRY_LIST)?.inner().filter(|one| one.kind == ENTRY);
    Some(Schedule {
        base_time_ns: time(BASE_TIME),
        cycle_time_ns: time(CYCLE_TIME),
        cycle_time_extension_ns: time(CYCLE_TIME_EXTENSION),
        entries: entries.map(|one| entry(&one)).collect(),
    })
}

fn entry(one: &Attribute<'_>) -> Entry {
    let number = |kind: u16| one.inner().number(kind).unwrap_or(0) as u32;
    Entry {
        command: number(ENTRY_CMD) as u8,
        gates: number(ENTRY_GATE_MASK),
        interval_ns: number(ENTRY_INTERVAL),
    }
}

/// TC_FP_PREEMPTIBLE.
const PREEMPTIBLE: u32 = 2;

fn class_option(one: &Attribute<'_>) -> Option<ClassOption> {
    let number = |kind: u16| one.inner().number(kind).map(|number| number as u32);
    let option = ClassOption {
        class: number(TC_ENTRY_INDEX)?,
        max_sdu: number(TC_ENTRY_MAX_SDU).unwrap_or(0),
        // Express is the default, and the kernel reports it for every class.
        preemptible: number(TC_ENTRY_FP).filter(|kind| *kind == PREEMPTIBLE).map(|_| true),
    };
    (option.max_sdu != 0 || option.preemptible.is_some()).then_some(option)
}

fn class_map(bytes: &[u8]) -> ClassMap {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let number = |at: usize| u16::from_ne_bytes([byte(at), byte(at + 1)]);
    let mut of_priority = [0; 16];
    of_priority.iter_mut().enumerate().for_each(|(index, class)| *class = byte(1 + index));
    let queues = |class: usize| Queues { count: number(18 + 2 * class), first: number(50 + 2 * class) };
    ClassMap { of_priority, queues: (0..usize::from(byte(0)).min(16)).map(queues).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::encode::{request, tests::example};
    use super::*;
    use crate::netlink::Message;

    /// Reads settings back from an encoded request, whose attributes are those of the kernel's answer.
    fn back(taprio: &super::super::Taprio) -> Shown {
        let bytes = request(7, taprio).unwrap().finished();
        let message = Message { kind: libc::RTM_NEWQDISC, port: 0, body: bytes[16..].to_vec() };
        let qdisc = Qdisc::read(&message).unwrap();
        Shown::read(&qdisc)
    }

    #[test]
    fn settings_read_back_as_sent() {
        let mut taprio = example(31);
        taprio.overhead_bytes = Some(24);
        taprio.flags = 1;
        taprio.txtime_delay_ns = Some(500);
        taprio.schedule.base_time_ns = -5;
        taprio.schedule.cycle_time_ns = 31_000;
        taprio.schedule.cycle_time_extension_ns = 9;
        taprio.class_options = vec![ClassOption { class: 1, max_sdu: 500, preemptible: Some(true) }];
        let shown = back(&taprio);
        assert_eq!(shown.operating.as_ref(), Some(&taprio.schedule));
        assert_eq!((shown.handle, shown.overhead_bytes, shown.clock_id), (0x100, Some(24), taprio.clock_id));
        assert_eq!((shown.classes, shown.class_options), (taprio.classes, taprio.class_options));
        assert_eq!((shown.flags, shown.txtime_delay_ns, shown.admin), (1, Some(500), None));
    }

    #[test]
    fn express_is_the_default_of_a_class() {
        let said = |preemptible| {
            let mut taprio = example(2);
            taprio.class_options = vec![ClassOption { class: 1, max_sdu: 500, preemptible }];
            back(&taprio).class_options
        };
        assert_eq!(said(Some(false)), said(None));
    }

    #[test]
    fn a_list_without_commands_reads_back_as_gate_states() {
        let taprio = example(3000);
        assert_eq!(back(&taprio).operating, Some(taprio.schedule));
    }
}
