//! The options of an import as the page sends them, under the names of the command line.

use serde::Deserialize;
use tardy_formats::detect::{self, Format};
use tardy_formats::{ImportOptions, TimeUnit, Unit};
use tardy_record::capture::Edge;

/// The options of an import. An empty text is an option that was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// `--as`.
    pub r#as: String,
    /// `--unit`.
    pub unit: String,
    /// `--command`.
    pub command: String,
    /// `--in`.
    pub r#in: String,
    /// `--out`.
    pub out: String,
    /// `--edge`.
    pub edge: String,
    /// `--time-unit`.
    #[serde(rename = "time-unit")]
    pub time_unit: String,
}

/// The names of all options, as messages have them behind two dashes.
const NAMES: [&str; 7] = ["as", "unit", "command", "in", "out", "edge", "time-unit"];

/// The options that `message` names, which the page then asks for.
pub(crate) fn named_in(message: &str) -> Vec<&'static str> {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    let is_named = |name: &&&str| {
        let option = format!("--{name}");
        message.match_indices(&option).any(|(at, _)| ends(&message[at + option.len()..]))
    };
    NAMES.iter().filter(is_named).copied().collect()
}

impl Options {
    /// The format that was chosen.
    ///
    /// # Errors
    /// If there is no such format.
    pub(crate) fn format(&self) -> Result<Option<&'static Format>, String> {
        match self.r#as.as_str() {
            "" => Ok(None),
            name => detect::by_name(name).map(Some).ok_or_else(|| {
                format!("'{name}' is not a format of 'tardy import --list'; choose one for --as")
            }),
        }
    }

    /// The options of the importers.
    ///
    /// # Errors
    /// If a value is not one of the command line's.
    pub(crate) fn parsed(&self) -> Result<ImportOptions, String> {
        let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Ok(ImportOptions {
            unit: one_of("unit", &self.unit, &[("us", Unit::Us), ("ns", Unit::Ns)])?,
            command: text(&self.command),
            input: text(&self.r#in),
            output: text(&self.out),
            edge: one_of("edge", &self.edge, &[("rising", Edge::Rising), ("falling", Edge::Falling)])?,
            time_unit: one_of("time-unit", &self.time_unit, &TIME_UNITS)?,
            path: None,
        })
    }
}

const TIME_UNITS: [(&str, TimeUnit); 5] = [
    ("s", TimeUnit::S),
    ("ms", TimeUnit::Ms),
    ("us", TimeUnit::Us),
    ("ns", TimeUnit::Ns),
    ("ps", TimeUnit::Ps),
];

fn one_of<T: Copy>(option: &str, text: &str, values: &[(&str, T)]) -> Result<Option<T>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let value = values.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    let names = || values.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    value
        .map(Some)
        .ok_or_else(|| format!("'{text}' is not a value of --{option}; expected one of {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_asks_for_the_options_that_it_names() {
        assert_eq!(named_in("use --unit us or --unit ns, or give it with --command"), ["unit", "command"]);
        assert_eq!(named_in("choose with --in CHANNEL and --out CHANNEL; --time-units"), ["in", "out"]);
        assert_eq!(named_in("'tardy import --list' lists them; name it with --as."), ["as"]);
    }

    #[test]
    fn a_wrong_value_is_refused_with_the_right_ones() {
        let wrong = Options { unit: "parsec".to_owned(), ..Options::default() };
        assert_eq!(wrong.parsed().unwrap_err(), "'parsec' is not a value of --unit; expected one of us, ns");
    }
}
