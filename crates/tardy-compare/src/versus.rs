//! A versus B: two groups of runs, with the boot as the unit.
//!
//! Readings of one boot are not independent of each other, so a test that counts readings finds a difference between equal
//! kernels in 93 % of comparisons. Each boot is one value of each statistic here. If everything but the factor under test
//! agrees, exact permutation tests and the intervals that agree with them say how sure a difference is; if not, the
//! differences are named, and there is no test. `docs/statistics.md` has the rules.

mod boots;
mod exceedance;
mod factor;
#[cfg(test)]
mod made;
mod readings;
mod shift_function;
mod statistic;
mod subjects;
#[cfg(test)]
mod tests;

use serde::Serialize;
use tardy_analyse::name;
use tardy_analyse::name::Readings as Counted;
use tardy_analyse::pool::Pool;
use tardy_analyse::quantile::{CONFIDENCE, LEVELS};
use tardy_record::load_spec::LoadSpec;
use tardy_record::{Histogram, Run};
use tardy_statistics::permutation::{floor, holm};

use crate::shape::{self, Shape};
use boots::{Observation, observations};
use readings::{Readings, Subject, of_observation, quantile_ns};
use subjects::{common_subjects, described, labels, paired};

pub(crate) use readings::value_of_each_round;

pub use boots::Unit;
pub use exceedance::Exceedance;
pub use factor::{Differences, Disagreement, Factor};
pub use shift_function::{Band, ShiftAtLevel, ShiftFunction};
pub use statistic::{Effect, Quantity, Statistic, Test};

/// Longer values of a fact do not name a group.
const NAME_MAX: usize = 32;
/// The name of the statistic of the highest values in equal time.
const WORST: &str = "worst";
/// The name of the share of time that noise took.
const LOST: &str = "time lost";

/// How two groups are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What the groups are meant to differ in.
    pub factor: Factor,
    /// The limit whose exceedances are compared; `None`: that of the runs, if they have the same.
    pub limit_ns: Option<u64>,
}

/// Two groups of runs compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versus {
    /// What the groups are meant to differ in.
    pub factor: Factor,
    /// What is counted as one observation.
    pub unit: Unit,
    /// The base.
    pub base: Group,
    /// The candidate.
    pub candidate: Group,
    /// What the comparison supports.
    pub strength: Strength,
    /// How the runs differ otherwise.
    pub differences: Differences,
    /// What was measured in all observations.
    pub experiments: Vec<Experiment>,
    /// The index of the experiment of the headline; `None` if there is none.
    pub primary: Option<usize>,
    /// The name of the headline's statistic, which is chosen by the number of readings, not by their values.
    pub primary_statistic: Option<&'static str>,
    /// Runs that were left out, and what only some observations measured.
    pub left_out: Vec<String>,
    /// What is assumed about the runs, and what their order leaves open.
    pub assumptions: Vec<String>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its name: the value of the factor, or else `A` for the base and `B` for the candidate.
    pub name: String,
    /// The names of the runs of each observation.
    pub observations: Vec<Vec<String>>,
}

/// What a comparison supports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Strength {
    /// Something other than the factor differs: there is no test.
    NotComparable,
    /// One observation each: it describes these two.
    DescriptiveOnly,
    /// No difference can be shown at 5 %, whatever the values are.
    TooFew {
        /// The smallest p-value of a test with so many observations.
        smallest_p: f64,
        /// The number of observations of each group with which a difference can be shown.
        needed: usize,
    },
    /// Differences were tested.
    Tested,
}

/// One thing that all observations measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    /// Its name: the label of its phase in the base, if it has one.
    pub label: String,
    /// The loads in the base.
    pub loads: Vec<LoadSpec>,
    /// What is counted.
    pub readings: Counted,
    /// The statistics.
    pub statistics: Vec<Statistic>,
    /// The highest values, if they are known of equal times.
    pub worst: Option<WorstInEqualTime>,
    /// The shift function.
    pub shift: ShiftFunction,
    /// The distances between the distributions of all observations together; they describe, without probabilities.
    pub shape: Option<Shape>,
    /// The exceedances of the limit; `None` without a limit, and if nothing was tested.
    pub exceedance: Option<Exceedance>,
}

/// The highest values of both groups in equal times, since a maximum grows with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WorstInEqualTime {
    /// The number of observations of each group: the smaller of both, the first ones.
    pub of_each: usize,
    /// The time of each observation, in ns: the shortest of all.
    pub time_ns: u64,
    /// The highest value of the base, in ns.
    pub base_ns: i64,
    /// The highest value of the candidate, in ns.
    pub candidate_ns: i64,
}

