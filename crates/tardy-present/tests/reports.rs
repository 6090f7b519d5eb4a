//! The report of each recorded run, without its plots, style and script, which have their own tests.

use crate::published;
use crate::recorded::run;
use crate::shown::Shown;
use tardy_analyse::findings;
use tardy_compare::side_by_side;
use tardy_present::report::{self, Chapter};
use tardy_record::Run;

fn html(runs: &[&Run]) -> String {
    let published = published::results();
    report::html(runs, &findings::Options { published: &published, ..findings::Options::default() })
}

/// A report of two experiments in the lab: two kernels compared, and one run alone.
fn chapters() -> String {
    let published = published::results();
    let options = findings::Options { published: &published, ..findings::Options::default() };
    let (standard, rt, levels) = (run("lab-standard"), run("lab-rt"), run("lab-levels"));
    let chapter = |title: &str, about: &str, runs| Chapter { title: title.into(), about: about.into(), runs };
    let chapters = [
        chapter("Two kernels", "The same <experiment> on both.", vec![&standard, &rt]),
        chapter("Levels", "Where on the way lateness arises.", vec![&levels]),
        chapter("Nothing", "An experiment that could not be run.", vec![]),
    ];
    report::html_of_chapters(&chapters, &options)
}

fn shown(name: &str) -> Shown {
    Shown::of(&html(&[&run(name)]))
}

