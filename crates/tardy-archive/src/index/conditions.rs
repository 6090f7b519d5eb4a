//! A search as conditions of SQL, and the columns that they compare.

use rusqlite::types::Value;

use crate::day::Day;
use crate::error::ArchiveError;
use crate::query::{ConfigOption, Query};

impl Query {
    /// The same as conditions of SQL on the table `runs`, with the values of their parameters.
    ///
    /// # Errors
    /// If there are more conditions than SQLite's parser nests.
    pub(super) fn sql(&self) -> Result<(String, Vec<Value>), ArchiveError> {
        self.check()?;
        let mut conditions = vec!["stored".to_owned()];
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, of: Vec<Value>| {
            conditions.push(condition.to_owned());
            values.extend(of);
        };
        let text = |text: &str| Value::Text(text.to_owned());
        if let Some(part) = &self.machine {
            add("instr(lower(machine), lower(?)) > 0", vec![text(part)]);
        }
        if let Some(machine) = &self.exact_machine {
            add("machine = ?", vec![text(machine)]);
        }
        if let Some(release) = &self.release {
            add("release = ?", vec![text(release)]);
        }
        if let Some(range) = &self.kernel {
            add("kernel BETWEEN ? AND ?", range.ordinals().map(Value::Integer).to_vec());
        }
        if let Some(model) = &self.preemption {
            add("preemption = ?", vec![text(model.name())]);
        }
        if let Some(load) = &self.load {
            let line = format!("\n{load}");
            add(
                "(instr(loads, ?) > 0 OR instr(loads, ?) > 0)",
                vec![Value::Text(format!("{line}\n")), Value::Text(format!("{line}:"))],
            );
        }
        if let Some(Day(first)) = &self.since {
            add("day >= ?", vec![text(first)]);
        }
        if let Some(Day(last)) = &self.until {
            add("day <= ?", vec![text(last)]);
        }
        if let Some(judgement) = &self.judgement {
            add("judgement = ?", vec![text(judgement.name())]);
        }
        if let Some(limit) = self.limit_ns {
            add("limit_ns = ?", vec![Value::Integer(limit.cast_signed())]);
        }
        if let Some(part) = &self.cause {
            add("instr(lower(causes), lower(?)) > 0", vec![text(part)]);
        }
        for ConfigOption { name, value } in &self.config {
            let set = "EXISTS (SELECT 1 FROM options o WHERE o.config = runs.config AND o.name = ?";
            match value.as_str() {
                ConfigOption::UNSET => {
                    add(&format!("config IS NOT NULL AND NOT {set})"), vec![text(name)]);
                }
                _ => add(&format!("{set} AND o.value = ?)"), vec![text(name), text(value)]),
            }
        }
        Ok((conditions.join(" AND "), values))
    }
}

/// The lines of a column that [`Query::sql`] searches in: each begins and ends with the end of a line.
pub(crate) fn lines(texts: &[String]) -> String {
    std::iter::once("\n".to_owned()).chain(texts.iter().map(|text| format!("{text}\n"))).collect()
}
