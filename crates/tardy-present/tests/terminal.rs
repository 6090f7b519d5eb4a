//! What the terminal shows of each recorded run.

#[path = "recorded/published.rs"]
mod published;
mod recorded;

use recorded::run;
use tardy_analyse::findings;
use tardy_present::summary;

fn shown(name: &str, width: usize) -> String {
    let run = run(name);
    let published = published::results();
    let options = findings::Options { published: &published, ..findings::Options::default() };
    summary::text(&run, &findings::of(&run, &options), width, false)
}

#[test]
fn summaries_of_all_recorded_runs() {
    for name in ["standard", "rt", "wakes", "cut-short", "nothing-yet"] {
        insta::assert_snapshot!(format!("summary-{name}"), shown(name, 100));
    }
    for name in ["lab-standard", "lab-rt", "lab-levels", "lab-realtime", "slots"] {
        insta::assert_snapshot!(format!("summary-{name}"), shown(name, 80));
    }
}
