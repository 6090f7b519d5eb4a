//! Values of options that are not keys of a recipe for a run.

mod cycles;
mod format;
mod gate;
mod kernel;
mod output_path;
mod plot_length;
mod run_name;
mod search;
mod share;
mod unit_rule;

pub use cycles::cycles;
pub use format::{export_format, import_format};
pub use gate::{WrittenForm, form, requirement, written_form};
pub use kernel::{GuestMemory, KernelChoice};
pub use output_path::output_path;
pub use plot_length::{plot_height, plot_width};
pub use run_name::{RunName, run_name};
pub use search::{judgement, preemption};
pub use share::probability;
pub use unit_rule::{UnitRule, unit_rule};
