//! What a test of a switch recorded: whether each flow kept to its windows.

use tardy_record::Run;

/// After the end of its window a frame may arrive by what receiving it takes: 20 us by hand, and as much again.
const LATE_NS_MAX: u64 = 40_000;
/// One frame in so many may be late for that reason.
const LATE_ONE_IN: u64 = 100;

/// The run in `file`, in which no frame came before its window, and none after it but for what receiving takes.
pub(super) fn held(file: &[u8]) -> Run {
    let run = tardy_record::file::from_text(file).unwrap();
    assert!(run.validity.valid, "{:?}", run.validity);
    for series in &run.series {
        let flow = series.flow().unwrap();
        let (came, early, late) = (flow.frames.received, flow.early, flow.late);
        println!("{}: {came} frames, early {early:?}, late {late:?}", flow.flow);
        assert!(!flow.windows.is_empty() && came > 500, "{}: {came} frames", flow.flow);
        assert_eq!(early.frames, 0, "{}: {early:?}", flow.flow);
        let few = late.frames * LATE_ONE_IN <= came;
        assert!(few && late.worst_ns <= LATE_NS_MAX, "{}: {late:?} of {came}", flow.flow);
    }
    run
}
