//! What the terminal shows of each recorded run.

use crate::published;
use crate::recorded::run;
use tardy_analyse::findings;
use tardy_analyse::tail::Depth;
use tardy_present::sections::extremes;
use tardy_present::summary;

fn shown(name: &str, width: usize) -> String {
    let run = run(name);
    let published = published::results();
    let options =
        findings::Options { published: &published, tails: Depth::Quoted, ..findings::Options::default() };
    summary::text(&run, &findings::of(&run, &options), width, false)
}

#[test]
fn summaries_of_all_recorded_runs() {
    for name in ["standard", "rt", "wakes", "cut-short", "nothing-yet"] {
        insta::assert_snapshot!(format!("summary-{name}"), shown(name, 100));
    }
    for name in ["lab-standard", "lab-rt", "lab-levels", "lab-realtime", "slots", "steady"] {
        insta::assert_snapshot!(format!("summary-{name}"), shown(name, 80));
    }
}

/// Levels and checks: of a run that supports levels, of one with stalls, and of one that is too short.
#[test]
fn the_tails_of_a_steady_run_and_of_others() {
    for name in ["steady", "standard", "lab-rt"] {
        let options = findings::Options { tails: Depth::Levels, ..findings::Options::default() };
        let run = run(name);
        let found = findings::of(&run, &options);
        insta::assert_snapshot!(format!("tail-{name}"), extremes::whole(&run, &found.tails, 80, false));
    }
}
