//! The outcome as text for people and for CI systems.

mod github;
mod json;
mod junit;
mod kcidb;
mod lava;
mod markdown;
mod tap;
mod text;

use serde_json::{Value, json};
use tardy_plot::numbers::harmless;
use tardy_record::Run;

use crate::baseline::{AgainstBaseline, SameIdentity};
use crate::incomplete;
use crate::judge::{Judgement, judge};
use crate::outcome::Outcome;
use crate::requirement::Requirement;
use crate::sentence;

/// A judgement of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The run, as a person names it: its file.
    pub run: String,
    /// Its identity in the run file.
    pub id: String,
    /// The release of the kernel that it measured; empty if it is unknown.
    pub kernel: String,
    /// When the run started, in RFC 3339; empty if it is unknown.
    pub started_at: String,
    /// What is missing of the run, or of which of the compared runs ([`crate::incomplete`]); empty if nothing is.
    pub incomplete: Vec<String>,
    /// The judgement.
    pub by: By,
}

/// What a run was judged by, with the outcome.
#[derive(Clone, Debug, PartialEq)]
pub enum By {
    /// A requirement.
    Requirement(Judgement),
    /// Runs of a baseline.
    Baseline(AgainstBaseline),
}

impl Judged {
    /// The judgements of `run`, which is shown as `name`, by each requirement.
    pub fn all(run: &Run, name: &str, required: &[Requirement]) -> Vec<Self> {
        let one = |requirement: &Requirement| Self {
            run: name.to_owned(),
            id: run.origin.id.clone(),
            kernel: run.facts.kernel.release.get().cloned().unwrap_or_default(),
            started_at: run.origin.started_at.clone(),
            incomplete: incomplete::of_run(run).into_iter().collect(),
            by: By::Requirement(judge(run, requirement)),
        };
        required.iter().map(one).collect()
    }

    /// The outcome.
    pub fn outcome(&self) -> Outcome {
        match &self.by {
            By::Requirement(judgement) => judgement.outcome,
            By::Baseline(against) => against.outcome,
        }
    }

    /// What was demanded: `p99.9<500us@95%`.
    fn demand(&self) -> String {
        match &self.by {
            By::Requirement(judgement) => judgement.requirement.to_string(),
            By::Baseline(against) => against.demand(),
        }
    }

    /// Why the outcome is as it is, and what is missing of the runs.
    fn because(&self) -> String {
        let because = match &self.by {
            By::Requirement(judgement) => sentence::of(judgement),
            By::Baseline(against) => harmless(&against.sentence()),
        };
        match incomplete::sentence(&self.incomplete) {
            Some(missing) => format!("{because} {missing}"),
            None => because,
        }
    }

    /// The numbers that decided.
    fn evidence(&self) -> Value {
        match &self.by {
            By::Requirement(judgement) => json!(judgement.evidence),
            By::Baseline(against) => json!(against.compared),
        }
    }

    /// The boots of the lab that both sides of a baseline have with one identity.
    fn same_identity(&self) -> &[SameIdentity] {
        match &self.by {
            By::Requirement(_) => &[],
            By::Baseline(against) => &against.same_identity,
        }
    }

    /// The measured time of the series that decided, in ns; `None` if nothing was judged, and for a baseline.
    fn counted_ns(&self) -> Option<u64> {
        match &self.by {
            By::Requirement(judgement) => judgement.evidence.as_ref().map(|evidence| evidence.counted_ns),
            By::Baseline(_) => None,
        }
    }

    /// The value that decided, in us: the highest one, or the statistic that was compared. `None` if nothing was judged.
    fn value_us(&self) -> Option<f64> {
        match &self.by {
            By::Requirement(judgement) => {
                judgement.evidence.as_ref().map(|evidence| evidence.worst_ns as f64 / 1e3)
            }
            By::Baseline(against) => against.compared.as_ref().map(|compared| compared.candidate_ns / 1e3),
        }
    }
}

/// A form of the outcome.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its purpose, in a few words.
    pub about: &'static str,
    /// Writes it.
    pub write: fn(&[Judged]) -> String,
}

/// All forms.
pub const FORMS: [Form; 8] = [
    Form { name: "text", about: "for the terminal", write: text::text },
    Form { name: "json", about: "all numbers", write: json::text },
    Form { name: "junit", about: "JUnit XML, for Jenkins and GitLab", write: junit::text },
    Form { name: "tap", about: "TAP 14, as from kselftest", write: tap::text },
    Form { name: "lava", about: "signals of LAVA's test shell", write: lava::text },
    Form { name: "kcidb", about: "KCIDB's JSON, for KernelCI", write: kcidb::text },
    Form { name: "github", about: "annotations of GitHub Actions", write: github::text },
    Form { name: "markdown", about: "a comment of a pull request", write: markdown::text },
];

/// The form with this name.
pub fn by_name(name: &str) -> Option<&'static Form> {
    static ALL: [Form; 8] = FORMS;
    ALL.iter().find(|form| form.name == name)
}

/// The outcome of all judgements together.
pub fn outcome(judged: &[Judged]) -> Outcome {
    Outcome::of_all(judged.iter().map(Judged::outcome))
}

/// One line about a judgement: the requirement, and why.
fn line(one: &Judged) -> String {
    format!("{}: {}", one.demand(), one.because())
}

/// A name that is the same for the same requirement, of letters, digits, dots and dashes only.
fn identifier(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let with_dashes: String =
        text.replace('<', "-below-").replace('>', "above-").chars().map(plain).collect();
    let parts: Vec<&str> = with_dashes.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}
