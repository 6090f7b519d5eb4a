//! What tardy's probe costs, in counted instructions, compared with Debian's cyclictest and with a bare loop in C
//! (bench/timer_loop.c) in the same guest.
//!
//! The order is fixed, tardy first: a probe's place in the boot changes its run time by 2 %.

use tardy_analyse::quantile;
use tardy_init::thread_cost::ThreadCost;
use tardy_lab::kernel::KernelSpec;
use tardy_record::Series;

use crate::own_modules::KERNELS;
use crate::scripted::{Printed, Scene, SharedBoot, boot};
use crate::{answer_cost, c_program, guests, noise, round_trip, rtla};

/// Scenes that count instructions or take the CPU's whole time. The first scene starts on a guest in which nothing ran.
static COSTS: SharedBoot = SharedBoot::as_in_the_lab(KERNELS[1], || {
    let mut scenes = vec![scene(1000), noise::scene(), rtla::scene()];
    scenes.extend(answer_cost::scene());
    scenes.extend(round_trip::scene());
    scenes
});

/// What a scene of that boot printed.
pub(crate) fn counted(scene: &str) -> Option<&'static Printed> {
    COSTS.scene(scene)
}

/// tardy's run time per cycle over cyclictest's, as last measured (docs/performance.md). Lower it when the probe needs
/// less.
const RATIO_RECORDED: f64 = 0.94;
/// How much it may grow before this test fails.
const GROWTH: f64 = 1.05;
/// A priority that no other thread of the guest has.
const PRIORITY: &str = "83";
const LOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/timer_loop.c");
/// The highest ratio of tardy's run time to that of the loop in C. The goal is 1.02; a program's place in the boot makes 2 %.
const LOOP_RATIO_MAX: f64 = 1.04;

/// Does what `cyclictest -m -t1 -a0 -p83` does.
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

/// Runs tardy, then cyclictest, then the loop in C if it can be compiled here, and prints the run time per cycle of each.
fn scene(interval_us: u32) -> Scene {
    let mut script = format!(
        "tardy __thread-cost {PRIORITY} 2000 /tardy run -q \"$FILES/cost.toml\" -o /lab/results/cost.run.json || exit\n\
         tardy __thread-cost {PRIORITY} 2000 /usr/bin/cyclictest -m -t1 -a0 -p{PRIORITY} -i{interval_us} -D4 -q -N \
         -h100000 --histfile=/lab/results/cyclictest.txt\n"
    );
    let loop_in_c = c_program::compiled(LOOP);
    if loop_in_c.is_some() {
        // As in tardy's probe (docs/performance.md).
        script += &format!(
            "GLIBC_TUNABLES=glibc.pthread.rseq=0 tardy __thread-cost {PRIORITY} 2000 $FILES/timer_loop {PRIORITY} \
             {interval_us} {}\n",
            4_000_000 / interval_us
        );
    }
    Scene {
        name: "cost",
        script,
        tools: vec![("rt-tests", "/usr/bin/cyclictest")],
        files: vec![("cost.toml".to_owned(), recipe(interval_us))],
        programs: loop_in_c.into_iter().map(|program| ("timer_loop".to_owned(), program)).collect(),
        ..Scene::default()
    }
}

/// The median of a series, in ns: the middle of its bin, which is less than 0.8 % wide.
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

/// Run time per cycle and median latency of each program, in ns.
struct Costs {
    tardy_ns: f64,
    cyclictest_ns: f64,
    tardy_median_ns: f64,
    cyclictest_median_ns: u64,
    /// `None` if the loop was not compiled.
    loop_ns: Option<f64>,
}

impl Costs {
    fn ratio(&self) -> f64 {
        self.tardy_ns / self.cyclictest_ns
    }

    fn ratio_to_loop(&self) -> Option<f64> {
        self.loop_ns.map(|loop_ns| self.tardy_ns / loop_ns)
    }

    /// The costs that the scene measured, which are also printed.
    fn of(printed: &Printed, label: &str) -> Self {
        let costs: Vec<ThreadCost> = printed.json_lines();
        let [tardy, cyclictest, loop_in_c @ ..] = costs.as_slice() else {
            panic!("{} costs in\n{}", costs.len(), printed.text())
        };
        let costs = Self {
            tardy_ns: tardy.per_cycle_ns(),
            cyclictest_ns: cyclictest.per_cycle_ns(),
            tardy_median_ns: median_of(&printed.run("cost.run.json").series[0]),
            cyclictest_median_ns: median_ns(printed.text_file("cyclictest.txt")),
            loop_ns: loop_in_c.first().map(|cost| cost.per_cycle_ns()),
        };
        println!(
            "{label}: run time per cycle: tardy {:.0} ns, cyclictest {:.0} ns, ratio {:.4}; median: {:.0} and {} ns; \
             loop in C {:?} ns, ratio {:.4?}",
            costs.tardy_ns,
            costs.cyclictest_ns,
            costs.ratio(),
            costs.tardy_median_ns,
            costs.cyclictest_median_ns,
            costs.loop_ns,
            costs.ratio_to_loop()
        );
        costs
    }
}

#[test]
fn a_cycle_of_tardys_probe_costs_no_more_than_one_of_cyclictests() {
    let Some(printed) = counted("cost") else { return };
    let costs = Costs::of(printed, KERNELS[1]);
    let ratio = costs.ratio();
    assert!(ratio <= RATIO_RECORDED * GROWTH, "{ratio:.4} is over {RATIO_RECORDED} by more than 5 %");
    assert!(ratio < 1.0, "{ratio:.4}: cyclictest needs less run time");
    assert!(costs.tardy_median_ns <= costs.cyclictest_median_ns as f64, "cyclictest's median is lower");
    assert!(costs.ratio_to_loop().is_none_or(|ratio| ratio <= LOOP_RATIO_MAX), "the loop in C needs less");
}

/// The table of docs/performance.md.
#[test]
#[ignore = "four boots; the test above has one of the table's rows. `make long-tests` runs it"]
fn long_costs_on_both_kernels_at_two_intervals() {
    let Some(guests) = guests::directory() else { return };
    for kernel in KERNELS {
        for interval_us in [1000, 200] {
            let booted =
                boot(&KernelSpec::parse(kernel).unwrap(), None, &[scene(interval_us)], &guests).unwrap();
            let costs = Costs::of(&booted.scenes()[0], &format!("{kernel}, {interval_us} us"));
            assert!(costs.ratio() < 1.0, "{kernel}: cyclictest needs less run time");
        }
    }
}
