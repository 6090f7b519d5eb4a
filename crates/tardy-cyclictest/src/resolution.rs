//! `-R`: the resolution of the measuring clock, as the kernel reports it and as consecutive readings show it.

use tardy_probe::timer::sys_clock;
use tardy_record::plan::ClockId;

/// Readings compared: more than 500 us with the cheapest clocks, the coarsest resolution that cyclictest detects.
const READINGS: usize = 100_000;

/// The lines of `-R` for standard error. Like cyclictest's, they are empty if the measured resolution is not coarser than the
/// reported one, unless `is_verbose`.
pub fn lines(clock: ClockId, is_verbose: bool) -> Vec<String> {
    let clock = sys_clock(clock);
    let reported_ns = clock.resolution_ns().ok();
    let readings: Vec<i64> = (0..READINGS).map(|_| clock.now_ns()).collect();
    worded(reported_ns, least_step_ns(&readings), is_verbose)
}

/// The least difference between consecutive readings that is not zero, which includes the time to read the clock.
fn least_step_ns(readings: &[i64]) -> Option<u64> {
    let steps = readings.windows(2).map(|pair| pair[1] - pair[0]);
    steps.filter_map(|step| u64::try_from(step).ok()).filter(|step| *step > 0).min()
}

fn worded(reported_ns: Option<u64>, measured_ns: Option<u64>, is_verbose: bool) -> Vec<String> {
    let text = |ns: Option<u64>| ns.map_or("unknown".to_owned(), |ns| format!("{ns} nsec"));
    if !is_verbose && measured_ns <= reported_ns {
        return Vec::new();
    }
    vec![
        format!("WARN: reported clock resolution: {}", text(reported_ns)),
        format!("WARN: measured clock resolution approximately: {}", text(measured_ns)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_resolution_is_the_least_step() {
        assert_eq!(least_step_ns(&[5, 5, 9, 12, 12, 20]), Some(3));
        assert_eq!(least_step_ns(&[7, 7]), None);
        assert_eq!(least_step_ns(&[9, 2, 4]), Some(2), "a clock that was set back");
    }

    #[test]
    fn a_resolution_as_reported_is_printed_only_with_verbose() {
        assert!(worded(Some(4_000_000), Some(4_000_000), false).is_empty());
        assert_eq!(worded(Some(1), Some(16), false).len(), 2);
        assert_eq!(
            worded(Some(1), None, true),
            [
                "WARN: reported clock resolution: 1 nsec",
                "WARN: measured clock resolution approximately: unknown"
            ]
        );
    }
}
