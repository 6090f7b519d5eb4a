//! `tardy tsn simulate` on the article's switch and on random ones.

use std::fs;

use crate::bench::Bench;

#[test]
fn the_articles_switch_holds_its_slots_and_the_run_is_the_same_every_time() {
    let bench = Bench::new();
    let simulate = |output: &str| {
        let words =
            ["tsn", "simulate", "tsn-two-flows", "--for", "100ms", "--talker-jitter", "10us", "-o", output];
        let printed = bench.run(&words).exits(0);
        assert!(printed.out.contains("The slot of blue held"), "{}", printed.out);
        assert!(printed.out.contains("Without the shaper"), "{}", printed.out);
        fs::read(bench.path(output)).unwrap()
    };
    assert_eq!(simulate("one.run.json"), simulate("two.run.json"));
    let series = bench.json("one.run.json")["series"].as_array().unwrap().len();
    assert_eq!(series, 4, "two flows in two phases");
    bench.run(&["show", "one.run.json"]).exits(0);
    bench.run(&["report", "one.run.json", "-o", "one.html"]).exits(0);
}

/// A control flow whose class is open for 1 ms of 40 ms.
const LIMITS: &str = r#"
about = "A control flow with limits."
class = [{ name = "other" }, { name = "control" }]
classify = [{ udp_port = 6666, priority = 1 }]

[switch]
name = "tsn0"
port = [
  { interface = "swp0", to = "a", speed = "100Mbit/s" },
  { interface = "swp1", to = "b", speed = "100Mbit/s", queues = 2, gates = [
    { open = ["other"], for = "39ms" }, { open = ["control"], for = "1ms" } ] },
]

[[flow]]
name = "control"
talker = "a"
listener = "b"
udp_port = 6666
size = 100
class = "control"
"#;

#[test]
fn a_flow_that_exceeds_a_limit_or_loses_frames_ends_with_3_in_simulate_and_show() {
    let bench = Bench::new();
    let simulate = |flow: &str| {
        fs::write(bench.path("switch.toml"), format!("{LIMITS}{flow}")).unwrap();
        let words = ["tsn", "simulate", "./switch.toml", "--for", "400ms", "-o", "one.run.json", "--force"];
        let simulated = bench.run(&words);
        let shown = bench.run(&["show", "one.run.json"]);
        assert_eq!(simulated.code, shown.code, "{flow}");
        bench.run(&["report", "one.run.json", "-o", "one.html", "--force"]).exits(0);
        (simulated.code.unwrap(), simulated.out.replace("\n  ", " "))
    };
    let (code, text) =
        simulate("period = \"40ms\"\noffset = \"39ms\"\ndeadline = \"50us\"\njitter = \"2us\"");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Flow control kept its deadline of 50us: the longest latency was"), "{text}");
    assert!(text.contains("Flow control kept its jitter limit of 2us"), "{text}");
    let (code, text) = simulate("period = \"10ms\"\ndeadline = \"5ms\"");
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("The slot of control held"), "{text}");
    assert!(
        text.contains(
            "Flow control exceeded its deadline of 5ms: the longest latency was 39 ms, 34 ms more."
        )
    );
    assert!(text.contains("TOO LATE"), "{text}");
    assert_eq!(simulate("period = \"10ms\"\njitter = \"5ms\"").0, 3);
    let (code, text) = simulate("period = \"20us\"");
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("Flow control lost frames: ") && text.contains("; none may be lost."), "{text}");
    let (code, text) = simulate("period = \"20us\"\nloss = \"100%\"");
    assert_eq!(code, 0, "{text}");
    let checked = bench.run(&["tsn", "check", "--offline", "--strict", "./switch.toml"]).exits(3);
    assert!(checked.out.contains("more-than-windows-carry"), "{}", checked.out);
}

/// Simulates `file` for 400 ms with the shaper, and returns the exit status and the text on one line.
fn shaped(bench: &Bench, file: &str, more: &[&str]) -> (i32, String) {
    fs::write(bench.path("switch.toml"), file).unwrap();
    let words = ["tsn", "simulate", "./switch.toml", "--for", "400ms", "--with-shaper"];
    let simulated = bench.run(&[&words, more].concat());
    let text = format!("{}{}", simulated.out, simulated.err).replace("\n  ", " ");
    (simulated.code.unwrap(), text)
}

