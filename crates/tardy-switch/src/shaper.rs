//! Converts a port's shaper from the file's form to the kernel's, and compares the kernel's with the requested one.

use serde::{Deserialize, Serialize};
use tardy_record::gates::{GateEntry, GateOperation};
use tardy_sys::taprio::{self, ClassMap, ClassOption, Entry, Schedule, Shown};
use tardy_tsn::settings::Taprio;

/// A saved shaper, which can be sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShaperRecord {
    overhead_bytes: Option<u32>,
    of_priority: [u8; 16],
    /// Count and offset of each class.
    queues: Vec<(u16, u16)>,
    base_time_ns: i64,
    cycle_time_ns: i64,
    cycle_time_extension_ns: i64,
    /// Command, gates and interval of each entry, as in the kernel: another program's shaper may use commands that
    /// tardy does not know.
    entries: Vec<(u8, u32, u32)>,
    clock_id: Option<i32>,
    flags: u32,
    txtime_delay_ns: Option<u32>,
    /// Class and largest service data unit.
    max_sdu: Vec<(u32, u32)>,
    /// The preemptible classes.
    #[serde(default)]
    preemptible: Vec<u32>,
}

impl ShaperRecord {
    /// The shaper that the kernel shows; `None` if it shows no schedule.
    pub(super) fn of(shown: &Shown) -> Option<Self> {
        let schedule = shown.admin.as_ref().or(shown.operating.as_ref())?;
        Some(Self {
            overhead_bytes: shown.overhead_bytes,
            of_priority: shown.classes.of_priority,
            queues: shown.classes.queues.iter().map(|one| (one.count, one.first)).collect(),
            base_time_ns: schedule.base_time_ns,
            cycle_time_ns: schedule.cycle_time_ns,
            cycle_time_extension_ns: schedule.cycle_time_extension_ns,
            entries: schedule.entries.iter().map(|one| (one.command, one.gates, one.interval_ns)).collect(),
            clock_id: shown.clock_id,
            flags: shown.flags,
            txtime_delay_ns: shown.txtime_delay_ns,
            max_sdu: shown.class_options.iter().map(|one| (one.class, one.max_sdu)).collect(),
            preemptible: preemptible(&shown.class_options).collect(),
        })
    }

    /// Sends it to the port `name` again. It is not an error if the port is gone.
    pub(super) fn send(&self, name: &str) -> Result<(), String> {
        match taprio::replace(name, &self.taprio()) {
            Err(taprio::TaprioError::Kernel(error)) if error.is_absent() => Ok(()),
            sent => sent.map(drop).map_err(|error| error.to_string()),
        }
    }

    /// The shaper as it is sent to the kernel.
    pub(super) fn taprio(&self) -> taprio::Taprio {
        let queues = self.queues.iter().map(|&(count, first)| taprio::Queues { count, first });
        let entries =
            self.entries.iter().map(|&(command, gates, interval_ns)| Entry { command, gates, interval_ns });
        let limit =
            |class: u32| self.max_sdu.iter().find(|(of, _)| *of == class).map_or(0, |(_, bytes)| *bytes);
        // For every class, since the kernel keeps the limits of classes that are not named.
        let options = (0..self.queues.len() as u32).map(|class| ClassOption {
            class,
            max_sdu: limit(class),
            preemptible: self.preemptible.contains(&class).then_some(true),
        });
        taprio::Taprio {
            handle: HANDLE,
            overhead_bytes: self.overhead_bytes,
            classes: ClassMap { of_priority: self.of_priority, queues: queues.collect() },
            schedule: Schedule {
                base_time_ns: self.base_time_ns,
                cycle_time_ns: self.cycle_time_ns,
                cycle_time_extension_ns: self.cycle_time_extension_ns,
                entries: entries.collect(),
            },
            clock_id: self.clock_id,
            flags: self.flags,
            txtime_delay_ns: self.txtime_delay_ns,
            class_options: options.collect(),
        }
    }
}

/// The handle that identifies tardy's shapers.
pub const HANDLE: u16 = 0x7514;

