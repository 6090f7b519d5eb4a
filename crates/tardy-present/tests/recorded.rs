//! The synthetic runs, as recorded in `tests/runs`.

use tardy_record::Run;

/// The run in `tests/runs/NAME.run.json`.
pub(crate) fn run(name: &str) -> Run {
    let path = format!("tests/runs/{name}.run.json");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    tardy_record::file::from_text(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}
