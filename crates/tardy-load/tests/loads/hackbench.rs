//! The scheduler part compared with the tool that it is modelled on, in turns on the same machine.

use std::process::Command;
use std::time::Instant;

use tardy_load::Loads;

use crate::{Test, context, specs};

pub(crate) const TESTS: &[Test] = &[(
    "the_scheduler_part_is_within_a_fifth_of_hackbench",
    the_scheduler_part_is_within_a_fifth_of_hackbench,
)];

/// The maximum number of rounds. One is enough unless the machine is noisy.
const ROUNDS_MOST: usize = 15;
/// Each of 20 senders sends this many messages to each of 20 receivers, which takes seconds.
const LOOPS: u64 = 6000;
/// How long the scheduler part runs: long enough for a kill and a new group.
const SECONDS: f64 = 6.0;

fn the_scheduler_part_is_within_a_fifth_of_hackbench() {
    if let Err(error) = Command::new("hackbench").arg("--help").output() {
        println!("  skipped: hackbench does not run ({error}); it is in Debian's package rt-tests");
        assert!(std::env::var_os("CI").is_none(), "CI must have hackbench");
        return;
    }
    let mut ratios = Vec::new();
    let is_close = |ratios: &[f64]| (0.8..=1.2).contains(&median(ratios));
    while ratios.is_empty() || ratios.len() < ROUNDS_MOST && !is_close(&ratios) {
        let (theirs, ours) = (hackbench_rate(), our_rate());
        ratios.push(ours / theirs);
        println!("  round {}: hackbench {theirs:.0}, scheduler {ours:.0} messages/s", ratios.len());
    }
    let ratio = median(&ratios);
    println!("  median of {} rounds: scheduler / hackbench = {ratio:.3}", ratios.len());
    assert!(is_close(&ratios), "{ratio:.3} of hackbench's rate");
}

/// hackbench's messages per second, from the time that it prints. The time begins after the forks, with the start
/// signal, and ends with the last task.
fn hackbench_rate() -> f64 {
    let output = Command::new("hackbench").args(["-g", "1", "-l", &LOOPS.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let seconds =
        text.lines().find_map(|line| line.strip_prefix("Time: ")).unwrap_or_else(|| panic!("{text}"));
    (LOOPS * 20 * 20) as f64 / seconds.trim().parse::<f64>().unwrap()
}

/// The scheduler part's messages per second, including the forks and kills of a group.
fn our_rate() -> f64 {
    let mut loads = Loads::start(&specs(&["scheduler"]), &context()).unwrap();
    let begin = Instant::now();
    loads.read(0);
    // The sleep is the measured time; it does not wait for a condition.
    std::thread::sleep(std::time::Duration::from_secs_f64(SECONDS));
    let seconds = begin.elapsed();
    loads.read(seconds.as_nanos() as u64);
    let part = loads.stop()[0].parts[0].clone();
    assert!(part.deaths.is_empty(), "{part:?}");
    (part.done[1] - part.done[0]) as f64 / seconds.as_secs_f64()
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