#[test]
fn a_flow_with_another_class_than_its_file_declares_does_not_hold() {
    let bench = Bench::new();
    let flow = format!("{LIMITS}period = \"40ms\"\n");
    assert_eq!(shaped(&bench, &flow, &[]).0, 0);
    // The rule matches no frame, so the flow gets class other, whose gate is open when it sends.
    let file = flow.replace("classify = [{ udp_port = 6666", "classify = [{ udp_port = 7777");
    let (code, text) = shaped(&bench, &file, &[]);
    assert_eq!(code, 3, "{text}");
    assert!(
        text.starts_with("The switch failed: 1 of 1 flow did not hold (control: wrong class)."),
        "{text}"
    );
    let sentence = "Flow control did not hold: switch tsn0 gives it class other, and its file declares control. Its slot was \
                    judged with the windows of the class that it has at its last port, number 0.";
    assert!(text.contains(sentence), "{text}");
    let checked = bench.run(&["tsn", "check", "--offline", "--strict", "./switch.toml"]).exits(3);
    assert!(checked.out.contains("wrong-class"), "{}", checked.out);
}

#[test]
fn a_class_that_never_opens_fails_its_flow_and_leaves_the_run_valid() {
    let bench = Bench::new();
    let file = format!("{LIMITS}period = \"40ms\"\n").replace("open = [\"control\"]", "open = \"none\"");
    let (code, text) = shaped(&bench, &file, &[]);
    assert_eq!(code, 3, "{text}");
    assert!(text.starts_with("The switch failed: 1 of 1 flow did not hold (control: no frames)."), "{text}");
    let (code, text) = shaped(&bench, &format!("{file}loss = \"100%\"\n"), &[]);
    assert_eq!(code, 3, "{text}");
}

