//! The scheduler part beside the tool that it is modelled on, in turns on the same machine.

use std::process::Command;
use std::time::Instant;

use tardy_measure::load::Loads;

use crate::{Test, context, specs};

pub(crate) const TESTS: &[Test] = &[(
    "the_scheduler_part_is_within_a_fifth_of_hackbench",
    the_scheduler_part_is_within_a_fifth_of_hackbench,
)];

const ROUNDS: usize = 5;
/// Each of 20 senders sends this many messages to each of 20 receivers: some seconds' worth.
const LOOPS: u64 = 6000;
/// Long enough for a kill and a new group.
const SECONDS: f64 = 6.0;

fn the_scheduler_part_is_within_a_fifth_of_hackbench() {
    if let Err(error) = Command::new("hackbench").arg("--help").output() {
        println!("  skipped: hackbench does not run ({error}); it is in Debian's package rt-tests");
        assert!(std::env::var_os("CI").is_none(), "CI must have hackbench");
        return;
    }
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        theirs.push(hackbench_rate());
        ours.push(our_rate());
        println!(
            "  round {}: hackbench {:.0}, scheduler {:.0} messages/s",
            round + 1,
            theirs[round],
            ours[round]
        );
    }
    let ratio = median(&mut ours) / median(&mut theirs);
    println!("  median of {ROUNDS} rounds: scheduler / hackbench = {ratio:.3}");
    assert!((0.8..=1.2).contains(&ratio), "{ratio:.3} of hackbench's rate");
}

/// Messages a second, from the time that it prints: from the word to go, its forks not counted, to its last task's end.
fn hackbench_rate() -> f64 {
    let output = Command::new("hackbench").args(["-g", "1", "-l", &LOOPS.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let seconds =
        text.lines().find_map(|line| line.strip_prefix("Time: ")).unwrap_or_else(|| panic!("{text}"));
    (LOOPS * 20 * 20) as f64 / seconds.trim().parse::<f64>().unwrap()
}

/// Messages a second, forks and kills of a group counted with the rest.
fn our_rate() -> f64 {
    let mut loads = Loads::start(&specs(&["scheduler"]), &context()).unwrap();
    let begin = Instant::now();
    loads.read(0);
    // A rate is over a time; nothing is waited for.
    std::thread::sleep(std::time::Duration::from_secs_f64(SECONDS));
    let seconds = begin.elapsed();
    loads.read(seconds.as_nanos() as u64);
    let part = loads.stop()[0].parts[0].clone();
    assert!(part.deaths.is_empty(), "{part:?}");
    (part.done[1] - part.done[0]) as f64 / seconds.as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
