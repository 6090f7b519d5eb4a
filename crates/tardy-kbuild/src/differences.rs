//! The options in which two builds of one source differ.

use std::collections::BTreeSet;

use tardy_search::parameters::Change;

use crate::kconfig::Options;
use tardy_search::configuration::{Configuration, Setting};

/// The options that a user can set and that have different values. Those that follow from others are left out.
pub(crate) fn of(from: &Configuration, to: &Configuration, options: &Options) -> Vec<Difference> {
    let names: BTreeSet<&str> = from.names().chain(to.names()).collect();
    let differ = names.into_iter().filter(|name| from.value(name) != to.value(name));
    let setting = |all: &Configuration, name: &str| Setting {
        name: name.to_owned(),
        value: all.value(name).to_owned(),
    };
    differ
        .filter(|name| options.has_prompt(name))
        .map(|name| Difference { from: setting(from, name), to: setting(to, name) })
        .collect()
}

/// An option with two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// As it is in the first configuration.
    pub from: Setting,
    /// As it is in the second.
    pub to: Setting,
}

impl Difference {
    /// The change from the first to the second, as a bisection reports it.
    pub fn change(&self) -> Change {
        let Setting { name, .. } = &self.to;
        Change { name: name.clone(), from: vec![self.from.to_string()], to: vec![self.to.to_string()] }
    }
}
