//! Values of options that are not keys of a recipe for a run.

mod format;
mod gate;
mod kernel;
mod output_path;
mod plot_length;
mod run_name;
mod share;
mod unit_rule;

pub(crate) use format::{export_format, import_format};
pub(crate) use gate::{WrittenForm, form, requirement, written_form};
pub(crate) use kernel::{GuestMemory, KernelChoice};
pub(crate) use output_path::output_path;
pub(crate) use plot_length::{plot_height, plot_width};
pub(crate) use run_name::{RunName, run_name};
pub(crate) use share::probability;
pub(crate) use unit_rule::{UnitRule, unit_rule};
