//! Sweeps: which settings are tried, and in which order they end.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use tardy_statistics::median;

use crate::parameters;

/// An option with the values to try, such as `preempt=none,full`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweptOption {
    /// Its name.
    pub name: String,
    /// The values to try. Empty for a word without a value, which is tried once.
    pub values: Vec<String>,
}

/// Where an option is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the kernel's command line.
    CommandLine,
    /// In the configuration that the kernel is built with.
    Configuration,
}

impl Place {
    /// Where the option `name` is set: the names of a configuration's options are of capital letters.
    fn of(name: &str) -> Self {
        let is_of_configuration = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if is_of_configuration { Self::Configuration } else { Self::CommandLine }
    }
}

impl SweptOption {
    /// Where it is set.
    pub fn place(&self) -> Place {
        Place::of(&self.name)
    }

    fn settings(&self) -> Vec<Setting> {
        let set = |value: Option<&String>| Setting { name: self.name.clone(), value: value.cloned() };
        if self.values.is_empty() {
            vec![set(None)]
        } else {
            self.values.iter().map(|value| set(Some(value))).collect()
        }
    }
}

impl FromStr for SweptOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, values) = match text.split_once('=') {
            Some((name, values)) => (name, values.split(',').map(str::to_owned).collect()),
            None => (text, Vec::new()),
        };
        let wrong = |reason: &str| {
            Err(format!(
                "'{text}': {reason}; expected NAME=VALUE,VALUE, for example preempt=none,full, or NAME"
            ))
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        {
            return wrong("the name is missing, or has other characters than letters, digits and .-_");
        }
        if let Some(value) =
            values.iter().find(|value| value.is_empty() || value.contains(char::is_whitespace))
        {
            return wrong(if value.is_empty() { "a value is empty" } else { "a value has blanks" });
        }
        let repeated =
            values.iter().enumerate().any(|(at, value): (usize, &String)| values[..at].contains(value));
        if repeated {
            return wrong("a value is there twice");
        }
        Ok(Self { name: name.to_owned(), values })
    }
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The option's name.
    pub name: String,
    /// Its value; `None` for a word without a value.
    pub value: Option<String>,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.value.iter().try_for_each(|value| write!(f, "={value}"))
    }
}

/// What is tried in one boot: no setting for the kernel as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The settings.
    pub settings: Vec<Setting>,
}

impl Point {
    /// The settings of that place.
    pub fn at(&self, place: Place) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(move |setting| Place::of(&setting.name) == place)
    }

    /// The command line `line` with the words of this point: a parameter that is there is replaced.
    pub fn on(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for setting in self.at(Place::CommandLine) {
            let changes = parameters::changes(&line, &setting.to_string());
            let made: Vec<&parameters::Change> =
                changes.iter().filter(|change| !change.to.is_empty()).collect();
            line = parameters::with(&line, &made);
        }
        line
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.settings.is_empty() {
            return f.write_str("as it is");
        }
        let all: Vec<String> = self.settings.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(" "))
    }
}

/// Which points are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Each value of each option alone.
    OneByOne,
    /// All combinations of the options' values.
    Combinations,
}

/// The points of a sweep. The first is always the kernel as it is.
pub fn points(options: &[SweptOption], plan: Plan) -> Vec<Point> {
    let mut all = vec![Point::default()];
    match plan {
        Plan::OneByOne => {
            let settings = options.iter().flat_map(SweptOption::settings);
            all.extend(settings.map(|setting| Point { settings: vec![setting] }));
        }
        Plan::Combinations => {
            let mut combined = vec![Point::default()];
            for option in options {
                let with = |point: &Point| {
                    let settings = option.settings().into_iter();
                    let of = |setting| Point { settings: [point.settings.clone(), vec![setting]].concat() };
                    settings.map(of).collect::<Vec<_>>()
                };
                combined = combined.iter().flat_map(with).collect();
            }
            all.extend(combined.into_iter().filter(|point| !point.settings.is_empty()));
        }
    }
    all
}

/// A point with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// The point.
    #[serde(flatten)]
    pub point: Point,
    /// The measure with each seed, in the order of the seeds.
    pub values: Vec<f64>,
    /// The median of the values.
    pub median: f64,
    /// The median divided by that of the kernel as it is; `None` if that is 0.
    pub ratio: Option<f64>,
    /// Whether every value is outside of the range of the values of the kernel as it is. With one seed, whether it differs.
    pub is_outside: bool,
}

