//! The newest change of each board, which takes a while to find, and is found in the background.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tardy_archive::BoardRuns;
use tardy_site::archive::BoardSummary;

use crate::sharing::locked;

/// What is known of each board, by its name.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<BTreeMap<String, Known>>);

#[derive(Clone, Debug)]
struct Known {
    digest: String,
    change: Option<String>,
}

impl Changes {
    /// Whether the runs of a board are those whose newest change is known.
    pub(crate) fn is_current(&self, board: &BoardRuns) -> bool {
        locked(&self.0).get(&board.machine).is_some_and(|one| one.digest == digest(board))
    }

    /// Notes the newest change of a board.
    pub(crate) fn note(&self, board: &BoardRuns, change: Option<String>) {
        locked(&self.0).insert(board.machine.clone(), Known { digest: digest(board), change });
    }

    /// What the first page shows of these boards. The change may be that of an hour ago.
    pub(crate) fn summaries(&self, boards: Vec<BoardRuns>) -> Vec<BoardSummary> {
        let known = locked(&self.0);
        let summary = |board: BoardRuns| BoardSummary {
            change: known.get(&board.machine).and_then(|one| one.change.clone()),
            newest: board.newest.1,
            runs: board.runs as usize,
        };
        boards.into_iter().map(summary).collect()
    }
}

/// Which state of a board's runs something was made from.
pub(crate) fn digest(board: &BoardRuns) -> String {
    format!("{} {}", board.runs, board.newest.0)
}
