//! `tardy gate`, and requirements of commands that measure.

use std::path::PathBuf;

use clap::Args;
use tardy_compare::versus::Factor;
use tardy_gate::Requirement;
use tardy_gate::forms::Form;
use tardy_recipe::values::PositiveDuration;
use tardy_recipe::{Recipe, UsageError, wrong};
use tardy_record::plan::Plan;

use super::RedactionFlag;
use super::values::{WrittenForm, form, probability, requirement, written_form};

/// `tardy gate`.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Run files. Each must meet all requirements.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// What is required of the runs.
    #[command(flatten)]
    pub requirements: RequirementArgs,
    /// What the runs are compared with.
    #[command(flatten)]
    pub baseline: BaselineArgs,
    /// Print the outcome in this form: text, json, junit, tap, lava, kcidb, github or markdown.
    #[arg(long = "to", value_name = "FORM", default_value = "text", value_parser = form)]
    pub to: &'static Form,
    /// Print JSON; the same as --to json.
    #[arg(long, conflicts_with = "to")]
    pub json: bool,
    /// Also write the outcome to a file in this form. May be repeated.
    #[arg(long, value_name = "FORM=FILE", value_parser = written_form)]
    pub write: Vec<WrittenForm>,
    /// Overwrite the files of --write if they exist.
    #[arg(long, requires = "write")]
    pub force: bool,
    /// Whether what identifies the machine is removed.
    #[command(flatten)]
    pub redaction: RedactionFlag,
}

/// Earlier runs that the runs must not be worse than.
#[derive(Debug, Args)]
#[command(next_help_heading = "Against a baseline")]
pub struct BaselineArgs {
    /// Run files of the baseline, or directories of them. The runs together must not be worse than these (docs/gate.md)
    #[arg(long, num_args = 1.., value_name = "RUN|DIR")]
    pub baseline: Vec<PathBuf>,
    /// Differences up to this share of the baseline do not matter: 0.05, 5%
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = probability, requires = "baseline")]
    pub margin: f64,
    /// What may differ: kernel (version and configuration), cmdline, recipe, or the name of a fact.
    #[arg(long, value_name = "FACTOR", default_value = "kernel", requires = "baseline")]
    pub factor: Factor,
    /// Make the runs the new baseline, for this reason, unless they are invalid or fail a --require. The baseline is a directory, or
    /// becomes one; its former files are moved to a directory next to it.
    #[arg(long, value_name = "REASON", requires = "baseline")]
    pub accept: Option<String>,
    /// Who accepts [default: the user's name]
    #[arg(long, value_name = "NAME", requires = "accept")]
    pub by: Option<String>,
}

/// What a run must meet.
#[derive(Debug, Default, Args)]
pub struct RequirementArgs {
    /// What the run must meet: p99.9<500us, P(>1ms)<1e-6@99%, or max<200us; in front of it a phase and a CPU as idle/cpu2:
    /// [default: the worst CPU of the loaded phases]. May be repeated (docs/gate.md)
    #[arg(long = "require", value_name = "REQUIREMENT", value_parser = requirement, help_heading = "Results")]
    pub require: Vec<Requirement>,
}

impl RequirementArgs {
    /// `recipe` with the limits as thresholds, so that the measurement counts what is later than each, exactly and with its
    /// clusters.
    pub fn declared_in(&self, mut recipe: Recipe) -> Recipe {
        if !self.require.is_empty() {
            let limits = self.require.iter().map(|one| PositiveDuration::from_ns(one.demand.limit_ns()));
            recipe.run.thresholds.get_or_insert_default().extend(limits);
        }
        recipe
    }

    /// Refuses a requirement that no run of `plan` can meet or fail.
    pub fn checked_for(&self, plan: &Plan) -> Result<(), UsageError> {
        let refused = self.require.iter().find_map(|one| one.refused_by(plan));
        refused.map_or(Ok(()), |reason| Err(wrong("require", reason)))
    }
}