fn cells(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

#[test]
fn a_report_begins_with_the_kernel_and_the_verdict() {
    let page = shown("standard");
    assert_eq!(
        page.all("h1"),
        ["This is not a real-time kernel: 6.12.48+deb13-arm64 is PREEMPT_VOLUNTARY (from /proc/config.gz)"]
    );
    let [(class, verdict)] = &page.judgements()[..] else { panic!("{:?}", page.judgements()) };
    assert_eq!(class, "verdict broken");
    assert_eq!(
        verdict,
        "The limit of 1ms was exceeded: 4 of 120,000 wake-ups were later; the worst took 3,412 µs (341 % of the limit) in \
         1m. With 95 % confidence, at most 1 in 780 wake-ups on any CPU is later than 1ms under this load, on this \
         machine (1.3e-3). Late wake-ups come in clusters; in the bound, all of them count as one. Late wake-ups on \
         cpu 1 came in 2 episodes (120 per hour; 95 %: 14.5 to 433). This is not a guarantee: loads and temperatures that \
         did not occur in this run are not in its numbers, and an event at random times that is rarer than once per 20s may \
         have been missed (95 % confidence)."
    );
    let text = page.text();
    for expected in [
        "raspberry Raspberry Pi 3 Model B Debian GNU/Linux 13 (trixie) 2026-11-21 09:39:00 UTC",
        "In 120,000 wake-ups over 1m on 2 CPUs under doload, the latest was 3,412 µs late, on cpu 1; all but 1 in 1,000 were \
         less than 45.1 µs late.",
        "Load doload: no network-card interrupts: the listener ran over loopback",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
    let numbers = [
        ("worst", "3,412 µs cpu 1, after 21s"),
        ("p99.99", "89.1 µs 1 in 10,000 later (95 %: 70.1 to 2,425 µs)"),
        ("p99", "26.2 µs 1 in 100 later (95 %: 25.7 to 26.5 µs)"),
        ("median", "3.89 µs half later"),
        ("wake-ups", "120,000 in 1m, 4 missed"),
    ];
    assert_eq!(page.numbers(), numbers.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_report_has_these_sections_and_plots() {
    let page = shown("standard");
    assert_eq!(
        page.sections(),
        [
            "Latency distribution",
            "Causes of late wake-ups",
            "Compared with the published results",
            "Tail of the distribution",
            "Extreme values",
            "Timeline",
            "Distribution over time",
            "Loads",
            "Worst readings, and changes around them",
            "What else used the CPUs",
            "The machine",
            "The experiment",
        ]
    );
    let plots = [
        "run1-latency",
        "run1-exceedance",
        "run1-fit-maxima-0",
        "run1-shape-maxima-0",
        "run1-fit-excesses-0",
        "run1-shape-excesses-0",
        "run1-timeline",
        "run1-heat",
    ];
    assert_eq!(page.plots(), plots);
}

#[test]
fn a_report_has_the_level_of_a_longer_time_and_the_intervals() {
    let page = shown("steady");
    let extremes = page.section("Extreme values");
    let text = extremes.text();
    assert!(
        text.starts_with(
            "Extreme values If everything stays as it was in this run, a wake-up is later than 32.7"
        ),
        "{text}"
    );
    let levels = &extremes.tables()[0];
    assert_eq!(levels[0], cells(&["exceeded once per", "level", "95 % from", "to", "times the run"]));
    assert_eq!(levels[2], cells(&["10m", "32.7 µs", "30.5 µs", "36 µs", "1.5"]));
    assert_eq!(extremes.plots()[0], "run1-levels-0");
    let distribution = page.section("Latency distribution");
    let intervals = &distribution.tables()[1];
    assert_eq!(intervals[0], cells(&["µs", "p50", "p99", "p99.9", "p99.99"]));
    assert_eq!(intervals[3][2], "13.2 (13.1 to 13.3)");
    assert!(
        distribution.text().contains("The run was stationary: quantiles show no change over"),
        "{}",
        distribution.text()
    );
}

#[test]
fn a_refusal_states_the_reason_and_what_helps() {
    let text = shown("standard").section("Extreme values").text();
    for expected in [
        "No latency beyond this run is predicted: the highest values do not have one distribution. Measure for longer: \
         blocks can then be longer, and the threshold higher. Find the causes of the highest values, and measure each mechanism \
         on its own.",
        "2 checks refuse",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
}

#[test]
fn the_tables_of_a_report_hold_the_numbers() {
    let page = shown("standard");
    let latencies = &page.section("Latency distribution").tables()[0];
    let expected = [
        ["µs", "recorded", "missed", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max"],
        ["cpu 0", "60,000", "0", "1.38", "4.32", "3.89", "26.1", "44.8", "70.7", "98.8"],
        ["cpu 1", "59,996", "4", "1.37", "4.50", "3.89", "26.2", "45.1", "198", "3,412"],
        ["all", "119,996", "4", "1.37", "4.41", "3.89", "26.2", "45.1", "89.1", "3,412"],
    ];
    assert_eq!(latencies, &expected.map(|row| cells(&row)));
    let outliers = page.section("Worst readings, and changes around them");
    assert_eq!(
        outliers.all("summary"),
        [
            "cpu 1: the 64 worst, 3,412 µs to 44.2 µs",
            "54 more readings",
            "cpu 0: the 64 worst, 98.8 µs to 44.1 µs",
            "54 more readings"
        ]
    );
    let around = "irq 39 dwc_otg, cpu 0: 14,212 interrupts, usually 8,003 softirq NET_RX, cpu 1: 3,120, usually 12 \
                  kernel thread irq/39-dwc_otg: 0.41 s of CPU time, usually 0.29";
    assert_eq!(outliers.tables()[0][1], cells(&["3,412", "21.003", "20,000", around]));
    assert_eq!(outliers.tables().iter().map(Vec::len).collect::<Vec<_>>(), [11, 55, 11, 55]);
    let users = page.section("What else used the CPUs");
    assert_eq!(users.row("irq/39-dwc_otg"), cells(&["irq/39-dwc_otg", "77", "17,400", "29 %"]));
    assert_eq!(users.row("timer, cpu 0"), cells(&["timer, cpu 0", "1.87", "0.112", "0", "3", "0"]));
    assert_eq!(users.row("temperature")[..4], cells(&["temperature", "60", "271", "812"]));
    let loads = page.section("Loads").all("li");
    assert_eq!(
        loads,
        ["scheduler 80.1k messages/s", "network 3.36 MB/s", "copy 1.92 GB/s", "listing 14.7k entries/s"]
    );
    assert_eq!(page.section("The machine").row("release")[1], "6.12.48+deb13-arm64");
    assert_eq!(page.section("The experiment").row("limit"), cells(&["limit", "1ms"]));
    let phase = ["clock_nanosleep", "monotonic", "fifo", "80", "1ms", "1s", "1m", "doload"];
    assert_eq!(page.section("The experiment").tables()[1][1][1..], cells(&phase));
}

#[test]
fn a_run_has_its_place_among_published_results() {
    let published = shown("standard").section("Compared with the published results");
    assert!(
        published.text().contains(
            "Worst case 3,412 µs; the articles' Raspberry Pi 3 Model B, 4.9.41-v7+ had about 500 µs"
        )
    );
    let rows = &published.tables()[0];
    assert_eq!(rows[1], cells(&["about 90", "Raspberry Pi 3 Model B, 4.9.47-rt37-v7+", "rpi3-4.9-rt-idle"]));
    assert_eq!(rows.last(), Some(&cells(&["3,412", "this run", ""])), "{rows:?}");
    let circumstances = shown("lab-rt").section("Compared with the published results");
    assert_eq!(circumstances.all("h3")[0], "About 90 µs published, 19.9 µs here");
    assert_eq!(circumstances.row("max"), cells(&["max", "about 90", "19.9", ""]));
    assert_eq!(circumstances.row("preemption"), cells(&["preemption", "PREEMPT_RT", "PREEMPT_RT", "same"]));
    assert_eq!(circumstances.row("interval")[3], "different");
}

#[test]
fn wake_methods_and_rounds_are_compared() {
    let page = shown("wakes").section("Latency distribution");
    let nanosleep = ["nanosleep", "24,000", "–", "25.6", "52.9", "52.2", "76.3", "84.5", "95.7", "97.0"];
    assert_eq!(page.row("nanosleep"), cells(&nanosleep));
    let rounds = &page.tables()[1];
    assert_eq!(rounds[1], cells(&["clock_nanosleep", "2", "16.7", "25.1", "33.6", "2.02"]));
    assert_eq!(page.tables().len(), 14, "methods, rounds, and the rows and intervals of six phases");
    assert!(
        page.all("h3")
            .contains(&"Phase 2: nanosleep, round 1, every 1ms, SCHED_FIFO 80, no load, for 6s".to_owned())
    );
}

#[test]
fn an_invalid_run_is_marked_as_such() {
    let page = shown("cut-short");
    let (class, text) = &page.judgements()[0];
    assert_eq!(class, "verdict broken");
    assert!(text.starts_with("Invalid. These numbers must not be used. load cmd:"), "{text}");
    let text = page.text();
    assert!(text.contains("No verdict on the limit of 1ms: the run is invalid."), "{text}");
    assert!(text.contains(
        "Cut short (killed or power lost): 13.3 % of the planned time and 8000 cycles are included"
    ));
    assert!(
        text.contains("The experiment sudo") || text.contains("tardy run"),
        "the command is shown: {text}"
    );
}

#[test]
fn a_run_without_readings_has_no_plots() {
    let page = shown("nothing-yet");
    assert_eq!(page.plots(), Vec::<String>::new());
    assert!(page.text().contains("No verdict on the limit of 1ms: nothing was recorded."));
    assert_eq!(page.row("cpu 0"), cells(&["cpu 0", "0", "0", "–", "–", "n/a", "n/a", "n/a", "n/a", "–"]));
    assert!(page.section("Loads").text().contains("None."));
}

#[test]
fn the_slots_of_a_switch_come_first() {
    let page = shown("slots");
    assert_eq!(page.sections()[0], "Slots");
    let slots = page.section("Slots");
    let (class, text) = &slots.judgements()[0];
    assert_eq!(class, "verdict kept");
    assert!(text.contains("The slot of blue held: all 24,000 frames arrived in it."), "{text}");
    assert_eq!(slots.plots(), ["run1-cycle", "run1-drift"]);
    let tables = slots.tables();
    assert_eq!(tables[0][2], cells(&["red", "1", "24,000", "0", "148M", "83.3 %", "–", "0", "–"]));
    assert_eq!(tables[1][2], cells(&["red", "1", "24,000", "0", "148M", "0 %", "–", "615M", "held"]));
    assert!(slots.text().contains("Port swp1: 2 entries in a cycle of 1ms, read back from the kernel."));
}

#[test]
fn meaningless_latencies_are_marked_as_such() {
    let page = shown("lab-realtime");
    let (class, text) = &page.judgements()[0];
    assert_eq!((class.as_str(), &text[..29]), ("verdict broken", "These latencies mean nothing:"));
    assert!(page.text().contains("No verdict on the limit of 10ms: the latencies mean nothing."));
    let html = html(&[&run("lab-realtime")]);
    assert!(html.contains("class=\"mark\""), "every plot is marked");
    assert!(page.section("The machine").row("clock")[1].contains("the host's time"));
}

#[test]
fn a_report_of_two_runs_compares_them_first() {
    let page = Shown::of(&html(&[&run("lab-standard"), &run("lab-rt")]));
    let sections = page.sections();
    assert_eq!(
        sections[..5],
        [
            "Latency distribution",
            "Compared with the published results",
            "Tail of the distribution",
            "What differs",
            "The runs",
        ]
    );
    let of_runs = sections.iter().filter(|section| *section == "The experiment").count();
    assert_eq!(of_runs, 2, "each run has a separate part");
    assert_eq!(page.plots()[..2], ["compare-latency", "compare-exceedance"]);
    assert_eq!(page.plots().len(), 10, "{:?}", page.plots());
    let distribution = page.section("Latency distribution");
    let idle = &distribution.tables()[0];
    assert_eq!(idle[0], cells(&["µs", "debian:6.12", "debian:6.12-rt"]));
    assert_eq!(idle[3], cells(&["p50", "3.69", "5.34 45 % higher"]));
    assert_eq!(idle[7], cells(&["max", "29.7", "19.9 33 % lower"]));
    assert!(
        distribution.text().contains("that of debian:6.12-rt is later in 96.8 % of cases"),
        "{}",
        distribution.text()
    );
    assert!(distribution.text().contains("differ by at most 0.88;"));
    let published = page.section("Compared with the published results").tables()[0].clone();
    assert_eq!(
        published[1][..5],
        cells(&["rpi3-4.9-standard-idle", "about 500", "29.7", "n/a", "debian:6.12"])
    );
    let differs = page.section("What differs");
    assert_eq!(differs.row("quiet"), cells(&["quiet", "set", "absent"]));
    assert_eq!(differs.row("kernel: preemption model")[1..], cells(&["PREEMPT_VOLUNTARY", "PREEMPT_RT"]));
}

#[test]
fn a_report_of_several_runs_has_one_column_for_each() {
    let (standard, rt, wakes) = (run("standard"), run("rt"), run("wakes"));
    let page = Shown::of(&html(&[&standard, &rt, &wakes]));
    let table = &page.section("Latency distribution").tables()[0];
    assert_eq!(table[0], cells(&["µs", "standard", "rt", "wakes"]));
    assert_eq!(table[7], cells(&["max", "3,412", "42.7 80 times lower", "16.7 205 times lower"]));
    let lead = page.all("p").into_iter().find(|text| text.contains("Descriptive only")).unwrap();
    // A factor between runs that are not comparable would be quoted.
    assert!(lead.starts_with("Not comparable, for the reasons below."), "{lead}");
    assert!(lead.ends_with("another boot of the same kernel might differ as much."), "{lead}");
    let (_, reasons) = &page.judgements()[0];
    assert_eq!(reasons.matches("duration: 1m and 36s").count(), 1, "{reasons}");
    assert!(reasons.contains("duration: 1m and 36s (a maximum grows with time) (wakes)"), "{reasons}");
}

#[test]
fn a_text_of_several_runs_has_one_column_for_each() {
    let (standard, rt, wakes) = (run("standard"), run("rt"), run("wakes"));
    let text = tardy_present::compare::text(&side_by_side::of(&[&standard, &rt, &wakes]).unwrap(), 100);
    insta::assert_snapshot!("compare-standard-rt-wakes", text);
}

#[test]
fn runs_on_other_machines_are_not_comparable_if_conditions_differ() {
    let page = Shown::of(&html(&[&run("standard"), &run("lab-realtime")]));
    let (_, text) = &page.judgements()[0];
    assert!(text.contains("are not comparable:") && text.contains("phases: 1 and 2"), "{text}");
    assert!(page.text().contains("Descriptive only, with one run each"));
}

#[test]
fn a_report_of_chapters_begins_with_all_results() {
    let html = chapters();
    let page = Shown::of(&html);
    assert_eq!(page.sections()[0], "Results");
    assert_eq!(page.all("h1")[..2], ["3 experiments in the lab", "Two kernels"]);
    let results = &page.tables()[0];
    assert_eq!(results[0][..5], cells(&["µs", "kernel", "p50", "p99", "max"]));
    assert!(
        results.iter().any(|row| row.len() == 6 && row[1] == "debian:6.12-rt" && row[4] == "19.9"),
        "{results:?}"
    );
    assert!(page.text().contains("There is no run of this experiment."));
}

#[test]
fn every_link_of_a_report_of_chapters_has_exactly_one_target() {
    let page = chapters();
    let attributes = |name: &str| -> Vec<String> {
        let start = format!(" {name}=\"");
        let parts = page.split(&start).skip(1);
        parts.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    };
    let ids = attributes("id");
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
    let links: Vec<String> =
        attributes("href").into_iter().filter_map(|link| link.strip_prefix('#').map(str::to_owned)).collect();
    assert!(links.len() >= 8, "{links:?}");
    for link in &links {
        assert!(distinct.contains(link), "#{link} leads nowhere");
    }
}

#[test]
fn comparisons_of_recorded_runs() {
    let text = |runs: &[&Run]| tardy_present::compare::text(&side_by_side::of(runs).unwrap(), 100);
    let narrow = |runs: &[&Run]| tardy_present::compare::text(&side_by_side::of(runs).unwrap(), 80);
    insta::assert_snapshot!("compare-lab", narrow(&[&run("lab-standard"), &run("lab-rt")]));
    insta::assert_snapshot!("compare-lab-realtime", narrow(&[&run("lab-standard"), &run("lab-realtime")]));
    insta::assert_snapshot!("compare-rt-lab-rt", narrow(&[&run("rt"), &run("lab-rt")]));
    insta::assert_snapshot!("compare-standard-rt", text(&[&run("standard"), &run("rt")]));
    insta::assert_snapshot!("compare-rt-wakes", text(&[&run("rt"), &run("wakes")]));
    insta::assert_snapshot!("compare-standard-cut-short", text(&[&run("standard"), &run("cut-short")]));
    assert_eq!(side_by_side::of(&[&run("rt")]), None);
}

#[test]
fn findings_keep_their_keys_in_json() {
    let found = findings::of(&run("standard"), &findings::Options::default());
    let json = serde_json::to_value(&found).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "validity",
        "meaningless_because",
        "limit_ns",
        "phases",
        "wakes",
        "levels",
        "hints",
        "rounds",
        "loads",
        "cost",
        "stationarity",
        "unseen",
        "verdict",
        "published",
        "placed",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    let phase = &json["phases"][0];
    assert_eq!((&phase["probe"], &phase["wake"]), (&"timer".into(), &"clock_nanosleep".into()));
    assert_eq!((&phase["readings"], &phase["quantity"]), (&"wake-ups".into(), &"latency".into()));
    assert_eq!(
        (phase["period_ns"].as_u64(), phase["measured_ns"].as_u64()),
        (Some(1_000_000), Some(60_000_000_000))
    );
    let all = &phase["all"];
    assert_eq!((all["recorded"].as_u64(), all["missed"].as_u64()), (Some(119_996), Some(4)));
    assert_eq!(
        (all["label"].as_str(), all["cpu"].is_null(), all["quoted"].as_str()),
        (Some("all"), true, Some("corrected"))
    );
    assert_eq!(all["quantiles"][0]["level"], "p50");
    let verdict = &json["verdict"];
    assert_eq!((verdict["late_at_least"].as_u64(), verdict["wakeups"].as_u64()), (Some(4), Some(120_000)));
    assert_eq!(verdict["bounds"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["loads"][0]["parts"][0]["name"], "scheduler");
    assert_eq!(json["cost"]["page_faults"], 0);
    let comparison = side_by_side::of(&[&run("standard"), &run("rt")]).unwrap();
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["strength"], "descriptive_only");
    let rows = json["candidates"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| &row["label"]).collect::<Vec<_>>(), ["cpu 0", "cpu 1", "all"]);
}

/// Without a plan, the probe, the period and the wake method are unknown.
#[test]
fn unknown_values_are_null_in_json() {
    let mut of_switch = run("slots");
    of_switch.plan.phases.clear();
    let json = serde_json::to_value(findings::of(&of_switch, &findings::Options::default())).unwrap();
    let phase = &json["phases"][0];
    assert!(phase["probe"].is_null() && phase["wake"].is_null() && phase["period_ns"].is_null(), "{phase}");
    assert!(phase["rows"][0]["cpu"].is_null(), "a flow is not on a CPU: {phase}");
}

#[test]
fn names_from_outside_are_escaped() {
    for page in [html(&[&run("cut-short")]), html(&[&run("cut-short"), &run("rt")])] {
        assert_eq!(page.matches("<script>").count(), 1, "the page's own script and no other");
        let others = page.matches("<script").count() - 1;
        assert_eq!(
            others,
            page.matches("<script type=\"application/json\" id=").count(),
            "values are not run"
        );
        assert!(!page.contains("alert(1)</script>"), "a name ended an element");
        assert!(page.contains("{{ 7*7 }}"), "a name is not a template");
        assert!(!page.contains('\u{1b}'));
        assert!(!page.contains(" style="), "the policy forbids style attributes");
    }
}

#[test]
fn titles_and_published_results_are_escaped() {
    let page = chapters();
    assert!(!page.contains("<experiment>") && page.contains("&lt;experiment&gt;"));
    assert!(!page.contains("<us>") && page.contains("&lt;us&gt;"));
}

#[test]
fn a_report_has_no_external_references() {
    let page = html(&[&run("standard"), &run("rt")]);
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
    assert!(!elsewhere.contains("http:") && !elsewhere.contains("https:") && !elsewhere.contains("url("));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert_eq!(html(&[&run("standard")]), html(&[&run("standard")]));
}

#[test]
fn the_kernel_and_the_validity_come_before_any_number() {
    let page = html(&[&run("cut-short")]);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("<h1>") < at("Invalid. These numbers must not be used"));
    assert!(at("Invalid. These numbers must not be used") < at("the latest was"));
    assert!(!page.contains("was kept"), "invalid numbers support no verdict");
}
