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
use tardy_lab::guest::messages::Message;
use tardy_lab::guest::orders::Orders;
use tardy_lab::guest::thread_cost::ThreadCost;
use tardy_lab::kernel::{self, KernelSpec};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_record::Series;

use crate::guests::{self, Turn};

/// tardy's run time a cycle over cyclictest's, as last measured (docs/performance.md). When the probe becomes leaner,
/// this becomes smaller.
const RATIO_RECORDED: f64 = 0.94;
/// How much it may grow before this test fails.
const GROWTH: f64 = 1.05;
/// A priority that no thread of the guest has otherwise.
const PRIORITY: &str = "83";
const RT: &str = "debian:6.12-rt";

/// Like `cyclictest -m -t1 -a0 -p83`.
fn recipe(interval_us: u32) -> String {
    format!(
        r#"
about = "One thread, as cyclictest has it."
[run]
duration = "4s"
warmup = "0s"
[timer]
interval = "{interval_us}us"
priority = {PRIORITY}
cpus = "0"
"#
    )
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn experiment(guests: &Path, interval_us: u32) -> Experiment {
    let measured = |command: &str| words(&format!("/tardy __thread-cost {PRIORITY} 2000 {command}"));
    let recipe = Entry::File { content: recipe(interval_us).into(), executable: false };
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
                measured(&format!(
                    "/usr/bin/cyclictest -m -t1 -a0 -p{PRIORITY} -i{interval_us} -D4 -q -N -h100000 \
                     --histfile=/lab/results/cyclictest.txt"
                )),
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

/// The median of what tardy recorded. Its bin is under 0.8 % wide, and the middle the best guess of where in it it lies.
pub(crate) fn median_of(series: &Series) -> f64 {
    let rank = quantile::LEVELS[0].rank(series.measured.total());
    let (lower_ns, upper_ns) = quantile::edges_of_rank(&series.measured, rank).unwrap();
    (lower_ns + upper_ns) as f64 / 2.0
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

/// What a cycle of each costs, and the median that each records, in ns.
struct Costs {
    tardy_ns: f64,
    cyclictest_ns: f64,
    tardy_median_ns: f64,
    cyclictest_median_ns: u64,
}

impl Costs {
    fn ratio(&self) -> f64 {
        self.tardy_ns / self.cyclictest_ns
    }
}

/// Runs both in one guest, and prints what came of it.
fn measure(guests: &Path, kernel: &str, interval_us: u32) -> Costs {
    let spec = KernelSpec::parse(kernel).unwrap();
    let kernel = kernel::find(&spec, Arch::X86_64, false, &mut |text| eprintln!("{text}")).unwrap();
    let mut costs: Vec<ThreadCost> = Vec::new();
    let mut receive = |message: &Message| {
        if let Message::Output { text } = message {
            match serde_json::from_str(text) {
                Ok(cost) => costs.push(cost),
                Err(_) => eprintln!("{text}"),
            }
        }
    };
    let turn = Turn::on_one();
    let host = Host { core: Some(turn.core()), cancel: None };
    let outcome = experiment(guests, interval_us).run(&kernel, Vec::new(), host, &mut receive).unwrap();
    assert_eq!((outcome.status, costs.len()), (0, 2));
    let file = |name: &str| {
        let file = outcome.files.iter().find(|(given, _)| given == name);
        file.unwrap_or_else(|| panic!("no {name}")).1.clone()
    };
    let run = tardy_record::file::from_text(&file("cost.run.json")).unwrap();
    let costs = Costs {
        tardy_ns: costs[0].per_cycle_ns(),
        cyclictest_ns: costs[1].per_cycle_ns(),
        tardy_median_ns: median_of(&run.series[0]),
        cyclictest_median_ns: median_ns(&String::from_utf8(file("cyclictest.txt")).unwrap()),
    };
    println!(
        "{}, {interval_us} us: run time a cycle: tardy {:.0} ns, cyclictest {:.0} ns, ratio {:.4}; median: {:.0} and {} ns",
        kernel.release,
        costs.tardy_ns,
        costs.cyclictest_ns,
        costs.ratio(),
        costs.tardy_median_ns,
        costs.cyclictest_median_ns
    );
    costs
}

#[test]
fn a_cycle_of_tardys_probe_costs_no_more_than_one_of_cyclictests() {
    let Some(guests) = guests::directory() else { return };
    let costs = measure(&guests, RT, 1000);
    let ratio = costs.ratio();
    assert!(ratio <= RATIO_RECORDED * GROWTH, "{ratio:.4} is over {RATIO_RECORDED} by more than 5 %");
    assert!(ratio < 1.0, "{ratio:.4}: cyclictest is leaner");
    assert!(costs.tardy_median_ns <= costs.cyclictest_median_ns as f64, "cyclictest's median is lower");
}

/// The table of docs/performance.md.
#[test]
#[ignore = "four boots, for the table in docs/performance.md: the test above holds one of its rows"]
fn costs_on_both_kernels_at_two_intervals() {
    let Some(guests) = guests::directory() else { return };
    for kernel in [RT, "debian:6.12"] {
        for interval_us in [1000, 200] {
            assert!(measure(&guests, kernel, interval_us).ratio() < 1.0, "{kernel}: cyclictest is leaner");
        }
    }
}
