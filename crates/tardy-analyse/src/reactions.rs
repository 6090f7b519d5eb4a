//! Reactions on pins: each span from the stimulus to the answer.

use serde::Serialize;
use tardy_record::capture::Interval;
use tardy_record::pins::{Agreement, AnswerBy, Point};
use tardy_record::series::Level;
use tardy_record::{Run, Series};

use crate::row::{self, Row};

/// The measurements of one span in one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reaction {
    /// Index of the phase.
    pub phase: usize,
    /// How the thread was notified of edges; `None` for a logic analyser, whose captures do not show the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_by: Option<AnswerBy>,
    /// The point at which the span begins.
    pub from: Point,
    /// The point at which the span ends.
    pub to: Point,
    /// Whether it was measured by the thread or on the wire.
    pub level: Level,
    /// Its numbers.
    pub row: Row,
    /// The agreement between a log of the wire and the thread, edge by edge; `None` if they were not compared.
    pub agreement: Option<Agreement>,
}

/// The spans of `run` by phase: first those on the wire, then those inside; a whole span precedes its parts.
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

/// The series of one phase that is drawn as on an oscilloscope that is triggered by the edge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlay {
    /// Index of the series.
    pub series: usize,
    /// The name of the point at which the reactions begin.
    pub from: String,
    /// The name of the point at which the reactions end.
    pub to: String,
}

/// For each phase with reactions, the series that is closest to what an instrument on both pins would show: that of the
/// wire, else from the write of the stimulus, else from the kernel's time stamp of the edge. Phases without a time of
/// the edge have none.
pub fn overlays(run: &Run) -> Vec<Overlay> {
    let nearness = |series: &Series| match (series.reaction(), series.capture()) {
        (Some(reaction), _) => match (reaction.from, reaction.to) {
            (Point::Due, Point::Answered) => Some(0),
            (Point::Driven, Point::Answered) => Some(1),
            (Point::Edge, Point::Answered) => Some(2),
            _ => None,
        },
        (None, Some(capture)) if capture.interval == Interval::Reaction => Some(0),
        _ => None,
    };
    let of_phase = |phase: usize| {
        let candidates = run.series.iter().enumerate().filter(|(_, series)| series.phase == phase);
        candidates
            .filter_map(|(index, series)| Some((nearness(series)?, index)))
            .min()
            .map(|(_, index)| index)
    };
    (0..run.phases.len()).filter_map(of_phase).map(|index| overlay(index, &run.series[index])).collect()
}

fn overlay(index: usize, series: &Series) -> Overlay {
    let (from, to) = match (series.reaction(), series.capture()) {
        (Some(reaction), _) => (reaction.from.name().to_owned(), reaction.to.name().to_owned()),
        (None, Some(capture)) => (capture.channel.clone(), capture.answer.clone().unwrap_or_default()),
        (None, None) => (String::new(), String::new()),
    };
    Overlay { series: index, from, to }
}
