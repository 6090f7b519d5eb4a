//! The options that a kernel was built with, and how two kernels differ in them.
//!
//! Two kernels of one distribution differ in more than PREEMPT_RT, so a comparison lists every option that differs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options that are set, without `CONFIG_`, and their values: `y`, `m`, a number, or a text without its quotes. An
/// option that is absent is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct KernelOptions(pub BTreeMap<String, String>);

impl KernelOptions {
    /// Parses a configuration such as `/boot/config-RELEASE`: `CONFIG_OPTION=value` lines, and comments for options
    /// that are not set. Other lines are ignored.
    pub fn from_config_text(text: &str) -> Self {
        let options = text
            .lines()
            .filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='))
            .filter(|(option, _)| !option.is_empty())
            .map(|(option, value)| (option.to_owned(), unquoted(value.trim()).to_owned()))
            // An option that is written as `n` is not set.
            .filter(|(_, value)| value != "n");
        Self(options.collect())
    }

    /// Every option in which two kernels differ, with both values; `None` for an option that is not set.
    pub fn differences<'a>(
        &'a self,
        other: &'a Self,
    ) -> BTreeMap<&'a str, (Option<&'a str>, Option<&'a str>)> {
        let here = |option: &String| self.0.get(option).map(String::as_str);
        let there = |option: &String| other.0.get(option).map(String::as_str);
        self.0
            .keys()
            .chain(other.0.keys())
            .map(|option| (option.as_str(), (here(option), there(option))))
            .filter(|(_, (here, there))| here != there)
            .collect()
    }
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_are_set_count() {
        let options = KernelOptions::from_config_text(
            "# CONFIG_PREEMPT_RT is not set\nCONFIG_HZ=250\nCONFIG_X=\"a \\\"b\\\"\"\nCONFIG_EMPTY=\"\"\n\
             CONFIG_N=n\nCONFIG_=y\nnonsense\n CONFIG_INDENTED=y\n",
        );
        let expected = [("EMPTY", ""), ("HZ", "250"), ("X", "a \\\"b\\\"")];
        assert_eq!(options.0, expected.map(|(option, value)| (option.into(), value.into())).into());
    }

    #[test]
    fn differences_have_both_sides() {
        let standard =
            KernelOptions::from_config_text("CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_HZ=250\nCONFIG_SMP=y\n");
        let rt = KernelOptions::from_config_text("CONFIG_PREEMPT_RT=y\nCONFIG_HZ=1000\nCONFIG_SMP=y\n");
        let expected = [
            ("HZ", (Some("250"), Some("1000"))),
            ("PREEMPT_DYNAMIC", (Some("y"), None)),
            ("PREEMPT_RT", (None, Some("y"))),
        ];
        assert_eq!(standard.differences(&rt), expected.into());
        assert!(rt.differences(&rt).is_empty());
    }

    #[test]
    fn options_are_serialised_as_a_plain_map() {
        let options = KernelOptions::from_config_text("CONFIG_HZ=250\n");
        assert_eq!(serde_json::to_string(&options).unwrap(), r#"{"HZ":"250"}"#);
        assert_eq!(serde_json::from_str::<KernelOptions>(r#"{"HZ":"250"}"#).unwrap(), options);
    }
}
