//! Changes that a probe makes to GPIO lines and PWM outputs, and how each is undone. The kernel undoes none of them
//! (see `guard.rs`).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_host::gpio::{chips, pwm};
use tardy_host::journal::{Kind, Undo, Undone, tagged};
use tardy_probe::gpio::{sysfs, to_input};
use tardy_record::pins::{AnswerBy, Line, ReactionPlan, StimulusPlan, StimulusSource};
use tardy_record::plan::ProbePlan;
use tardy_record::wiggle::{Pace, Through, WigglePlan};
use tardy_sys::kernel_files::KernelFiles;

/// How to undo each [`HeldPin`].
pub const UNDO_KINDS: [Kind; 3] = [
    Kind { name: "pin", read, first: false },
    Kind { name: "exported_pin", read, first: false },
    Kind { name: "pwm", read, first: false },
];

/// A pin that tardy uses, and restores to its previous state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HeldPin {
    /// A line that was made an output, and was an input or unused before.
    Pin {
        /// The line.
        line: Line,
    },
    /// A line that was exported in sysfs, and was unused before.
    ExportedPin {
        /// The line.
        line: Line,
        /// Its number in sysfs.
        number: u32,
    },
    /// A PWM output that was set up, and was unused before.
    Pwm {
        /// Its controller, such as `pwmchip0`.
        chip: String,
        /// The controller's channel.
        channel: u32,
    },
}

fn read(value: &Value) -> Result<Box<dyn Undo>, String> {
    let pin: HeldPin = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    Ok(Box::new(pin))
}

impl Undo for HeldPin {
    fn kind(&self) -> &'static str {
        match self {
            Self::Pin { .. } => UNDO_KINDS[0].name,
            Self::ExportedPin { .. } => UNDO_KINDS[1].name,
            Self::Pwm { .. } => UNDO_KINDS[2].name,
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Pin { line } => {
                format!("GPIO line {} ({}), which was not an output", line.place(), line.label)
            }
            Self::ExportedPin { line, number } => {
                format!("GPIO line {} ({}), exported in sysfs as {number}", line.place(), line.label)
            }
            Self::Pwm { chip, channel } => format!("PWM output {chip}:{channel}, which was unused"),
        }
    }

    fn to_json(&self) -> Value {
        tagged(self.kind(), self)
    }

    fn undo(&self, files: &KernelFiles) -> Result<Undone, String> {
        match self {
            Self::Pin { line } => make_input(line).map(|()| Undone::Done),
            Self::ExportedPin { line, number } => unexport(line, *number, files),
            Self::Pwm { chip, channel } => stop_pwm(chip, *channel, files),
        }
    }
}

/// The pins that a probe uses.
///
/// # Errors
/// If a line is to be used through sysfs and is missing there, or a PWM output is not available.
pub fn held_by(probe: &ProbePlan, files: &KernelFiles) -> Result<Vec<HeldPin>, String> {
    match probe {
        ProbePlan::Reaction(reaction) => held_by_reaction(reaction, files),
        ProbePlan::Wiggle(wiggle) => held_by_wiggle(wiggle, files),
        _ => Ok(Vec::new()),
    }
}

fn held_by_wiggle(wiggle: &WigglePlan, files: &KernelFiles) -> Result<Vec<HeldPin>, String> {
    let line = wiggle.output.clone();
    Ok(vec![match (&wiggle.pace, wiggle.through) {
        (Pace::Command { .. }, _) | (_, Through::Chardev | Through::Gpiomem) => HeldPin::Pin { line },
        (_, Through::Sysfs) => HeldPin::ExportedPin { number: sysfs::number(files, &line)?, line },
    }])
}

fn held_by_reaction(reaction: &ReactionPlan, files: &KernelFiles) -> Result<Vec<HeldPin>, String> {
    let mut held = Vec::new();
    match reaction.answer_by {
        AnswerBy::Sysfs => {
            for line in [&reaction.input, &reaction.output] {
                held.push(HeldPin::ExportedPin { line: line.clone(), number: sysfs::number(files, line)? });
            }
        }
        AnswerBy::Events | AnswerBy::Busy => held.push(HeldPin::Pin { line: reaction.output.clone() }),
    }
    match reaction.stimulus.as_deref() {
        Some(StimulusPlan { source: StimulusSource::Line { line, .. }, .. }) => {
            held.push(HeldPin::Pin { line: line.clone() });
        }
        Some(StimulusPlan { source: StimulusSource::Pwm { chip, channel }, .. }) => {
            pwm::find(files, chip, *channel)?;
            held.push(HeldPin::Pwm { chip: chip.clone(), channel: *channel });
        }
        None => {}
    }
    Ok(held)
}

/// Makes `line` an input, unless it is an input or its chip no longer exists.
fn make_input(line: &Line) -> Result<(), String> {
    let Some(chip) = chip_of(line)? else { return Ok(()) };
    match chip.lines.iter().find(|state| state.offset == line.offset) {
        Some(state) if state.output && state.used => {
            Err(format!("{} is an output of '{}' now", line.place(), state.consumer))
        }
        Some(state) if state.output => to_input(line),
        _ => Ok(()),
    }
}

/// Makes `line`, which tardy exported as `number`, an input that is not exported.
fn unexport(line: &Line, number: u32, files: &KernelFiles) -> Result<Undone, String> {
    if chip_of(line)?.is_none() || sysfs::number(files, line)? != number {
        return Ok(Undone::WasSo);
    }
    sysfs::unexport(files, number, line).map(undone)
}

fn stop_pwm(chip: &str, channel: u32, files: &KernelFiles) -> Result<Undone, String> {
    // A journal entry may come from another user, and must not name a file outside the PWM class.
    if pwm::parse(&format!("{chip}:{channel}")).is_none() {
        return Err(format!("'{chip}' is not a PWM controller"));
    }
    pwm::stop(files, chip, channel).map(undone)
}

fn undone(changed: bool) -> Undone {
    if changed { Undone::Done } else { Undone::WasSo }
}

/// The chip of `line`; `None` if it no longer exists. An error if its label has changed.
fn chip_of(line: &Line) -> Result<Option<chips::ChipState>, String> {
    let Some(chip) = chips::all()?.into_iter().find(|chip| chip.name == line.chip) else { return Ok(None) };
    if let Some(trouble) = chip.trouble {
        return Err(trouble);
    }
    if chip.label != line.label {
        return Err(format!(
            "{} is another chip now: its label is '{}', and was '{}'",
            line.chip, chip.label, line.label
        ));
    }
    Ok(Some(chip))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_back_by_their_kind() {
        let line = Line { chip: "gpiochip0".into(), label: "x".into(), offset: 1, name: None };
        let pins = [
            HeldPin::Pin { line: line.clone() },
            HeldPin::ExportedPin { line, number: 513 },
            HeldPin::Pwm { chip: "pwmchip0".into(), channel: 1 },
        ];
        for (pin, kind) in pins.iter().zip(UNDO_KINDS) {
            let json = pin.to_json();
            assert_eq!((pin.kind(), &json["kind"]), (kind.name, &Value::from(kind.name)));
            assert_eq!((kind.read)(&json).unwrap().describe(), pin.describe());
        }
    }

    #[test]
    fn an_entry_cannot_name_a_file_outside_the_pwm_class() {
        let pin = HeldPin::Pwm { chip: "../../x".into(), channel: 0 };
        assert!(pin.undo(&KernelFiles::real()).unwrap_err().contains("not a PWM controller"));
    }
}
