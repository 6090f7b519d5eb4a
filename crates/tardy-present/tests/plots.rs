//! The plots of each recorded run.

mod recorded;

use recorded::run;
use tardy_present::plot::{self, Options, curve};

#[test]
fn latency_plots() {
    for name in ["standard", "rt", "wakes", "cut-short", "nothing-yet"] {
        insta::assert_snapshot!(
            format!("latency-{name}"),
            plot::latency_svg(&[&run(name)], &Options::default())
        );
    }
    let both = plot::latency_svg(&[&run("standard"), &run("rt")], &Options::default());
    insta::assert_snapshot!("latency-standard-rt", both);
    let marked = plot::latency_svg(&[&run("lab-realtime"), &run("lab-rt")], &Options::default());
    insta::assert_snapshot!("latency-lab-realtime-rt", marked);
}

#[test]
fn other_plots() {
    let options = Options { limit_ns: Some(1_000_000), ..Options::default() };
    let standard = run("standard");
    insta::assert_snapshot!(
        "exceedance",
        plot::exceedance::draw("e", &curve::curves(&[&standard]), &options)
    );
    insta::assert_snapshot!("timeline", plot::timeline::draw("t", &standard, &options));
    insta::assert_snapshot!("heat", plot::heat::draw("h", &standard, &options).unwrap());
    assert_eq!(plot::heat::draw("h", &run("nothing-yet"), &options), None);
}
