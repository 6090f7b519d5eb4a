//! A GPIO line as a user names it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The forms of a line, for errors and help.
pub const LINE_FORMS: &str = "gpiochip0:17, the chip's label as in pinctrl-bcm2835:17, or the line's name";

/// A line of a GPIO chip, by number or by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LineName {
    /// `gpiochip0:17` or `pinctrl-bcm2835:17`.
    Numbered {
        /// The chip's device or its label.
        chip: String,
        /// The line's number on the chip.
        offset: u32,
    },
    /// The name that the device tree gives the line, such as `GPIO17`.
    Named(String),
}

impl FromStr for LineName {
    type Err = String;

    /// # Errors
    /// If the text is empty or names no chip before its number.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let numbered = text.rsplit_once(':').and_then(|(chip, number)| Some((chip, number.parse().ok()?)));
        match numbered {
            Some((chip, offset)) if !chip.is_empty() => Ok(Self::Numbered { chip: chip.to_owned(), offset }),
            None if !text.is_empty() => Ok(Self::Named(text.to_owned())),
            _ => Err(format!("'{text}' is not a line; expected {LINE_FORMS}")),
        }
    }
}

impl fmt::Display for LineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbered { chip, offset } => write!(f, "{chip}:{offset}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl TryFrom<String> for LineName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<LineName> for String {
    fn from(line: LineName) -> Self {
        line.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_named_by_number_or_by_name() {
        let numbered = LineName::Numbered { chip: "gpiochip0".to_owned(), offset: 17 };
        assert_eq!("gpiochip0:17".parse(), Ok(numbered));
        for name in ["GPIO17", "odd:name", "gpiochip0:-1"] {
            assert_eq!(name.parse(), Ok(LineName::Named(name.to_owned())));
        }
        for text in ["", " ", ":17"] {
            assert!(text.parse::<LineName>().is_err(), "{text}");
        }
    }
}
