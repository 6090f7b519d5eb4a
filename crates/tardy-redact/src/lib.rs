//! Removes from a run what identifies a machine, a user or a project. The only definition of `--redact`.
//!
//! Every text of a run is removed unless `fields` lists its field, so a field that is added later is removed until it is
//! listed. Numbers stay: they are the measurement. A listed text is kept, reduced to its known words, or replaced by a name with
//! a number that is the same wherever the text occurs in the run. Kept texts lose MAC addresses and UUIDs.

mod arguments;
mod fields;
mod identifiers;
mod kernel_arguments;
mod names;
mod sentences;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use tardy_record::file::{self, RunFileError};
use tardy_record::run::{REDACTED, Run};

use fields::Treatment;
use names::Names;

pub use names::{RECIPES, is_known_label, is_known_result};

/// tardy's subcommands, which stay in the command line of a run's origin.
const COMMANDS: [&str; 9] =
    ["run", "import", "lab", "tsn", "cyclictest", "check", "verify", "test", "simulate"];

/// A redacted run, and what was removed from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Redacted {
    /// The run, with the changed fields added to [`Run::redacted`].
    pub run: Run,
    /// The changed fields, each with its number of changed texts. Empty if the run was redacted before.
    pub changed: BTreeMap<String, usize>,
}

/// Removes from `run` what identifies a machine, a user or a project. Redacting the result again changes nothing.
///
/// # Errors
/// If the result is not a run, which only a run that [`file::check`] refuses can cause.
pub fn redact(run: &Run) -> Result<Redacted, RunFileError> {
    redact_except(run, &[])
}

/// The same as [`redact`], without the fields `keep` and those below them, such as `origin.host` or `facts.machine`.
///
/// # Errors
/// As [`redact`].
pub fn redact_except(run: &Run, keep: &[String]) -> Result<Redacted, RunFileError> {
    // By way of text: the compiler would make `to_value` and `from_value` of all types a second time.
    let mut value: Value = serde_json::from_str(&file::to_text(run))?;
    let mut walk = Walk { names: Names::of_phases(labels(run)), changed: BTreeMap::new(), keep };
    if !walk.keeps("origin.command") {
        walk.command_of_origin(&mut value);
    }
    walk.value(&mut value, "", "");
    let mut run: Run = serde_json::from_slice(&serde_json::to_vec(&value)?)?;
    let fields: BTreeSet<String> = run.redacted.drain(..).chain(walk.changed.keys().cloned()).collect();
    run.redacted = fields.into_iter().collect();
    file::check(&run)?;
    Ok(Redacted { run, changed: walk.changed })
}

/// The labels of the phases of `run`, which sentences quote.
fn labels(run: &Run) -> Vec<String> {
    let measured = run.phases.iter().map(|phase| phase.label.clone());
    measured.chain(run.plan.phases.iter().map(|phase| phase.label.clone())).collect()
}

/// Visits every text of a run in a fixed order.
struct Walk<'k> {
    names: Names,
    changed: BTreeMap<String, usize>,
    /// The fields that stay.
    keep: &'k [String],
}

impl Walk<'_> {
    /// Whether the field, or one that contains it, stays.
    fn keeps(&self, field: &str) -> bool {
        let is_of = |keep: &String| {
            field.strip_prefix(keep.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.keep.iter().any(is_of)
    }

    /// Keeps the program and the subcommand of the command line of origin.
    fn command_of_origin(&mut self, run: &mut Value) {
        let Some(words) = run.pointer_mut("/origin/command").and_then(Value::as_array_mut) else { return };
        let is_command = |word: &&Value| word.as_str().is_some_and(|word| COMMANDS.contains(&word));
        let commands = words.iter().skip(1).take(2).take_while(is_command);
        let kept: Vec<Value> = std::iter::once(Value::from("tardy")).chain(commands.cloned()).collect();
        if *words != kept && !words.is_empty() {
            let removed = words.len().saturating_sub(kept.len()).max(1);
            *self.changed.entry("origin.command".to_owned()).or_default() += removed;
            *words = kept;
        }
    }

    /// `field` is the path of `value` without indices, and `parent` that of the object that holds it.
    fn value(&mut self, value: &mut Value, field: &str, parent: &str) {
        match value {
            Value::String(_) if self.keeps(field) => {}
            Value::String(text) => {
                let new = self.text(text, field, parent);
                if *text != new {
                    *self.changed.entry(field.to_owned()).or_default() += 1;
                    *text = new;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value, field, parent)),
            Value::Object(members) => {
                for (key, value) in members.iter_mut() {
                    let path = if field.is_empty() { key.clone() } else { format!("{field}.{key}") };
                    self.value(value, &path, field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, field: &str, parent: &str) -> String {
        // What is unknown or empty identifies nothing.
        if matches!(text, "" | "unknown" | REDACTED) {
            return text.to_owned();
        }
        match fields::treatment(field, parent) {
            Treatment::Remove => REDACTED.to_owned(),
            Treatment::CommandOfOrigin => text.to_owned(),
            Treatment::Keep => identifiers::without(text),
            Treatment::KernelArguments => kernel_arguments::redacted(text),
            Treatment::Configuration => arguments::configuration(text),
            Treatment::Load => arguments::load(text),
            Treatment::ToolCommand => arguments::tool_command(text),
            Treatment::EmulatorArgument => arguments::emulator_argument(text),
            Treatment::KernelOfLab => arguments::kernel_of_lab(text),
            Treatment::Version => identifiers::version(text),
            Treatment::SourceOfCgroup => identifiers::source_of_cgroup(text),
            Treatment::KernelThread => names::kernel_thread(text),
            Treatment::Recipe => names::recipe(text),
            Treatment::Published => names::published(text),
            Treatment::Id => identifiers::id(text),
            Treatment::Date => identifiers::date(text),
            Treatment::PhaseLabel => self.names.phase(text),
            Treatment::Name => self.names.name(text),
            Treatment::Task => self.names.task(text),
            Treatment::Sentence => sentences::redacted(text, &mut self.names),
        }
    }
}

#[cfg(test)]
mod tests;
