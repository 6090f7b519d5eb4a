//! What the terminal shows of each recorded run.

mod recorded;

use recorded::run;
use tardy_analyse::findings;
use tardy_present::summary;

fn shown(name: &str, width: usize) -> String {
    let run = run(name);
    summary::text(&run, &findings::of(&run, &findings::Options::default()), width, false)
}

#[test]
fn summaries() {
    for name in ["standard", "rt", "wakes", "cut-short", "nothing-yet"] {
        insta::assert_snapshot!(format!("summary-{name}"), shown(name, 100));
    }
}
