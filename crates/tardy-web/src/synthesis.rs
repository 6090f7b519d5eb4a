//! A schedule for the switch file on the bench: `tardy tsn synthesize` in the page.

use std::time::Duration;

use serde_json::{Value, json};
use tardy_bounds::Options as BoundOptions;
use tardy_plot::Options as PlotOptions;
use tardy_synthesis::answer;
use tardy_synthesis::files::Files;
use tardy_synthesis::instance::BEST_EFFORT_PPM;
use tardy_synthesis::lateness::Lateness;
use tardy_synthesis::solver::Options;
use tardy_synthesis::summary::Summary;
use tardy_synthesis::verify;
use tardy_tsn::file;
use tardy_tsn::network::Network;
use tardy_tsn::simulate::{self, Mode, Ports};
use tardy_tsn_report::synthesis::{self, Pictures};

/// How long each link is reserved after a frame, in ns: the default of the command.
const MARGIN_NS: u64 = 1000;
/// The rounds of the search: a page is not to hang.
const EFFORT: u32 = 5;
/// The most flows that are scheduled here, for the same reason.
const FLOWS_MAX: usize = 500;
/// The width of texts for the page, in characters.
const TEXT_WIDTH: usize = 100;

/// Schedules the flows of a file. The answer has the file with the schedule, unless there is none, a text and the pictures.
pub(crate) fn of(network: &Network, text: &str) -> Result<Value, String> {
    let mut files =
        Files::of_switch(network, text, Lateness::of_margin(MARGIN_NS)).map_err(|wrong| wrong.to_string())?;
    files.leave_for_best_effort(BEST_EFFORT_PPM);
    let instance = files.instance();
    if instance.flows.is_empty() {
        return Err("the file has no flow to schedule: add a [[flow]] with a period".to_owned());
    }
    if instance.flows.len() > FLOWS_MAX {
        return Err(format!(
            "more than {FLOWS_MAX} flows are not scheduled here; use 'tardy tsn synthesize'"
        ));
    }
    let options = Options { effort: EFFORT, seed: 1, threads: 1, is_over: &|| false };
    let answer = answer::find(instance, &options, None).map_err(|mistake| mistake.describe(instance))?;
    let mut summary = Summary::of(instance, &answer, &options, Duration::ZERO);
    let written = files.texts(&answer)?.pop();
    if let Some((written, scheduled)) = written.as_deref().zip(files.scheduled()) {
        let network = file::parse(written).map_err(|error| error.to_string())?;
        let simulated = simulate::Options {
            mode: Mode::Standard,
            ports: Ports::Hardware,
            ..simulate::Options::default()
        };
        let verified = verify::of(&network, scheduled, &answer.schedule, &BoundOptions::of(simulated));
        summary.verified = Some(verified.map_err(|error| error.to_string())?);
    }
    let pictures = Pictures::of(instance, &answer, &summary);
    let plot = PlotOptions { standalone: false, ..PlotOptions::default() };
    Ok(json!({
        "file": written,
        "remarks": files.remarks(),
        "summary": synthesis::of(&summary, TEXT_WIDTH),
        "pictures": [
            pictures.links("schedule-links", &plot),
            pictures.ways("schedule-ways", &plot),
            pictures.slack("schedule-slack", &plot),
        ],
    }))
}
