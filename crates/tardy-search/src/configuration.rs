//! The configuration of a kernel: its options, and the settings that change it.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

use crate::sweep;

/// What all options begin with in a file.
const PREFIX: &str = "CONFIG_";
/// The value of an option that is not set.
pub const OFF: &str = "n";
/// Options of which exactly one is set. Kconfig(5) has no other mark for them than their place in its files; of several that are set,
/// versions before 6.11 and after it choose differently.
const CHOICES: [&[&str]; 2] = [
    &["HZ_100", "HZ_250", "HZ_300", "HZ_1000"],
    &["PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT", "PREEMPT_LAZY", "PREEMPT_RT"],
];

/// What surrounds the name of an option that is not set, in a file.
const NOT_SET: [&str; 2] = ["# CONFIG_", " is not set"];

/// The options of a configuration with their values, as its file has them: strings are in quotes. An option that is stated not to be set
/// differs from one that is not there, for which Kconfig chooses a value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    values: BTreeMap<String, String>,
}

/// An option and the value that it is to have, such as `HZ=1000` or `PREEMPT_RT=y`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The option, without `CONFIG_`.
    pub name: String,
    /// The value, as a configuration's file has it.
    pub value: String,
}

impl Configuration {
    /// Reads a configuration's file, or a part of one. Other lines are left out.
    pub fn of(text: &str) -> Self {
        let mut values = BTreeMap::new();
        for line in text.lines() {
            let line = line.trim();
            let off = line.strip_prefix(NOT_SET[0]).and_then(|line| line.strip_suffix(NOT_SET[1]));
            let set = line.strip_prefix(PREFIX).and_then(|line| line.split_once('='));
            if let Some((name, value)) = off.map(|name| (name, OFF)).or(set) {
                values.insert(name.to_owned(), value.to_owned());
            }
        }
        Self { values }
    }

    /// The value of an option; `n` if it is not set.
    pub fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or(OFF, String::as_str)
    }

    /// The names of the options that are set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().filter(|(_, value)| *value != OFF).map(|(name, _)| name.as_str())
    }

    /// The configuration with a setting. The other options of a choice are turned off.
    pub fn set(&mut self, setting: &Setting) {
        let Setting { name, value } = setting.of_choice();
        let choice = CHOICES.into_iter().find(|choice| choice.contains(&name.as_str()));
        for other in choice.into_iter().flatten().filter(|_| value == "y") {
            self.values.insert((*other).to_owned(), OFF.to_owned());
        }
        self.values.insert(name, value);
    }

    /// The settings of `wanted` that are not in effect.
    pub fn unmet<'a>(&self, wanted: &'a [Setting]) -> Vec<&'a Setting> {
        wanted.iter().filter(|setting| self.value(&setting.name) != setting.value).collect()
    }

    /// The file's text, in the order of the names.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.values {
            let _ = match value.as_str() {
                OFF => writeln!(text, "{}{name}{}", NOT_SET[0], NOT_SET[1]),
                value => writeln!(text, "{PREFIX}{name}={value}"),
            };
        }
        text
    }

    /// The options that are set, a line each.
    pub fn identity(&self) -> String {
        self.names().fold(String::new(), |mut all, name| {
            let _ = writeln!(all, "{PREFIX}{name}={}", self.value(name));
            all
        })
    }
}

impl Setting {
    /// The option of a choice that gives this value: the frequency of the tick is chosen by `HZ_1000`, and `HZ` follows.
    fn of_choice(&self) -> Self {
        if self.name == "HZ" && self.value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self { name: format!("HZ_{}", self.value), value: "y".to_owned() };
        }
        self.clone()
    }

    /// The option that Kconfig knows by a prompt.
    pub fn prompted(&self) -> String {
        self.of_choice().name
    }
}

impl From<&sweep::Setting> for Setting {
    /// A setting of a sweep. An option without a value is turned on.
    fn from(swept: &sweep::Setting) -> Self {
        let value = swept.value.as_deref().map_or_else(|| "y".to_owned(), as_written);
        Self { name: swept.name.clone(), value }
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            Err(format!(
                "'{text}': {reason}; expected OPTION=VALUE, for example PREEMPT_RT=y, HZ=1000 or PREEMPT_RT=n"
            ))
        };
        let Some((name, value)) = text.split_once('=') else { return wrong("it has no value") };
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return wrong("an option's name has letters, digits and _");
        }
        if value.is_empty() {
            return wrong("the value is empty");
        }
        if value.chars().any(char::is_control) {
            return wrong("a value is one line");
        }
        Ok(Self { name: name.to_owned(), value: as_written(value) })
    }
}

/// The value as a configuration's file has it: strings in quotes.
fn as_written(value: &str) -> String {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_plain = matches!(value, "y" | "m" | "n") || is_number || value.starts_with("0x");
    if is_plain || value.starts_with('"') {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(text: &str) -> Setting {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_file_is_read_and_written() {
        let text = "# a comment\nCONFIG_B=y\nCONFIG_A=\"x=1\"\n# CONFIG_C is not set\nCONFIG_D=n\n";
        let read = Configuration::of(text);
        assert_eq!((read.value("A"), read.value("B"), read.value("C")), ("\"x=1\"", "y", "n"));
        assert_eq!(
            read.text(),
            "CONFIG_A=\"x=1\"\nCONFIG_B=y\n# CONFIG_C is not set\n# CONFIG_D is not set\n"
        );
        assert_eq!(Configuration::of(&read.text()), read);
        assert_eq!(read.names().collect::<Vec<_>>(), ["A", "B"]);
    }

    #[test]
    fn a_setting_replaces_the_option_and_the_others_of_its_choice() {
        let mut all =
            Configuration::of("CONFIG_HZ_250=y\nCONFIG_HZ=250\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_SMP=y\n");
        for text in ["HZ=1000", "PREEMPT=y", "SMP=n", "CONFIG_LOCALVERSION=-mine"] {
            all.set(&setting(text));
        }
        let lines = [
            "CONFIG_HZ=250",
            "# CONFIG_HZ_100 is not set",
            "CONFIG_HZ_1000=y",
            "# CONFIG_HZ_250 is not set",
            "CONFIG_LOCALVERSION=\"-mine\"",
            "CONFIG_PREEMPT=y",
            "# CONFIG_PREEMPT_VOLUNTARY is not set",
            "# CONFIG_SMP is not set",
        ];
        let text = all.text();
        assert!(lines.iter().all(|line| text.lines().any(|one| one == *line)), "{text}");
        assert!(all.identity().lines().all(|line| !line.starts_with('#')));
    }

    #[test]
    fn settings_that_are_not_in_effect_are_known() {
        let all = Configuration::of("CONFIG_HZ=1000\nCONFIG_A=0x10\n");
        let wanted = ["HZ=1000", "A=0x10", "B=n", "PREEMPT_RT=y", "A=n"].map(setting);
        let unmet: Vec<String> = all.unmet(&wanted).iter().map(ToString::to_string).collect();
        assert_eq!(unmet, ["PREEMPT_RT=y", "A=n"]);
    }

    #[test]
    fn errors_show_what_is_expected() {
        for wrong in ["", "HZ", "=y", "HZ=", "H Z=1", "A=\n"] {
            let error = wrong.parse::<Setting>().expect_err(wrong);
            assert!(error.contains("expected OPTION=VALUE"), "{error}");
        }
    }
}
