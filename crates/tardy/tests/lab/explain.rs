//! `tardy lab explain` on runs that other tests have measured.

use std::path::Path;
use std::process::Command;

use tardy_record::Run;
use tardy_record::explanation::{Explanations, PartKind};

use crate::guests;

/// Between the timer's time and its interrupt, no more than one block of instructions may lack an explanation.
const BLOCK: u64 = 40;

/// Explains the worst wake-up of each series. That the run was the same, and that the observer saw as many wake-ups in each bin of the
/// histogram, tardy checks itself.
pub(crate) fn its_worst_wakeups_add_up(guests: &Path, path: &Path, run: &Run) {
    let (json, page) = (path.with_extension("explained.json"), path.with_extension("html"));
    let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
    tardy.args(["lab", "explain", "--quiet", "--observer"]).arg(guests.join("tardy-observer-qemu7.so"));
    tardy.arg(path).arg("-o").arg(&json).arg("-o").arg(&page);
    let shown = guests::text_of(&guests::expect_alone(&tardy, 0));
    let explanations: Explanations = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(explanations.wakeups.len(), run.series.len());
    for (wakeup, series) in explanations.wakeups.iter().zip(&run.series) {
        let explanation = &wakeup.explanation;
        assert_eq!(Some(explanation.latency_ns as i64), series.max_ns, "{shown}");
        assert_eq!(wakeup.cycle, series.worst[0].cycle);
        assert!(explanation.latency_ns.abs_diff(explanation.instructions * 2) <= 4, "{shown}");
        let parts: u64 = explanation.parts.iter().map(|part| part.instructions).sum();
        assert_eq!(parts, explanation.instructions, "{shown}");
        assert!(explanation.unexplained <= BLOCK, "{shown}");
        for kind in
            [PartKind::Timer, PartKind::WakeUp, PartKind::Scheduling, PartKind::Switch, PartKind::Return]
        {
            assert!(explanation.parts.iter().any(|part| part.kind == kind), "{kind:?}: {shown}");
        }
        let own: u64 = explanation.calls.iter().map(of_all).sum();
        let waited: u64 = explanation.instructions - own;
        assert!(
            waited <= 100,
            "only the timer's hardware takes time without instructions: {waited}, {shown}"
        );
    }
    for function in ["hrtimer_wakeup", "try_to_wake_up", "__schedule", "do_nanosleep"] {
        assert!(shown.contains(function), "{function}: {shown}");
    }
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("data-kind=\"icicle\"") && page.contains("data-name=\"hrtimer_interrupt\""));
}

/// The instructions of a function and of all that it called, added up.
fn of_all(call: &tardy_record::explanation::Call) -> u64 {
    call.own + call.calls.iter().map(of_all).sum::<u64>()
}
