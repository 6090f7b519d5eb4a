//! A value for each CPU; usually all CPUs have the same value.
//!
//! Not a plain map: JSON's keys are text, and inside a [`crate::Knowable`] serde does not turn them back into
//! numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cpu_list;

/// A value for each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerCpu<T>(pub BTreeMap<u32, T>);

impl<T> Default for PerCpu<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> FromIterator<(u32, T)> for PerCpu<T> {
    fn from_iter<I: IntoIterator<Item = (u32, T)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T: PartialEq> PerCpu<T> {
    /// The distinct values, each with its CPUs, in the order of their first CPUs.
    pub fn groups(&self) -> Vec<(&T, Vec<u32>)> {
        let mut groups: Vec<(&T, Vec<u32>)> = Vec::new();
        for (cpu, value) in &self.0 {
            match groups.iter_mut().find(|(other, _)| *other == value) {
                Some((_, cpus)) => cpus.push(*cpu),
                None => groups.push((value, vec![*cpu])),
            }
        }
        groups
    }

    /// The values in one line: a single value if all CPUs have the same, otherwise `0-2: this; 3: that`; `none` if
    /// there are none.
    pub fn line(&self, text: impl Fn(&T) -> String) -> String {
        match self.groups().as_slice() {
            [] => "none".to_owned(),
            [(value, _)] => text(value),
            groups => groups
                .iter()
                .map(|(value, cpus)| format!("{}: {}", cpu_list::format(cpus), text(value)))
                .collect::<Vec<_>>()
                .join("; "),
        }
    }
}

impl<T: Serialize> Serialize for PerCpu<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(cpu, value)| (cpu.to_string(), value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerCpu<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::<String, T>::deserialize(deserializer)?
            .into_iter()
            .map(|(cpu, value)| match cpu.parse() {
                Ok(cpu) => Ok((cpu, value)),
                Err(_) => Err(D::Error::custom(format!("'{cpu}' is not a CPU's number"))),
            })
            .collect()
    }
}

impl<T: JsonSchema> JsonSchema for PerCpu<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PerCpu_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Fact;

    #[test]
    fn a_map_by_cpu_survives_the_run_file() {
        let fact = Fact::known(PerCpu::from_iter([(0, (1u64, 2u64)), (10, (3, 4))]), "test");
        let text = serde_json::to_string(&fact).unwrap();
        assert_eq!(serde_json::from_str::<Fact<PerCpu<(u64, u64)>>>(&text).unwrap(), fact);
        assert!(serde_json::from_str::<PerCpu<u64>>(r#"{"one":1}"#).is_err());
    }

    #[test]
    fn equal_values_are_written_once() {
        let same = PerCpu::from_iter((0..4).map(|cpu| (cpu, "performance".to_owned())));
        assert_eq!(same.line(String::clone), "performance");
        assert_eq!(PerCpu::<char>::default().line(char::to_string), "none");
        let mixed = PerCpu::from_iter([(0, 'a'), (1, 'b'), (2, 'a')]);
        assert_eq!(mixed.line(char::to_string), "0,2: a; 1: b");
    }
}
