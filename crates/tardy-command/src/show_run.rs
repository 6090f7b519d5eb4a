//! How a run is shown after it was measured, and by `tardy show`.

use anyhow::Result;
use serde::Serialize;
use tardy_analyse::findings::{self, Findings};
use tardy_analyse::tail::Depth;
use tardy_compare::recommend::{self, Recommendation};
use tardy_present::sections::extremes;
use tardy_present::summary;
use tardy_record::Run;

use crate::{output, published};

/// The numbers of a run as JSON.
#[derive(Serialize)]
struct Numbers {
    #[serde(flatten)]
    findings: Findings,
    /// Which of several ways to use, for each load, if they were measured in interleaved rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recommendations: Vec<Recommendation>,
}

/// Prints a run.
pub fn show_run(run: &Run, json: bool) -> Result<()> {
    let tails = match json {
        true => Depth::Diagnostics,
        false if run.phases.len() <= extremes::PHASE_MAX => Depth::Quoted,
        false => Depth::Nothing,
    };
    let findings = findings::of(run, &findings::Options { tails, ..published::options() });
    if json {
        return output::print_json(&Numbers { findings, recommendations: recommend::of_run(run) });
    }
    output::print(&summary::text(run, &findings, output::width(), output::colour()))
}