/// A shaper as it is sent to the kernel.
pub fn to_kernel(taprio: &Taprio) -> taprio::Taprio {
    let queues = taprio.queues.iter().map(|one| taprio::Queues { count: one.count, first: one.offset });
    // Express is the default, and the kernel does not show it.
    let is_preemptible = |class: usize| taprio.preemptible >> class & 1 == 1;
    let stated =
        taprio.max_sdu.iter().enumerate().filter(|(class, bytes)| **bytes != 0 || is_preemptible(*class));
    let option = |(class, max_sdu): (usize, &u32)| ClassOption {
        class: class as u32,
        max_sdu: *max_sdu,
        preemptible: is_preemptible(class).then_some(true),
    };
    taprio::Taprio {
        handle: HANDLE,
        overhead_bytes: (taprio.overhead != 0).then_some(taprio.overhead),
        classes: ClassMap { of_priority: taprio.prio_tc_map, queues: queues.collect() },
        schedule: Schedule {
            base_time_ns: taprio.base_time_ns,
            cycle_time_ns: taprio.cycle_time_ns.unwrap_or(0),
            cycle_time_extension_ns: taprio.cycle_time_extension_ns.unwrap_or(0),
            entries: taprio.entries.iter().map(to_kernel_entry).collect(),
        },
        clock_id: taprio.clockid,
        flags: taprio.flags,
        txtime_delay_ns: taprio.txtime_delay_ns,
        class_options: stated.map(option).collect(),
    }
}

fn to_kernel_entry(entry: &GateEntry) -> Entry {
    Entry { command: entry.operation.command(), gates: entry.gates, interval_ns: entry.interval_ns }
}

/// The gate control list of a schedule that the kernel shows. A command that tardy does not know counts as
/// SetGateStates.
pub(crate) fn gate_entries(schedule: &Schedule) -> Vec<GateEntry> {
    let of_kernel = |entry: &Entry| GateEntry {
        operation: GateOperation::of_command(entry.command).unwrap_or_default(),
        gates: entry.gates,
        interval_ns: entry.interval_ns,
    };
    schedule.entries.iter().map(of_kernel).collect()
}

/// Whether the shaper that the kernel shows is `wanted`, or will be from its base time on.
pub fn is_same(shown: &Shown, wanted: &taprio::Taprio) -> bool {
    let schedule = shown.admin.as_ref().or(shown.operating.as_ref());
    is_changeable(shown, wanted)
        && shown.overhead_bytes == wanted.overhead_bytes
        // The kernel shows the class options only together with a running schedule.
        && (shown.operating.is_none() || shown.class_options == wanted.class_options)
        && schedule.is_some_and(|shown| is_same_schedule(shown, &wanted.schedule))
}

/// Whether the shaper can be changed into `wanted` while it runs. Only its schedule can be changed
/// (taprio_change() in net/sched/sch_taprio.c).
pub(super) fn is_changeable(shown: &Shown, wanted: &taprio::Taprio) -> bool {
    shown.handle == wanted.handle
        && shown.classes == wanted.classes
        && shown.clock_id == wanted.clock_id
        && shown.flags == wanted.flags
        && shown.txtime_delay_ns.unwrap_or(0) == wanted.txtime_delay_ns.unwrap_or(0)
}

/// The preemptible classes of these.
fn preemptible(options: &[ClassOption]) -> impl Iterator<Item = u32> {
    options.iter().filter(|option| option.preemptible == Some(true)).map(|option| option.class)
}

/// `wanted` as it is sent to a running shaper. The kernel keeps the limits and the preemption of classes that are not named
/// (taprio_parse_tc_entries() in net/sched/sch_taprio.c), so a limit that is to be removed is sent as 0, and a class that is not
/// preemptible any more as express.
pub(super) fn lifting_limits(wanted: &taprio::Taprio, shown: &Shown) -> taprio::Taprio {
    let mut request = wanted.clone();
    let stays = |old: &&ClassOption| wanted.class_options.iter().any(|new| new.class == old.class);
    let goes = shown.class_options.iter().filter(|old| !stays(old));
    request.class_options.extend(goes.map(|old| ClassOption { max_sdu: 0, preemptible: None, ..*old }));
    let was: Vec<u32> = preemptible(&shown.class_options).collect();
    for option in request.class_options.iter_mut().filter(|option| was.contains(&option.class)) {
        option.preemptible.get_or_insert(false);
    }
    request
}

fn is_same_schedule(shown: &Schedule, wanted: &Schedule) -> bool {
    shown.base_time_ns == wanted.base_time_ns
        && taprio::cycle_ns(shown) == taprio::cycle_ns(wanted)
        && shown.cycle_time_extension_ns == wanted.cycle_time_extension_ns
        && shown.entries == wanted.entries
}
