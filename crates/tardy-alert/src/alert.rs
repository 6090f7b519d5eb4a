//! An alert, and its states.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tardy_archive::Address;

/// The state of an alert, which a person sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nobody has looked at it.
    Open,
    /// Somebody takes care of it.
    Acknowledged,
    /// What it reports is not a fault, for example since the board was used for something else.
    Invalid,
    /// What caused it is fixed. A later run that breaks the same rule raises another alert.
    Fixed,
}

impl State {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Open, Self::Acknowledged, Self::Invalid, Self::Fixed];

    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Invalid => "invalid",
            Self::Fixed => "fixed",
        }
    }

    /// Whether somebody still has to do something. Later runs that break the same rule belong to the same alert.
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Open | Self::Acknowledged)
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|state| state.name() == text)
            .ok_or_else(|| format!("'{text}' is not a state; choose one of {}", names()))
    }
}

/// A state that a person set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, in RFC 3339, UTC.
    pub at: String,
    /// Who: the name of a token.
    pub by: String,
    /// The state.
    pub state: State,
    /// Why; empty if nothing was written.
    pub text: String,
}

/// An alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Its identity: 16 hexadecimal digits.
    pub id: String,
    /// The name of the rule.
    pub rule: String,
    /// The board, as in [`tardy_archive::Entry::machine`].
    pub board: String,
    /// When it was raised, in RFC 3339, UTC.
    pub raised_at: String,
    /// The first run that broke the rule, or the first one after the change.
    pub run: Address,
    /// The last run that did; the same one if there is no other.
    pub last_run: Address,
    /// How many runs did.
    pub runs: u64,
    /// What was found in the last run, as a sentence.
    pub text: String,
    /// Its state.
    pub state: State,
    /// The states that were set, the oldest first.
    pub notes: Vec<Note>,
}

impl Alert {
    /// When something about it changed for the last time.
    pub fn updated_at(&self) -> &str {
        self.notes.last().map_or(&self.raised_at, |note| note.at.as_str())
    }
}
