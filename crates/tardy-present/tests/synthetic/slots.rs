//! A test of a time-aware switch: two flows without the shaper, then with it.

use tardy_record::flow::{
    DequeueCost, FlowSeries, FrameCount, OutOfSlot, PhaseHistogram, StampSource, Window,
};
use tardy_record::flow_recorder::{Arrival, FlowRecorder};
use tardy_record::gates::GateEntry;
use tardy_record::plan::Wake;
use tardy_record::run::State;
use tardy_record::switch::{PortSchedule, Ptp, ScheduleSource, SwitchPlace, SwitchRecord};
use tardy_record::{Knowable, Run, Series};

use super::machine::facts;
use super::{Random, SECOND, bare, finish};

const CYCLE_NS: u64 = 1_000_000;
/// Each frame's time on the wire at the switch's port, and at the ingress port of both flows.
const FRAME_NS: u64 = 12_304;
const CAME_IN_EVERY_NS: u64 = 39_000;
const WIRE_BYTES: u64 = 1538;

/// Blue has 800 us of each millisecond and red 200; a few frames of blue are seen shortly after their slot.
pub(crate) fn slots() -> Run {
    let phases = [
        (Wake::ClockNanosleep, 1, 2 * SECOND, Vec::new()),
        (Wake::ClockNanosleep, 1, 2 * SECOND, Vec::new()),
    ];
    let mut run = bare("slots", facts(true), &phases);
    run.plan.limit_ns = None;
    for (phase, label) in ["without the shaper", "with the shaper"].into_iter().enumerate() {
        run.phases[phase].label = label.to_owned();
        for class in 0..2 {
            run.series.push(flow(&run, phase, class));
        }
    }
    run.switch = Some(SwitchRecord {
        name: "tsn0".into(),
        file_name: "tsn-two-flows.toml".into(),
        file: "# as written".into(),
        place: SwitchPlace::Namespaces,
        ports: vec![schedule()],
        ptp: Ptp::default(),
        tai_minus_utc_s: Knowable::Known(37),
        remarks: Vec::new(),
    });
    finish(run, State::Complete)
}

fn schedule() -> PortSchedule {
    PortSchedule {
        port: "swp1".into(),
        source: ScheduleSource::ReadBack,
        clock: "CLOCK_TAI".into(),
        base_ns: 0,
        cycle_ns: CYCLE_NS,
        entries: vec![GateEntry::set(1, 800_000), GateEntry::set(2, 200_000)],
        link_bps: Knowable::Known(1_000_000_000),
        overhead_bytes: 24,
    }
}

fn flow(run: &Run, phase: usize, class: u8) -> Series {
    let shaped = phase == 1;
    let start_ns = run.phases[phase].start_ns;
    let windows = if shaped { schedule().windows(class, FRAME_NS) } else { Vec::new() };
    let about = FlowSeries {
        flow: ["blue", "red"][usize::from(class)].into(),
        class,
        port: "swp1".into(),
        listener: "listeners".into(),
        stamped_by: StampSource::Software,
        cycle_ns: CYCLE_NS,
        phases: PhaseHistogram::default(),
        windows: windows.clone(),
        frames: FrameCount::default(),
        early: OutOfSlot::default(),
        late: OutOfSlot::default(),
        drift: Vec::new(),
        dequeue_to_receive: None,
        at_gate: None,
        tai_minus_utc_s: Knowable::Known(37),
    };
    let mut recorder = FlowRecorder::new(about, 0, start_ns, 2 * SECOND);
    let mut random = Random(7 + u64::from(class));
    let mut sent = 0;
    for cycle in 0..2 * SECOND / CYCLE_NS {
        let came_in = (0..CYCLE_NS / CAME_IN_EVERY_NS / 2).map(|number| number * CAME_IN_EVERY_NS * 2);
        let mut free_at = 0;
        for came in came_in {
            sent += 1;
            let came = came + u64::from(class) * CAME_IN_EVERY_NS;
            let left = windows.first().map_or(came, |window| window_for(window, came).max(free_at));
            free_at = left + FRAME_NS;
            let noise = (random.share() * 3_000.0) as u64 + if random.share() < 0.0005 { 9_000 } else { 0 };
            let phase_ns = (left + FRAME_NS + noise) as i64;
            let received_ns = (start_ns + cycle * CYCLE_NS) as i64 + phase_ns;
            recorder.arrived(Arrival {
                sequence: sent - 1,
                sent_ns: (start_ns + cycle * CYCLE_NS + came) as i64 - 40_000,
                received_ns,
                at_ns: received_ns as u64,
                wire_bytes: WIRE_BYTES,
            });
        }
    }
    let cost = shaped.then(|| DequeueCost::of(&[6_000, 9_000, 21_400])).flatten();
    recorder.series(phase, Some(sent), cost)
}

/// When a frame that arrived at `came` in the cycle may leave, if its whole time on the wire must be in the window.
fn window_for(window: &Window, came: u64) -> u64 {
    let fits = came + FRAME_NS < window.close_ns;
    if fits { came.max(window.open_ns) } else { window.open_ns + CYCLE_NS }
}
