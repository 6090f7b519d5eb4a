//! `tardy gpio`: GPIO chips and their lines.

use anyhow::{Result, anyhow};
use tardy_host::facts;
use tardy_host::gpio::chips::{self, ChipState};
use tardy_host::gpio::header;
use tardy_plot::numbers::harmless;
use tardy_present::table::Table;
use tardy_sys::kernel_files::KernelFiles;

use tardy_args::{GpioCommand, GpioListArgs};
use tardy_command::{Exit, output};

/// Runs the subcommand.
pub(crate) fn run(command: &GpioCommand) -> Result<Exit> {
    match command {
        GpioCommand::List(arguments) => list(arguments),
        GpioCommand::Stimulate(arguments) => super::gpio_stimulate::run(arguments),
    }
}

fn list(arguments: &GpioListArgs) -> Result<Exit> {
    let chips = chips::all().map_err(|reason| anyhow!(reason))?;
    if arguments.json {
        output::print_json(&chips)?;
        return Ok(Exit::Done);
    }
    if chips.is_empty() {
        output::report(
            "no GPIO chip found; its driver may not be loaded, or the kernel may lack CONFIG_GPIO_CDEV",
        );
    }
    let facts = facts::collect(&KernelFiles::real(), &facts::SystemAnswers::ask());
    let board = facts.machine.board.get().map(String::as_str);
    for chip in &chips {
        output::print(&(lines(chip, board).join("\n") + "\n"))?;
    }
    Ok(Exit::Done)
}

/// A chip's lines as a table.
fn lines(chip: &ChipState, board: Option<&str>) -> Vec<String> {
    if let Some(trouble) = &chip.trouble {
        return vec![format!("{}: {}", chip.name, harmless(trouble))];
    }
    let mut table = Table::of_words(&["line", "name", "direction", "consumer", "pin"]);
    for line in &chip.lines {
        let consumer = match (line.used, line.consumer.as_str()) {
            (false, _) => "-".to_owned(),
            (true, "") => "unnamed".to_owned(),
            (true, consumer) => harmless(consumer),
        };
        table.push(vec![
            format!("{}:{}", chip.name, line.offset),
            if line.name.is_empty() { "-".to_owned() } else { harmless(&line.name) },
            if line.output { "output" } else { "input" }.to_owned(),
            consumer,
            header::pin(board, &chip.label, line.offset).unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    let mut all = vec![format!("{} ({}), {} lines", chip.name, harmless(&chip.label), chip.lines.len())];
    all.extend(table.lines(output::width()));
    all
}