#[test]
fn a_slot_that_was_never_in_force_does_not_hold() {
    let bench = Bench::new();
    // Its frames arrive at the phases of their window also while all gates are open.
    let file = format!("{LIMITS}period = \"40ms\"\noffset = \"39ms\"\n")
        .replace("queues = 2, gates", "queues = 2, base_time = \"4000000000s\", gates");
    let (code, text) = shaped(&bench, &file, &[]);
    assert_eq!(code, 0, "{text}");
    let starts = "The schedule of swp1 starts at its base_time, 4000000000 s on its clock, and the simulation starts then";
    assert!(text.contains(starts), "{text}");
    assert!(
        text.contains("./switch.toml:10: the base time is ") && text.contains(" ahead: Until then"),
        "{text}"
    );
    let (code, text) = shaped(&bench, &file, &["--lead", "1s"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("the simulation starts 1s before"), "{text}");
    assert!(text.contains("The slot of control was never in force"), "{text}");
}

#[test]
fn check_and_simulate_state_the_same_model_of_the_ports() {
    let bench = Bench::new();
    let flow = format!("{LIMITS}period = \"40ms\"\n");
    for (more, gates, devices) in [
        (
            "",
            "the gates of the kernel's software TAPRIO",
            "the veth and tap devices of --netns (--ports virtual)",
        ),
        (
            "[[host]]\nname = \"a\"\ninterface = \"eth1\"\n",
            "the gates of the kernel's software TAPRIO",
            "(--ports hardware)",
        ),
    ] {
        let (_, simulated) = shaped(&bench, &format!("{flow}{more}"), &[]);
        let checked = bench.run(&["tsn", "check", "--offline", "./switch.toml"]).out.replace('\n', " ");
        for text in [simulated, checked] {
            assert!(text.contains(gates) && text.contains(devices), "{text}");
        }
    }
    // A veth device has 10 Gbit/s whatever the file states.
    fs::write(bench.path("veth.toml"), format!("{flow}[netns]\nports = \"veth\"\n")).unwrap();
    let check =
        |ports: &[&str]| bench.run(&[&["tsn", "check", "--offline", "./veth.toml"], ports].concat()).out;
    assert!(check(&[]).contains("judged-as-veth"), "{}", check(&[]));
    assert!(!check(&["--ports", "hardware"]).contains("judged-as-veth"));
}

#[test]
fn the_headline_is_the_verdict_and_the_model_of_the_ports_is_that_of_the_test_and_stated() {
    let bench = Bench::new();
    let simulate =
        |more: &[&str]| bench.run(&[&["tsn", "simulate", "tsn-two-flows", "--for", "600ms"], more].concat());
    let as_tested = simulate(&[]).exits(0);
    assert!(
        as_tested.out.starts_with("The switch held: all 2 flows kept their slots and limits.\n"),
        "{}",
        as_tested.out
    );
    assert!(as_tested.out.contains("--ports virtual"), "{}", as_tested.out);
    let cards = simulate(&["--ports", "hardware", "-o", "cards.run.json"]).exits(3);
    assert!(
        cards.out.starts_with("The switch failed: 1 of 2 flows did not hold (red: frames lost).\n"),
        "{}",
        cards.out
    );
    assert!(
        cards.out.replace("\n  ", " ").contains("a ring of 16 frames (--ports hardware)"),
        "{}",
        cards.out
    );
    assert!(!cards.out.contains("every 0s"), "{}", cards.out);
    let phases = bench.json("cards.run.json")["phases"].clone();
    assert_eq!(phases[0]["end_ns"], phases[1]["start_ns"]);
    assert!(
        phases[0]["end_ns"].as_u64().unwrap() > 600_000_000,
        "frames arrive after the talkers have stopped"
    );
    // Hosts with interfaces are connected to a real switch.
    let two_flows = include_str!("../../../../recipes/tsn-two-flows.toml");
    fs::write(
        bench.path("cabled.toml"),
        format!("{two_flows}\n[[host]]\nname = \"talkers\"\ninterface = \"eth1\"\n"),
    )
    .unwrap();
    let cabled = bench.run(&["tsn", "simulate", "./cabled.toml", "--for", "10ms"]);
    assert!(cabled.out.replace("\n  ", " ").contains("--ports hardware"), "{}", cabled.out);
}

#[test]
fn a_period_that_no_cable_carries_is_refused_instead_of_simulated_for_hours() {
    let bench = Bench::new();
    fs::write(bench.path("switch.toml"), format!("{LIMITS}period = \"1ns\"")).unwrap();
    let refused = bench.run(&["tsn", "simulate", "./switch.toml", "-o", "one.run.json"]).exits(1);
    let reason =
        "flow 'control' sends more than its talker's cable carries: a frame takes 9.92us of a period of 1ns";
    assert!(refused.err.contains(reason), "{}", refused.err);
    assert!(!bench.path("one.run.json").exists());
}

#[test]
fn every_frame_can_be_written_to_a_file() {
    let bench = Bench::new();
    let words = [
        "tsn",
        "simulate",
        "tsn-two-flows",
        "--ports",
        "hardware",
        "--for",
        "10ms",
        "--queue",
        "5",
        "--frames",
        "frames.csv",
    ];
    // The short queue loses frames.
    bench.run(&words).exits(3);
    let text = fs::read_to_string(bench.path("frames.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("phase,flow,sequence,sent_ns,arrived_ns,wire_bytes,lost"));
    // 1026 of the 1038 bytes at 100 Mbit/s into the switch, and as long out of it: the gap after a frame delays no bit of it.
    assert_eq!(lines.next(), Some("shaped,blue,0,0,164160,1038,"));
    let lines: Vec<&str> = lines.collect();
    let arrived =
        |phase: &str| lines.iter().filter(|line| line.starts_with(phase) && line.ends_with(',')).count();
    // Nine or ten frames in a window of 800 us, two in one of 200 us; without windows one frame every 83 us.
    assert!((60..=120).contains(&arrived("shaped")), "{}", arrived("shaped"));
    assert!((100..=121).contains(&arrived("unshaped")), "{}", arrived("unshaped"));
    let dropped: Vec<&&str> = lines.iter().filter(|line| line.ends_with(",,1038,queue-full")).collect();
    assert!(dropped.len() > 10 && dropped.iter().all(|line| line.starts_with("shaped")), "{dropped:?}");
}

#[test]
fn random_files_are_simulated() {
    let bench = Bench::new();
    for seed in ["1", "2"] {
        let file = bench.run(&["tsn", "generate", "--seed", seed]).exits(0).out;
        fs::write(bench.path("made.toml"), file).unwrap();
        for mode in ["standard", "linux"] {
            let words =
                ["tsn", "simulate", "./made.toml", "--mode", mode, "--ports", "virtual", "--for", "50ms"];
            let printed = bench.run(&words);
            // 3: a flow that is sent as fast as possible does not keep its slot, since nothing else limits it.
            assert!(matches!(printed.code, Some(0 | 3)), "{}{}", printed.out, printed.err);
        }
    }
}

#[test]
fn a_plan_that_the_kernel_would_refuse_begins_with_the_reason() {
    let bench = Bench::new();
    let switch = include_str!("../../../../recipes/tsn-two-flows.toml");
    fs::write(bench.path("refused.toml"), switch.replace("for = \"800us\"", "for = \"1us\"")).unwrap();
    let planned = bench.run(&["tsn", "plan", "./refused.toml"]).exits(0);
    let warning = "the kernel would refuse this: ./refused.toml:";
    assert!(planned.err.contains(warning), "{}", planned.err);
    assert!(planned.out.starts_with(&format!("#!/bin/sh\n# {warning}")), "{}", planned.out);
    let sound = bench.run(&["tsn", "plan", "tsn-two-flows"]).exits(0);
    assert!(sound.err.is_empty() && !sound.out.contains("refuse"), "{}", sound.err);
}
