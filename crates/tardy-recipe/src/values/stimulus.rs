//! The output that generates a stimulus (`--stimulus`).

use std::fmt;
use std::str::FromStr;

use tardy_host::gpio::pwm;
use tardy_record::line_name::LineName;

/// A GPIO line or a channel of a PWM controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StimulusOutput {
    /// A line, which a thread drives.
    Line(LineName),
    /// A PWM output such as `pwmchip0:1`.
    Pwm {
        /// The controller below /sys/class/pwm.
        chip: String,
        /// Its channel.
        channel: u32,
    },
}

impl FromStr for StimulusOutput {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match pwm::parse(text.trim()) {
            Some((chip, channel)) => Ok(Self::Pwm { chip, channel }),
            None => text.parse().map(Self::Line),
        }
    }
}

impl fmt::Display for StimulusOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => line.fmt(f),
            Self::Pwm { chip, channel } => write!(f, "{chip}:{channel}"),
        }
    }
}

crate::serde_as_text!(StimulusOutput);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pwm_output_and_a_line_are_distinguished() {
        let pwm = StimulusOutput::Pwm { chip: "pwmchip0".to_owned(), channel: 1 };
        assert_eq!("pwmchip0:1".parse(), Ok(pwm));
        for text in ["gpiochip0:17", "GPIO17", "pwmchip:1", "pwmchip0:x", "pwmchipa:1"] {
            assert!(matches!(text.parse(), Ok(StimulusOutput::Line(_))), "{text}");
        }
    }
}
