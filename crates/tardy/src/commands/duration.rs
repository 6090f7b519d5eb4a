//! `tardy duration`: how long to measure.

use anyhow::{Result, anyhow};
use serde::Serialize;
use tardy_plot::numbers::{self, count, counted, one_in, per_cent, three_digits};
use tardy_recipe::options::INTERVAL_NS;
use tardy_recipe::wrong;
use tardy_record::units::format_duration_ns;
use tardy_statistics::duration::{rate_possibly_missed, values_needed};
use tardy_statistics::permutation;

use tardy_args::DurationArgs;
use tardy_command::{Exit, output};

/// The error of the first kind of a comparison, and the probability to see a difference of the printed size.
const ALPHA: f64 = 0.05;
const POWER: f64 = 0.8;

/// Prints the number of wake-ups and the time that show a limit, or the effect that a comparison can show.
pub(crate) fn run(arguments: &DurationArgs) -> Result<Exit> {
    match arguments.boots {
        Some(boots) => comparison(boots, arguments.json)?,
        None => measurement(arguments)?,
    }
    Ok(Exit::Done)
}

/// The answer, and what it assumes.
#[derive(Debug, Serialize)]
struct Answer {
    probability: f64,
    confidence: f64,
    interval_ns: u64,
    late: u64,
    /// Wake-ups of each thread.
    wakeups: u64,
    duration_ns: u64,
    /// The same if one more is late, two more, …
    if_more_are_late: Vec<u64>,
    /// The longest time between events at random times that the run may have missed, in ns.
    unseen_once_per_ns: u64,
}

fn measurement(arguments: &DurationArgs) -> Result<()> {
    let (probability, confidence) = (arguments.probability.get(), arguments.confidence.get());
    let interval_ns = arguments.interval.map_or(INTERVAL_NS, |interval| interval.ns());
    let needed = |late: u64| {
        let wakeups = values_needed(probability, confidence, late);
        let duration_ns = wakeups.and_then(|wakeups| wakeups.checked_mul(interval_ns));
        wakeups.zip(duration_ns)
    };
    let needed = |late: u64| {
        needed(late).ok_or_else(|| match needed(0) {
            Some(_) => wrong(
                "late",
                format!("{late} late wake-ups would take longer than can be measured; allow fewer"),
            ),
            None => wrong("probability", "so rare an event cannot be shown by measuring"),
        })
    };
    let (wakeups, duration_ns) = needed(arguments.late)?;
    let more = (arguments.late + 1..=arguments.late + 3).map(|late| needed(late).map(|(wakeups, _)| wakeups));
    let rate = rate_possibly_missed(duration_ns as f64, confidence)
        .ok_or_else(|| anyhow!("the duration is not positive"))?;
    let answer = Answer {
        probability,
        confidence,
        interval_ns,
        late: arguments.late,
        wakeups,
        duration_ns,
        if_more_are_late: more.collect::<Result<_, _>>()?,
        unseen_once_per_ns: (1.0 / rate) as u64,
    };
    match arguments.json {
        true => output::print_json(&answer),
        false => output::print(&text(arguments, &answer)),
    }
}

fn text(arguments: &DurationArgs, answer: &Answer) -> String {
    let limit =
        arguments.limit.map_or_else(|| "the limit".to_owned(), |limit| format_duration_ns(limit.ns()));
    let time = |ns: u64| format_duration_ns(ns.div_ceil(1_000_000_000) * 1_000_000_000);
    let late = match answer.late {
        0 => "none of them is".to_owned(),
        1 => "at most 1 of them is".to_owned(),
        late => format!("at most {} of them are", count(late)),
    };
    let more: Vec<String> = (answer.late + 1..)
        .zip(&answer.if_more_are_late)
        .map(|(late, wakeups)| format!("{} with {late}", time(wakeups.saturating_mul(answer.interval_ns))))
        .collect();
    format!(
        "{}: {} at an interval of {}.\n\n\
         If {late} later than {limit}, at most {} is, with {} confidence. It takes {} late ones.\n\
         The time is that of each CPU that the statement is about: CPUs do not replace each other.\n\
         It assumes that wake-ups are late independently. Where late ones come in clusters, multiply by how many of them \
         count as one, which 'tardy show' prints.\n\
         An event at random times that is rarer than once per {} may be missed.\n",
        time(answer.duration_ns),
        counted(answer.wakeups, "wake-up", "wake-ups"),
        format_duration_ns(answer.interval_ns),
        one_in(answer.probability),
        numbers::confidence(answer.confidence),
        more.join(", "),
        time(answer.unseen_once_per_ns),
    )
}

/// The answer for a comparison.
#[derive(Debug, Serialize)]
struct Smallest {
    boots: u32,
    /// The smallest p-value that the test can have.
    floor: f64,
    /// In standard deviations between boots of the same kernel; `None` if no difference can be shown.
    deviations: Option<f64>,
}

fn comparison(boots: u32, json: bool) -> Result<()> {
    let of_each = boots as usize;
    let deviations = permutation::smallest_effect(of_each, ALPHA, POWER, 1);
    let answer = Smallest { boots, floor: permutation::floor(of_each, of_each), deviations };
    if json {
        return output::print_json(&answer);
    }
    let Some(deviations) = deviations else {
        let p = three_digits(answer.floor);
        return output::print(&format!(
            "{boots} boots of each side cannot show any difference: the smallest p-value is {p}, above {ALPHA}. \
             Use at least 4 of each.\n"
        ));
    };
    let percent = |between: f64| three_digits((libm::exp(deviations * between) - 1.0) * 100.0);
    output::print(&format!(
        "{boots} boots of each side show a difference of {} standard deviations between boots of the same kernel, in {} of cases.\n\n\
         If p99.9 differs between such boots by 5 % (one standard deviation), that is a difference of {} %; by 20 %, of {} %.\n",
        three_digits(deviations),
        per_cent(POWER),
        percent(0.05),
        percent(0.2),
    ))
}
