//! Reactions on pins: what each span of the way from the stimulus to the answer came to.

use serde::Serialize;
use tardy_record::capture::Interval;
use tardy_record::pins::{Agreement, AnswerBy, Point};
use tardy_record::series::Level;
use tardy_record::{Run, Series};

use crate::row::{self, Row};

/// One span in one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reaction {
    /// Index of the phase.
    pub phase: usize,
    /// How the thread learnt of edges; absent of what a logic analyser saw, which knows no thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_by: Option<AnswerBy>,
    /// Where the span begins.
    pub from: Point,
    /// Where it ends.
    pub to: Point,
    /// Inside, or on the wire.
    pub level: Level,
    /// What it came to.
    pub row: Row,
    /// How far a log of the wire agrees with the thread, edge by edge; absent where nobody compared.
    pub agreement: Option<Agreement>,
}

/// The spans of `run`, phase by phase: on the wire first, then inside, in each the whole way before its parts.
pub fn of(run: &Run) -> Vec<Reaction> {
    let mut all: Vec<Reaction> = run.series.iter().filter_map(of_series).collect();
    all.sort_by_key(|one| (one.phase, std::cmp::Reverse(one.level), one.from, std::cmp::Reverse(one.to)));
    all
}

fn of_series(series: &Series) -> Option<Reaction> {
    if let Some(capture) = series.capture() {
        return (capture.interval == Interval::Reaction).then(|| Reaction {
            phase: series.phase,
            answer_by: None,
            from: Point::Raised,
            to: Point::Answered,
            level: series.level,
            row: row::of_series(series),
            agreement: None,
        });
    }
    let reaction = series.reaction()?;
    Some(Reaction {
        phase: series.phase,
        answer_by: Some(reaction.answer_by),
        from: reaction.from,
        to: reaction.to,
        level: series.level,
        row: row::of_series(series),
        agreement: reaction.agreement,
    })
}
