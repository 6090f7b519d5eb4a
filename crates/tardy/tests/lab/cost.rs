//! What tardy's probe costs, in counted instructions, beside Debian's cyclictest in the same guest.
//!
//! The order is fixed, tardy first: a probe's place in the run moves its run time by 2 % there.

use std::path::Path;
use std::time::Duration;

use tardy_analyse::quantile;
use tardy_lab::arch::Arch;
use tardy_lab::experiment::{Experiment, Host};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::guest::orders::Orders;
use tardy_lab::guest::thread_cost::ThreadCost;
use tardy_lab::guest::words::Word;
use tardy_lab::kernel::{self, KernelSpec};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;

use crate::guests;

/// tardy's run time a cycle over cyclictest's, as last measured (docs/performance.md). When the probe becomes leaner,
/// this becomes smaller.
const RATIO_RECORDED: f64 = 0.94;
/// How much it may grow before this test fails.
const GROWTH: f64 = 1.05;
/// A priority that no thread of the guest has otherwise.
const PRIORITY: &str = "83";
const RECIPE: &str = r#"
about = "Like cyclictest -m -t1 -a0 -p83 -i1000."
[run]
duration = "4s"
warmup = "0s"
[timer]
interval = "1ms"
priority = 83
cpus = "0"
"#;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn experiment(guests: &Path) -> Experiment {
    let measured = |command: &str| words(&format!("/tardy __thread-cost {PRIORITY} 2000 {command}"));
    let recipe = Entry::File { content: RECIPE.into(), executable: false };
    let rt_tests = PackageStore::of_this_user()
        .and_then(|store| store.fetch_tool_root(Arch::X86_64, &["rt-tests"], &mut |text| eprintln!("{text}")))
        .unwrap();
    let mut files = libraries::tool(&rt_tests.root, "/usr/bin/cyclictest").unwrap();
    files.push(("lab/cost.toml".to_owned(), recipe));
    Experiment {
        machine: Machine::Pc,
        pace: Pace::default(),
        memory_mib: 512,
        patience: Duration::from_secs(300),
        orders: Orders {
            commands: vec![
                measured("/tardy run -q /lab/cost.toml -o /lab/results/cost.run.json"),
                measured(
                    "/usr/bin/cyclictest -m -t1 -a0 -p83 -i1000 -D4 -q -N -h100000 \
                     --histfile=/lab/results/cyclictest.txt",
                ),
            ],
            ..Orders::default()
        },
        parts: Parts {
            tardy: std::fs::read(guests.join("tardy-guest-x86_64")).unwrap(),
            files,
            ..Parts::default()
        },
    }
}

/// The median of a cyclictest histogram with bins of 1 ns.
fn median_ns(histogram: &str) -> u64 {
    let bins: Vec<(u64, u64)> = histogram
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(char::is_whitespace))
        .filter_map(|(bin, count)| Some((bin.trim().parse().ok()?, count.trim().parse().ok()?)))
        .collect();
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    for (bin, count) in bins {
        below += count;
        if below * 2 >= total {
            return bin;
        }
    }
    panic!("cyclictest wrote no histogram:\n{histogram}");
}

#[test]
fn a_cycle_of_tardys_probe_costs_no_more_than_one_of_cyclictests() {
    let Some(guests) = guests::directory() else { return };
    let spec = KernelSpec::parse("debian:6.12-rt").unwrap();
    let kernel = kernel::find(&spec, Arch::X86_64, false, &mut |text| eprintln!("{text}")).unwrap();
    let mut costs: Vec<ThreadCost> = Vec::new();
    let mut hear = |word: &Word| {
        if let Word::Say { text } = word {
            match serde_json::from_str(text) {
                Ok(cost) => costs.push(cost),
                Err(_) => eprintln!("{text}"),
            }
        }
    };
    let host = Host { core: Some(0), cancel: None };
    let outcome = experiment(&guests).run(&kernel, Vec::new(), host, &mut hear).unwrap();
    assert_eq!((outcome.status, costs.len()), (0, 2));
    let file = |name: &str| {
        let file = outcome.files.iter().find(|(given, _)| given == name);
        file.unwrap_or_else(|| panic!("no {name}")).1.clone()
    };

    let ratio = costs[0].per_cycle_ns() / costs[1].per_cycle_ns();
    let run = tardy_record::file::from_text(&file("cost.run.json")).unwrap();
    let measured = &run.series[0].measured;
    let median_rank = quantile::LEVELS[0].rank(measured.total());
    // The bin is under 0.8 % wide, and its middle the best guess of where in it the median lies.
    let (lower_ns, upper_ns) = quantile::edges_of_rank(measured, median_rank).unwrap();
    let tardy_median_ns = (lower_ns + upper_ns) as f64 / 2.0;
    let cyclictest_median_ns = median_ns(&String::from_utf8(file("cyclictest.txt")).unwrap());
    println!(
        "run time a cycle: tardy {:.0} ns, cyclictest {:.0} ns, ratio {ratio:.4}; median: {tardy_median_ns:.0} and \
         {cyclictest_median_ns} ns",
        costs[0].per_cycle_ns(),
        costs[1].per_cycle_ns()
    );
    assert!(ratio <= RATIO_RECORDED * GROWTH, "{ratio:.4} is over {RATIO_RECORDED} by more than 5 %");
    assert!(ratio < 1.0, "{ratio:.4}: cyclictest is leaner");
    assert!(tardy_median_ns <= cyclictest_median_ns as f64, "cyclictest's median is lower");
}
