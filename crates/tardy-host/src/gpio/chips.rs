//! GPIO chips and their lines as the kernel lists them, and the line that a user names.

use std::path::Path;

use gpiocdev::chip::Chip;
use gpiocdev::line::{Direction, Info};
use serde::Serialize;
use tardy_record::line_name::{LINE_FORMS, LineName};
use tardy_record::pins::Line;
use tardy_sys::gpio::device_path;

/// The directory of devices.
const DEVICES: &str = "/dev";
/// The prefix of the names of GPIO devices.
const PREFIX: &str = "gpiochip";

/// A chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChipState {
    /// Its device in /dev, such as `gpiochip0`.
    pub name: String,
    /// Its driver's label.
    pub label: String,
    /// Its lines by number; empty if the chip cannot be opened.
    pub lines: Vec<LineState>,
    /// The reason why the chip cannot be opened; `None` if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineState {
    /// Its number on the chip.
    pub offset: u32,
    /// Its name; may be empty.
    pub name: String,
    /// The consumer's name; empty if the line is unused or its consumer has no name.
    pub consumer: String,
    /// Whether a program or the kernel uses it.
    pub used: bool,
    /// Whether it is an output.
    pub output: bool,
}

/// A line that a user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The line.
    pub line: Line,
    /// Its current state.
    pub state: LineState,
}

/// All chips, by number.
///
/// # Errors
/// If the directory of devices cannot be read.
pub fn all() -> Result<Vec<ChipState>, String> {
    let entries = std::fs::read_dir(DEVICES).map_err(|error| format!("{DEVICES} cannot be read: {error}"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut numbered: Vec<(u32, String)> =
        names.filter_map(|name| Some((name.strip_prefix(PREFIX)?.parse().ok()?, name))).collect();
    numbered.sort_unstable();
    Ok(numbered.into_iter().map(|(_, name)| chip(name)).collect())
}

fn chip(name: String) -> ChipState {
    match look_at(&device_path(&name)) {
        Ok((label, lines)) => ChipState { name, label, lines, trouble: None },
        Err(trouble) => ChipState { name, label: String::new(), lines: Vec::new(), trouble: Some(trouble) },
    }
}

/// The chip of the synthetic machine (`--fake`): a Raspberry Pi's, with an LED on line 2.
pub fn fake() -> Vec<ChipState> {
    let line = |offset: u32| {
        let lamp = offset == 2;
        LineState {
            offset,
            name: if lamp { "STATUS_LED".to_owned() } else { format!("GPIO{offset}") },
            consumer: if lamp { "heartbeat".to_owned() } else { String::new() },
            used: lamp,
            output: lamp,
        }
    };
    let lines = (0..28).map(line).chain([LineState { name: "WLAN_ON".to_owned(), ..line(28) }]).collect();
    vec![ChipState {
        name: "gpiochip0".to_owned(),
        label: "pinctrl-bcm2835".to_owned(),
        lines,
        trouble: None,
    }]
}

/// The line of a lab guest that has not booted. A line given by its name is assumed to be on the first chip; the guest
/// looks it up.
pub fn elsewhere(name: &LineName) -> Line {
    match name {
        LineName::Numbered { chip, offset } => {
            Line { chip: chip.clone(), label: chip.clone(), offset: *offset, name: None }
        }
        LineName::Named(name) => Line {
            chip: "gpiochip0".to_owned(),
            label: "gpiochip0".to_owned(),
            offset: 0,
            name: Some(name.clone()),
        },
    }
}

fn look_at(path: &Path) -> Result<(String, Vec<LineState>), String> {
    // The crate's error would report only that this is not a GPIO chip.
    std::fs::File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!(
            "{} cannot be opened ({error}); run as root, or as a member of the group that owns it (often gpio)",
            path.display()
        ),
        _ => format!("{} cannot be opened: {error}", path.display()),
    })?;
    let with_path = |error: gpiocdev::Error| format!("{}: {error}", path.display());
    let chip = Chip::from_path(path).map_err(with_path)?;
    let info = chip.info().map_err(with_path)?;
    let lines = (0..info.num_lines).map(|offset| chip.line_info(offset).map(state)).collect::<Result<_, _>>();
    Ok((info.label, lines.map_err(with_path)?))
}

fn state(info: Info) -> LineState {
    LineState {
        offset: info.offset,
        name: info.name,
        consumer: info.consumer,
        used: info.used,
        output: info.direction == Direction::Output,
    }
}