/// Compares `candidate` with `base`.
///
/// # Errors
/// A message for the user if a run is in both groups, a group has no usable run, the factor is a fact that the runs do not
/// have, or if nothing was measured in all runs.
pub fn of(base: &[&Run], candidate: &[&Run], options: &Options) -> Result<Versus, String> {
    let found = observations([base, candidate])?;
    if let Some(reason) = options.factor.refused_by(found.groups[0][0].runs[0]) {
        return Err(reason);
    }
    let differences = factor::differences(&found.groups, &options.factor);
    let [a, b] = found.groups.each_ref().map(Vec::len);
    let strength = strength(&differences, a, b);
    let mut left_out = found.left_out;
    let limit_ns = options.limit_ns.or_else(|| common_limit_ns(&found.groups));
    let mut experiments = experiments(&found.groups, &options.factor, limit_ns, &mut left_out);
    if experiments.is_empty() {
        return Err(format!("the runs have nothing in common that can be compared: {}", left_out.join("; ")));
    }
    let primary = primary_of(&experiments);
    let primary_statistic = primary.and_then(|index| experiments[index].1.primary_statistic());
    let mut experiments: Vec<Experiment> = experiments.drain(..).map(|(_, experiment)| experiment).collect();
    conclude(&mut experiments, strength, primary.zip(primary_statistic));
    let mut assumptions = found.assumptions;
    assumptions.extend(order_of(&found.groups));
    let [base_name, candidate_name] = names(&found.groups, &options.factor);
    Ok(Versus {
        factor: options.factor.clone(),
        unit: found.unit,
        base: Group::of(base_name, &found.groups[0]),
        candidate: Group::of(candidate_name, &found.groups[1]),
        strength,
        differences,
        experiments,
        primary,
        primary_statistic,
        left_out,
        assumptions,
    })
}