/// Ranks points by the median of their values, the lowest first. The first of `measured` is the kernel as it is.
pub fn rank(measured: Vec<(Point, Vec<f64>)>) -> Vec<Ranked> {
    let base = measured.first().map(|(_, values)| values.clone()).unwrap_or_default();
    let median_of = |values: &[f64]| median::of(values).unwrap_or(f64::NAN);
    let of_base = median_of(&base);
    let (low, high) = (lowest(&base), highest(&base));
    let mut all: Vec<Ranked> = measured
        .into_iter()
        .map(|(point, values)| {
            let median = median_of(&values);
            Ranked {
                ratio: (of_base > 0.0).then(|| median / of_base),
                is_outside: !values.is_empty() && (lowest(&values) > high || highest(&values) < low),
                median,
                point,
                values,
            }
        })
        .collect();
    all.sort_by(|a, b| a.median.total_cmp(&b.median));
    all
}

fn lowest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(text: &str) -> SweptOption {
        text.parse().unwrap()
    }

    fn shown(options: &[&str], plan: Plan) -> Vec<String> {
        let options: Vec<SweptOption> = options.iter().map(|text| option(text)).collect();
        points(&options, plan).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn points_are_single_settings_or_all_combinations() {
        let options = ["preempt=none,full", "nohlt"];
        assert_eq!(shown(&options, Plan::OneByOne), ["as it is", "preempt=none", "preempt=full", "nohlt"]);
        assert_eq!(
            shown(&options, Plan::Combinations),
            ["as it is", "preempt=none nohlt", "preempt=full nohlt"]
        );
        let four = shown(&["a=1,2", "b=1,2"], Plan::Combinations);
        assert_eq!(four, ["as it is", "a=1 b=1", "a=1 b=2", "a=2 b=1", "a=2 b=2"]);
        assert_eq!(shown(&[], Plan::Combinations), ["as it is"]);
    }

    #[test]
    fn a_setting_replaces_the_parameter_of_the_command_line() {
        let points = points(&[option("preempt=full")], Plan::OneByOne);
        assert_eq!(points[1].on("quiet preempt=none"), "quiet preempt=full");
        assert_eq!(points[1].on(""), "preempt=full");
        assert_eq!(points[0].on("quiet"), "quiet");
    }

    #[test]
    fn options_of_the_configuration_are_not_on_the_command_line() {
        let points = points(&[option("HZ=1000"), option("preempt=full")], Plan::Combinations);
        assert_eq!(points[1].on("quiet"), "quiet preempt=full");
        let of_configuration: Vec<String> =
            points[1].at(Place::Configuration).map(ToString::to_string).collect();
        assert_eq!(of_configuration, ["HZ=1000"]);
    }

    #[test]
    fn options_of_a_configuration_have_capital_letters() {
        let place = |text| option(text).place();
        assert_eq!(place("HZ=100,250"), Place::Configuration);
        assert_eq!(place("PREEMPT_RT=y"), Place::Configuration);
        assert_eq!(place("preempt=full"), Place::CommandLine);
        assert_eq!(place("rcutree.kthread_prio=2"), Place::CommandLine);
    }

    #[test]
    fn errors_show_what_is_expected() {
        for wrong in ["", "=1", "a=", "a=1,,2", "a=1,1", "a b=1", "a=1 2"] {
            let error = wrong.parse::<SweptOption>().expect_err(wrong);
            assert!(error.contains("expected NAME=VALUE,VALUE"), "{error}");
        }
    }

    #[test]
    fn points_are_ranked_by_their_medians_and_compared_with_the_kernel_as_it_is() {
        let point = |text: &str| points(&[option(text)], Plan::OneByOne)[1].clone();
        let ranked = rank(vec![
            (Point::default(), vec![10.0, 12.0, 11.0]),
            (point("a"), vec![30.0, 22.0, 26.0]),
            (point("b"), vec![11.5, 5.0, 5.5]),
            (point("c"), vec![9.0]),
        ]);
        let shown: Vec<(String, f64, bool)> =
            ranked.iter().map(|one| (one.point.to_string(), one.median, one.is_outside)).collect();
        assert_eq!(
            shown,
            [
                ("b".into(), 5.5, false),
                ("c".into(), 9.0, true),
                ("as it is".into(), 11.0, false),
                ("a".into(), 26.0, true)
            ]
        );
        assert_eq!(ranked[0].ratio, Some(0.5));
        assert_eq!(rank(vec![(Point::default(), vec![0.0])])[0].ratio, None);
    }
}