/// The line of that name among `chips`. A chip is named by its device or by its label.
///
/// # Errors
/// No such chip or line, or several.
pub fn find(name: &LineName, chips: &[ChipState]) -> Result<Found, String> {
    if chips.is_empty() {
        return Err(format!(
            "'{name}': this machine has no GPIO chip ({DEVICES}/{PREFIX}*); its driver may not be loaded, and the kernel \
             needs CONFIG_GPIO_CDEV"
        ));
    }
    let found = match name {
        LineName::Numbered { chip, offset } => vec![of_chip(chip, *offset, chips)?],
        LineName::Named(name) => {
            let of = |chip: &'_ ChipState| -> Vec<Found> {
                chip.lines.iter().filter(|line| line.name == *name).map(|line| found(chip, line)).collect()
            };
            chips.iter().flat_map(of).collect()
        }
    };
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!(
            "no line is named '{name}'; expected {LINE_FORMS}; `tardy gpio list` lists all lines{}",
            troubles(chips)
        )),
        several => {
            let places: Vec<String> = several.iter().map(|one| one.line.place()).collect();
            Err(format!("several lines are named '{name}': {}; use one of these", places.join(", ")))
        }
    }
}

fn of_chip(name: &str, offset: u32, chips: &[ChipState]) -> Result<Found, String> {
    let device = name.strip_prefix("/dev/").unwrap_or(name);
    let is_it = |chip: &&ChipState| chip.name == device || chip.label == name;
    let matching: Vec<&ChipState> = chips.iter().filter(is_it).collect();
    let chip = match matching.as_slice() {
        [one] => *one,
        [] => {
            let known: Vec<String> =
                chips.iter().map(|chip| format!("{} ({})", chip.name, chip.label)).collect();
            return Err(format!("there is no GPIO chip '{name}'; this machine has {}", known.join(", ")));
        }
        several => {
            let names: Vec<&str> = several.iter().map(|chip| chip.name.as_str()).collect();
            return Err(format!(
                "several chips have the label '{name}': {}; use one of these",
                names.join(", ")
            ));
        }
    };
    if let Some(trouble) = &chip.trouble {
        return Err(trouble.clone());
    }
    let line = chip.lines.iter().find(|line| line.offset == offset);
    line.map(|line| found(chip, line)).ok_or_else(|| {
        format!(
            "{} ({}) has lines 0 to {}, not {offset}",
            chip.name,
            chip.label,
            chip.lines.len().saturating_sub(1)
        )
    })
}

fn found(chip: &ChipState, line: &LineState) -> Found {
    let name = Some(line.name.clone()).filter(|name| !name.is_empty());
    let place = Line { chip: chip.name.clone(), label: chip.label.clone(), offset: line.offset, name };
    Found { line: place, state: line.clone() }
}

fn troubles(chips: &[ChipState]) -> String {
    chips.iter().filter_map(|chip| chip.trouble.as_ref()).map(|trouble| format!("; {trouble}")).collect()
}

impl Found {
    /// Why the line cannot be claimed; `None` if it is unused.
    pub fn taken(&self) -> Option<String> {
        let Self { line, state } = self;
        state.used.then(|| {
            let who = if state.consumer.is_empty() { "an unnamed user" } else { &state.consumer };
            format!("{} is in use by '{who}'; choose another line, or stop its user (`tardy gpio list` lists all)", line.place())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(offset: u32, name: &str, consumer: &str) -> LineState {
        let used = !consumer.is_empty();
        LineState { offset, name: name.into(), consumer: consumer.into(), used, output: false }
    }

    fn chips() -> Vec<ChipState> {
        let chip = |name: &str, label: &str, lines| ChipState {
            name: name.into(),
            label: label.into(),
            lines,
            trouble: None,
        };
        vec![
            chip(
                "gpiochip0",
                "pinctrl-x",
                vec![line(0, "GPIO0", ""), line(1, "LED", "heartbeat"), line(2, "twice", "")],
            ),
            chip("gpiochip1", "expander", vec![line(0, "twice", "")]),
            chip("gpiochip2", "expander", vec![]),
            ChipState {
                name: "gpiochip3".into(),
                label: String::new(),
                lines: vec![],
                trouble: Some("not yours".into()),
            },
        ]
    }

    #[test]
    fn a_line_is_named_in_three_ways() {
        for text in ["gpiochip0:0", "/dev/gpiochip0:0", "pinctrl-x:0", "GPIO0"] {
            let found =
                find(&text.parse().unwrap(), &chips()).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (found.line.place().as_str(), found.line.name.as_deref()),
                ("gpiochip0:0", Some("GPIO0"))
            );
            assert_eq!(found.taken(), None);
        }
    }

    #[test]
    fn errors_name_the_problem_with_a_line() {
        for (text, words) in [
            ("gpiochip9:0", "there is no GPIO chip 'gpiochip9'; this machine has gpiochip0 (pinctrl-x)"),
            ("gpiochip0:3", "has lines 0 to 2, not 3"),
            ("expander:0", "several chips have the label 'expander': gpiochip1, gpiochip2"),
            ("twice", "several lines are named 'twice': gpiochip0:2, gpiochip1:0"),
            ("thrice", "no line is named 'thrice'"),
            ("gpiochip3:0", "not yours"),
        ] {
            let error = find(&text.parse().unwrap(), &chips()).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(find(&"x:0".parse().unwrap(), &[]).unwrap_err().contains("no GPIO chip"));
        let taken = find(&"LED".parse().unwrap(), &chips()).unwrap().taken().unwrap();
        assert!(taken.contains("in use by 'heartbeat'"), "{taken}");
    }
}
