//! The table of a sweep: settings, ranked by a number of the run.

use tardy_plot::numbers::{harmless, ratio};
use tardy_search::measure::Measure;
use tardy_search::sweep::Ranked;

use tardy_present::table::Table;
use tardy_present::terminal_text::wrapped;

/// The settings of a kernel, about `width` columns wide.
pub fn text(kernel: &str, measure: &Measure, ranked: &[Ranked], width: usize) -> String {
    let seeds = ranked.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let mut lines = vec![format!("{}, {measure}", harmless(kernel))];
    let mut table = Table::of_words(&["setting", "median", "lowest", "highest", "of it as it is", ""]);
    for one in ranked {
        let mut values = one.values.clone();
        values.sort_by(f64::total_cmp);
        let shown = |value: Option<&f64>| value.map_or_else(|| "-".to_owned(), |value| measure.shown(*value));
        let is_base = one.point.settings.is_empty();
        table.push(vec![
            harmless(&one.point.to_string()),
            measure.shown(one.median),
            shown(values.first()),
            shown(values.last()),
            one.ratio.filter(|_| !is_base).map_or_else(String::new, |value| format!("× {}", ratio(value))),
            if is_base || one.is_outside { String::new() } else { "within the spread".to_owned() },
        ]);
    }
    lines.extend(table.lines(width));
    let legend = match seeds {
        1 => {
            "One seed: each number is exact, and one of many. Another seed shifts the load against the timer; --seeds 10 shows by how much \
              the numbers differ then."
        }
        _ => {
            "Within the spread: a value of the setting lies between the lowest and the highest of the kernel as it is."
        }
    };
    lines.extend(wrapped(legend, width));
    lines.join("\n") + "\n\n"
}

#[cfg(test)]
mod tests {
    use tardy_search::sweep::{Plan, points, rank};

    use super::*;

    #[test]
    fn settings_are_in_the_order_of_their_medians() {
        let measure: Measure = "p99".parse().unwrap();
        let all = points(&["preempt=none,full".parse().unwrap(), "nohlt".parse().unwrap()], Plan::OneByOne);
        let values = [[12_000.0, 14_000.0], [30_000.0, 34_000.0], [8_000.0, 9_000.0], [11_000.0, 13_000.0]];
        let measured = all.into_iter().zip(values.map(Vec::from)).collect();
        insta::assert_snapshot!(text("debian:6.12", &measure, &rank(measured), 100));
        let once = vec![(points(&[], Plan::OneByOne)[0].clone(), vec![5_000.0])];
        assert!(text("debian:6.12", &measure, &rank(once), 100).contains("One seed"));
    }
}
