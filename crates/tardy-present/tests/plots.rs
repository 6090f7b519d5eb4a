//! The plots of each recorded run.

mod recorded;

use recorded::run;
use tardy_present::plot::{self, Options, curve};

#[test]
fn latency_plots() {
    for name in ["standard", "rt", "wakes", "cut-short", "nothing-yet"] {
        insta::assert_snapshot!(
            format!("latency-{name}"),
            tardy_present::latency_plot::svg(&[&run(name)], &Options::default())
        );
    }
    let both = tardy_present::latency_plot::svg(&[&run("standard"), &run("rt")], &Options::default());
    insta::assert_snapshot!("latency-standard-rt", both);
    let marked = tardy_present::latency_plot::svg(&[&run("lab-realtime"), &run("lab-rt")], &Options::default());
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
    let slots = run("slots");
    let flows = tardy_analyse::flows::of(&slots);
    insta::assert_snapshot!("cycle", plot::cycle::draw("c", &slots, &flows, &options).unwrap());
    insta::assert_snapshot!("drift", plot::drift::draw("d", &slots, &flows, &options).unwrap());
    assert_eq!(plot::cycle::draw("c", &standard, &[], &options), None);
    assert_eq!(plot::drift::draw("d", &standard, &[], &options), None);
}
