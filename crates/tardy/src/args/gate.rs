//! `tardy gate`, and requirements of commands that measure.

use std::path::PathBuf;

use clap::Args;
use tardy_gate::Requirement;
use tardy_gate::forms::Form;
use tardy_recipe::Recipe;
use tardy_recipe::values::PositiveDuration;

use super::RedactionFlag;
use super::values::{WrittenForm, form, requirement, written_form};

/// `tardy gate`.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Run files. Each must meet all requirements.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) requirements: RequirementArgs,
    /// Print the outcome in this form: text, json, junit, tap, lava, kcidb, github or markdown.
    #[arg(long = "to", value_name = "FORM", default_value = "text", value_parser = form)]
    pub(crate) to: &'static Form,
    /// Print JSON; the same as --to json.
    #[arg(long, conflicts_with = "to")]
    pub(crate) json: bool,
    /// Also write the outcome to a file in this form. May be repeated.
    #[arg(long, value_name = "FORM=FILE", value_parser = written_form)]
    pub(crate) write: Vec<WrittenForm>,
    /// Overwrite the files of --write if they exist.
    #[arg(long, requires = "write")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) redaction: RedactionFlag,
}

/// What a run must meet.
#[derive(Debug, Default, Args)]
pub(crate) struct RequirementArgs {
    /// What the run must meet: p99.9<500us, P(>1ms)<1e-6@99%, or max<200us; in front of it a phase and a CPU as idle/cpu2:
    /// [default: the worst CPU of the loaded phases]. May be repeated (docs/gate.md)
    #[arg(long = "require", value_name = "REQUIREMENT", value_parser = requirement, help_heading = "Results")]
    pub(crate) require: Vec<Requirement>,
}

impl RequirementArgs {
    /// `recipe` with the limits as thresholds, so that the measurement counts what is later than each, exactly and with its
    /// clusters.
    pub(crate) fn declared_in(&self, mut recipe: Recipe) -> Recipe {
        if !self.require.is_empty() {
            let limits = self.require.iter().map(|one| PositiveDuration::from_ns(one.demand.limit_ns()));
            recipe.run.thresholds.get_or_insert_default().extend(limits);
        }
        recipe
    }
}