/// Adds the tests, or removes what means nothing without them.
fn conclude(experiments: &mut [Experiment], strength: Strength, primary: Option<(usize, &'static str)>) {
    match strength {
        Strength::Tested => return test(experiments, primary),
        Strength::NotComparable => experiments.iter_mut().for_each(Experiment::without_intervals),
        Strength::DescriptiveOnly | Strength::TooFew { .. } => {}
    }
    experiments.iter_mut().for_each(|experiment| experiment.exceedance = None);
}

impl Group {
    fn of(name: String, observations: &[Observation<'_>]) -> Self {
        let names = |one: &Observation<'_>| one.runs.iter().map(|run| name::of_run(run)).collect();
        Self { name, observations: observations.iter().map(names).collect() }
    }
}

/// The least number of observations of each group with which a test can show a difference at 5 %.
pub fn least_observations() -> usize {
    (1..).find(|count| floor(*count, *count) <= 1.0 - CONFIDENCE).unwrap_or(usize::MAX)
}

fn strength(differences: &Differences, a: usize, b: usize) -> Strength {
    match (a, b) {
        _ if !differences.obstacles.is_empty() || !differences.reasons.is_empty() => Strength::NotComparable,
        (1, 1) => Strength::DescriptiveOnly,
        _ if floor(a, b) > 1.0 - CONFIDENCE => {
            Strength::TooFew { smallest_p: floor(a, b), needed: least_observations() }
        }
        _ => Strength::Tested,
    }
}

/// The limit of the runs, if all have the same.
fn common_limit_ns(groups: &[Vec<Observation<'_>>; 2]) -> Option<u64> {
    let mut limits = groups.iter().flatten().flat_map(|one| &one.runs).map(|run| run.plan.limit_ns);
    let first = limits.next()??;
    limits.all(|limit| limit == Some(first)).then_some(first)
}

/// What the order of the runs leaves open: if one group was measured after the other, a drift looks like an effect.
fn order_of(groups: &[Vec<Observation<'_>>; 2]) -> Option<String> {
    let in_lab = groups.iter().flatten().flat_map(|one| &one.runs).any(|run| run.lab.is_some());
    let times = groups.each_ref().map(|group| -> Vec<&str> {
        group.iter().flat_map(|one| &one.runs).map(|run| run.origin.started_at.as_str()).collect()
    });
    if in_lab || times.iter().any(|times| times.len() < 2 || times.iter().any(|time| time.is_empty())) {
        return None;
    }
    let [base, candidate] = &times;
    let is_before = |one: &[&str], other: &[&str]| one.iter().max() < other.iter().min();
    (is_before(base, candidate) || is_before(candidate, base)).then(|| {
        "one group was measured after the other, so that a drift of the machine looks like an effect; alternate them, as \
         'tardy run --ab' does"
            .to_owned()
    })
}

/// The names of the groups: the first property that is one text in each group and differs between them, else A and B.
fn names(groups: &[Vec<Observation<'_>>; 2], factor: &Factor) -> [String; 2] {
    type Property<'p> = &'p dyn Fn(&Run) -> Option<String>;
    let side = |run: &Run| run.origin.trial.as_ref().map(|trial| trial.side.clone());
    let fact = |run: &Run| factor.value_of(run);
    let of_lab = |run: &Run| run.lab.as_ref().map(|_| name::of_run(run));
    let release = |run: &Run| run.facts.kernel.release.get().cloned();
    let recipe = |run: &Run| Some(run.plan.recipe.clone());
    let properties: Vec<Property<'_>> = match factor {
        Factor::Fact(_) => vec![&fact, &side],
        Factor::Recipe => vec![&side, &recipe],
        Factor::Kernel | Factor::CommandLine => vec![&side, &of_lab, &release],
    };
    let one_of = |group: &[Observation<'_>], property: Property<'_>| {
        let mut values = group.iter().flat_map(|one| &one.runs).map(|run| property(run));
        let first = values.next()??;
        let is_name = !first.is_empty() && first.chars().count() <= NAME_MAX;
        (is_name && values.all(|value| value.as_ref() == Some(&first))).then_some(first)
    };
    let both = |property: &Property<'_>| {
        let (base, candidate) = (one_of(&groups[0], *property)?, one_of(&groups[1], *property)?);
        (base != candidate).then_some([base, candidate])
    };
    properties.iter().find_map(both).unwrap_or_else(|| ["A", "B"].map(str::to_owned))
}

/// Everything that was measured in all observations, in the order of the base.
fn experiments(
    groups: &[Vec<Observation<'_>>; 2],
    factor: &Factor,
    limit_ns: Option<u64>,
    left_out: &mut Vec<String>,
) -> Vec<(Subject, Experiment)> {
    let measured = groups.each_ref().map(|group| group.iter().map(of_observation).collect::<Vec<_>>());
    let common = measured.each_ref().map(|observations| common_subjects(observations));
    let pairs = paired(&common, factor);
    for (subjects, role, side) in [(&common[0], "base", 0), (&common[1], "candidate", 1)] {
        let is_paired = |subject: &Subject| {
            pairs.iter().any(|pair| *subject == *if side == 0 { &pair.0 } else { &pair.1 })
        };
        let lonely = subjects.iter().filter(|subject| !is_paired(subject));
        left_out.extend(lonely.map(|subject| format!("{} is in the {role} only", described(subject))));
    }
    let [of_base, of_candidate] = [0, 1].map(|side| {
        let subjects: Vec<&Subject> =
            pairs.iter().map(|pair| if side == 0 { &pair.0 } else { &pair.1 }).collect();
        labels(&subjects, groups[side][0].runs[0], &measured[side][0])
    });
    let both = |(base, candidate): (String, String)| {
        if base == candidate { base } else { format!("{base} / {candidate}") }
    };
    let labels = of_base.into_iter().zip(of_candidate).map(both);
    pairs
        .iter()
        .zip(labels)
        .filter_map(|((ours, theirs), label)| {
            let mut readings =
                [(&measured[0], ours), (&measured[1], theirs)].map(|(observations, subject)| {
                    let of_it = observations.iter().flatten().filter(|(known, _)| known == subject);
                    of_it.map(|(_, readings)| readings.clone()).collect::<Vec<_>>()
                });
            // A relative sleep has no schedule: like is compared with like.
            let counts_missed = readings.iter().flatten().all(Readings::counts_missed);
            readings.iter_mut().flatten().for_each(|one| one.without_missed = !counts_missed);
            let experiment = Experiment::of(&label, ours, [&readings[0], &readings[1]], limit_ns);
            if experiment.is_none() {
                left_out.push(format!("'{label}': the histograms of its series do not fit each other"));
            }
            Some((ours.clone(), experiment?))
        })
        .collect()
}

/// The experiment of the headline: the first that a program sees under a load, or else the first that a program sees. The
/// values do not matter, so that one test decides.
fn primary_of(experiments: &[(Subject, Experiment)]) -> Option<usize> {
    let first =
        |wanted: &dyn Fn(&Subject) -> bool| experiments.iter().position(|(subject, _)| wanted(subject));
    first(&|subject| subject.is_of_program() && !subject.loads().is_empty())
        .or_else(|| first(&Subject::is_of_program))
        .or_else(|| first(&|_| true))
}

/// Tests the statistics of all experiments. The p-values of all but the primary test are corrected for their number.
fn test(experiments: &mut [Experiment], primary: Option<(usize, &'static str)>) {
    for experiment in experiments.iter_mut() {
        let decisive = experiment.primary_statistic();
        let tested =
            experiment.statistics.iter_mut().filter(|one| Some(one.name) == decisive || one.name == WORST);
        tested.for_each(Statistic::tested);
    }
    let mut secondary: Vec<&mut Test> = experiments
        .iter_mut()
        .enumerate()
        .flat_map(|(index, experiment)| {
            let of_experiment = experiment.statistics.iter_mut();
            of_experiment.filter(move |one| primary != Some((index, one.name)))
        })
        .filter_map(|statistic| statistic.test.as_mut())
        .collect();
    let p_values: Vec<f64> = secondary.iter().map(|test| test.p).collect();
    for (test, p) in secondary.iter_mut().zip(holm(&p_values)) {
        test.p_corrected = Some(p);
    }
}

impl Experiment {
    /// The experiment whose readings are these; `None` if the histograms of an observation do not fit each other.
    fn of(
        label: &str,
        subject: &Subject,
        groups: [&[Readings<'_>]; 2],
        limit_ns: Option<u64>,
    ) -> Option<Self> {
        let pools = groups.map(|group| group.iter().map(Readings::pool).collect::<Option<Vec<Pool>>>());
        let [Some(base), Some(candidate)] = pools else { return None };
        let pools = [base, candidate];
        let time_ns = groups.iter().flat_map(|group| group.iter()).map(|one| one.measured_ns).min()?;
        let worst = groups.map(|group| group.iter().map(|one| one.worst_within(time_ns)).collect::<Vec<_>>());
        let first = groups[0].first()?.series.first()?;
        Some(Self {
            label: label.to_owned(),
            loads: subject.loads().to_vec(),
            readings: Counted::of(first),
            statistics: statistics(subject, groups, &pools, &worst),
            worst: WorstInEqualTime::of(&worst, time_ns),
            shift: shift_function::of(groups, [&pools[0], &pools[1]]),
            shape: shape_of(&pools),
            exceedance: match subject {
                Subject::Latency(_) => limit_ns.map(|limit_ns| exceedance::of(groups, limit_ns)),
                Subject::Noise(_) => None,
            },
        })
    }

    /// The statistic of this name.
    pub fn statistic(&self, name: &str) -> Option<&Statistic> {
        self.statistics.iter().find(|statistic| statistic.name == name)
    }

    /// The name of the statistic that decides: of noise the lost time; else the highest of p99.9, p99 and p50 that all observations have
    /// readings enough for; else the highest value.
    fn primary_statistic(&self) -> Option<&'static str> {
        let names = [LOST, "p99.9", "p99", "p50", WORST];
        let is_known = |name: &&str| self.statistic(name).is_some_and(|statistic| statistic.ratio.is_some());
        names.into_iter().find(is_known)
    }

    fn without_intervals(&mut self) {
        self.statistics.iter_mut().for_each(Statistic::without_intervals);
        self.shift.without_band();
    }
}

fn statistics(
    subject: &Subject,
    groups: [&[Readings<'_>]; 2],
    pools: &[Vec<Pool>; 2],
    worst: &[Vec<Option<i64>>; 2],
) -> Vec<Statistic> {
    let of_pools = |value: &dyn Fn(&Pool) -> Option<f64>| {
        pools.each_ref().map(|pools| pools.iter().map(value).collect::<Vec<_>>())
    };
    let mut statistics = Vec::new();
    if matches!(subject, Subject::Noise(_)) {
        let lost = groups.map(|group| group.iter().map(Readings::lost_share).collect());
        statistics.push(Statistic::of(LOST, Quantity::Share, lost));
    }
    let quantiles = LEVELS
        .map(|level| Statistic::of(level.name, Quantity::Ns, of_pools(&|pool| quantile_ns(pool, level))));
    statistics.extend(quantiles);
    statistics.push(Statistic::of("mean", Quantity::Ns, of_pools(&|pool| pool.mean_ns)));
    let worst = worst.each_ref().map(|values| values.iter().map(|value| value.map(|ns| ns as f64)).collect());
    statistics.push(Statistic::of(WORST, Quantity::Ns, worst));
    statistics
}

impl WorstInEqualTime {
    fn of([base, candidate]: &[Vec<Option<i64>>; 2], time_ns: u64) -> Option<Self> {
        let of_each = base.len().min(candidate.len());
        let highest = |values: &[Option<i64>]| {
            values[..of_each].iter().copied().collect::<Option<Vec<i64>>>()?.into_iter().max()
        };
        Some(Self { of_each, time_ns, base_ns: highest(base)?, candidate_ns: highest(candidate)? })
    }
}

/// The distances between all observations of the base together and all of the candidate; `None` if their bins differ.
fn shape_of(pools: &[Vec<Pool>; 2]) -> Option<Shape> {
    if pools.iter().flatten().any(|pool| pool.lacks_its_highest) {
        return None;
    }
    let [base, candidate] = pools.each_ref().map(|pools| {
        let mut all = Histogram::default();
        pools.iter().try_for_each(|pool| all.merge(&pool.histogram)).ok().map(|()| all)
    });
    shape::between(&base?, &candidate?)
}
