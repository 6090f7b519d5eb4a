//! What is an alert: the file `alerts.toml` of an archive.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tardy_archive::{RECORDS, contains, is_load};
use tardy_gate::Requirement;
use thiserror::Error;

/// The file, in the directory [`RECORDS`] of an archive.
const FILE: &str = "alerts.toml";

/// All rules, and the webhooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The rules, in the order of the file.
    pub rules: Vec<Rule>,
    /// Addresses that receive each alert and each change of its state.
    pub webhooks: Vec<Webhook>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name, which no other rule has.
    pub name: String,
    /// Part of the names of the boards that it is about, in any case; `None`: all.
    pub board: Option<String>,
    /// The load of the runs that it is about, with or without its argument; `None`: all.
    pub load: Option<String>,
    /// What it demands.
    pub demand: Demand,
}

/// What a rule demands.
#[derive(Clone, Debug, PartialEq)]
pub enum Demand {
    /// Every run meets this.
    Meets(Requirement),
    /// The last change of no figure of a board is one for the worse.
    NoChangeForTheWorse,
}

/// An address that receives alerts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// Where to send a POST request to.
    pub url: String,
    /// A file whose first line is sent as a bearer token.
    #[serde(default, rename = "token-file")]
    pub token_file: Option<PathBuf>,
}

/// Why the rules cannot be used.
#[derive(Debug, Error)]
pub enum RulesError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// It is not TOML, or has other keys.
    #[error("{path}: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        reason: String,
    },
    /// A rule is wrong.
    #[error("{path}, rule '{rule}': {reason}")]
    Rule {
        /// The file.
        path: PathBuf,
        /// The name of the rule.
        rule: String,
        /// What is wrong, and what to write.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    rule: Vec<WrittenRule>,
    #[serde(default)]
    webhook: Vec<Webhook>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    name: String,
    board: Option<String>,
    load: Option<String>,
    require: Option<String>,
    change: Option<String>,
}

impl Rules {
    /// The file of the rules of an archive.
    pub fn path(archive: &Path) -> PathBuf {
        archive.join(RECORDS).join(FILE)
    }

    /// The rules of the archive at `archive`; none if it has no file of rules.
    ///
    /// # Errors
    /// If the file cannot be read, or a rule is wrong.
    pub fn read(archive: &Path) -> Result<Self, RulesError> {
        let path = Self::path(archive);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(RulesError::Io { path, source }),
        }
    }

    /// The rules that `text`, the content of `path`, has.
    ///
    /// # Errors
    /// If it is not TOML, or a rule is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RulesError> {
        let written: Written = toml::from_str(text).map_err(|error| RulesError::Syntax {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        let mut names = BTreeSet::new();
        let mut rules = Vec::new();
        for rule in written.rule {
            let name = rule.name.clone();
            let wrong =
                |reason: String| RulesError::Rule { path: path.to_owned(), rule: name.clone(), reason };
            if name.trim().is_empty() {
                return Err(wrong("a rule needs a name".to_owned()));
            }
            if !names.insert(name.clone()) {
                return Err(wrong("another rule has this name; alerts are known by it".to_owned()));
            }
            rules.push(rule.checked().map_err(wrong)?);
        }
        for Webhook { url, .. } in &written.webhook {
            if !url.starts_with("http://") && !url.starts_with("https://") {
                let reason =
                    format!("the webhook '{url}' is not an address; it begins with http:// or https://");
                return Err(RulesError::Syntax { path: path.to_owned(), reason });
            }
        }
        Ok(Self { rules, webhooks: written.webhook })
    }
}

impl WrittenRule {
    fn checked(self) -> Result<Rule, String> {
        let demand = match (self.require, self.change) {
            (Some(requirement), None) => Demand::Meets(requirement.parse()?),
            (None, Some(change)) if change == "worse" => {
                if self.load.is_some() {
                    return Err(
                        "a change is searched in all runs of a board; remove 'load', or use 'require'".into(),
                    );
                }
                Demand::NoChangeForTheWorse
            }
            (None, Some(change)) => {
                return Err(format!("'{change}' is not a change; write change = \"worse\""));
            }
            _ => return Err("write either require = \"p99.9<100us\" or change = \"worse\"".to_owned()),
        };
        Ok(Rule { name: self.name, board: self.board, load: self.load, demand })
    }
}

impl Rule {
    /// Whether it is about this board.
    pub fn is_about_board(&self, machine: &str) -> bool {
        self.board.as_ref().is_none_or(|part| contains(machine, part))
    }

    /// Whether it is about runs of this board with these loads.
    pub fn is_about(&self, machine: &str, loads: &[String]) -> bool {
        let has_load = |load: &String| loads.iter().any(|one| is_load(one, load));
        self.is_about_board(machine) && self.load.as_ref().is_none_or(has_load)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Rules, String> {
        Rules::parse(text, Path::new("alerts.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_are_read() {
        let rules = parse(
            "[[rule]]\nname = \"loop\"\nboard = \"rack\"\nload = \"doload\"\nrequire = \"max<100us\"\n\
             [[rule]]\nname = \"slower\"\nchange = \"worse\"\n[[webhook]]\nurl = \"http://127.0.0.1:9/hook\"\n",
        )
        .unwrap();
        assert_eq!(rules.rules.len(), 2);
        assert_eq!(rules.rules[1].demand, Demand::NoChangeForTheWorse);
        assert!(rules.rules[0].is_about_board("RACK3, Pi") && !rules.rules[0].is_about_board("desk"));
        assert_eq!(rules.webhooks[0].url, "http://127.0.0.1:9/hook");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("[[rule]]\nname = \"a\"\nrequire = \"fast\"\n", "rule 'a'"),
            ("[[rule]]\nname = \"a\"\n", "either require"),
            ("[[rule]]\nname = \"a\"\nchange = \"better\"\n", "change = \"worse\""),
            ("[[rule]]\nname = \"a\"\nchange = \"worse\"\nload = \"doload\"\n", "remove 'load'"),
            (
                "[[rule]]\nname = \"a\"\nchange = \"worse\"\n[[rule]]\nname = \"a\"\nchange = \"worse\"\n",
                "has this name",
            ),
            ("[[webhook]]\nurl = \"ftp://a\"\n", "http:// or https://"),
            ("[[rule]]\nname = \"\"\nchange = \"worse\"\n", "needs a name"),
            ("[[rule]]\nname = \"a\"\nrequires = \"max<1ms\"\n", "requires"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("alerts.toml") && error.contains(expected), "{text}: {error}");
        }
    }
}
