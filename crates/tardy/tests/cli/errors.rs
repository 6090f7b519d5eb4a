//! User errors and tardy's messages, all in one snapshot, so that the messages can be compared.
//!
//! Bless with `INSTA_UPDATE=always cargo test -p tardy --test cli errors`. A new mistake is a new line in `MISTAKES`.

use std::fmt::Write;
use std::fs;

use crate::bench::Bench;

/// Wrong command lines. None of them may panic, and each error must state what is wrong, where, and what to do.
const MISTAKES: &[&[&str]] = &[
    &["run", "no-such-recipe"],
    &["run", "./nowhere.toml"],
    &["run", "./unknown-key.toml"],
    &["run", "./two-ends.toml"],
    &["run", "./silent.toml"],
    &["run", "./binary.toml"],
    &["run", "--interval", "0us"],
    &["run", "--interval", "200"],
    &["run", "--interval", "19us"],
    &["run", "--interval", "2h"],
    &["run", "--cpus", "4096"],
    &["run", "--cpus", "0-"],
    &["run", "--cpus", "1-0"],
    &["run", "--housekeeping-cpu", "4096"],
    &["run", "--priority", "0"],
    &["run", "--priority", "100"],
    &["run", "--priority", "-5"],
    &["run", "--policy", "idle"],
    &["run", "--wake", "sleep"],
    &["run", "--wake", "deadline", "--policy", "fifo"],
    &["run", "--wake", "timerfd", "--clock", "tai"],
    &["run", "--wake", "timerfd", "--dither", "10us"],
    &["run", "--clock", "sundial"],
    &["run", "--probe", "gps"],
    &["run", "--probe", "kernel", "--wake", "timerfd"],
    &["run", "--probe", "kernel", "--clock", "tai"],
    &["run", "--probe", "kernel", "--kernel-root", "no/kernel"],
    &["run", "--probe", "timerlat", "--kernel-root", "no/kernel"],
    &["run", "--dither", "200us"],
    &["run", "--until", "sure", "--limit", "1ms"],
    &["run", "--until", "decided"],
    &["run", "--until", "decided", "--limit", "1ms", "--probability", "2"],
    &["run", "--until", "decided", "--limit", "1ms", "--confidence", "10%"],
    &["run", "--until", "decided", "--limit", "1ms", "--rounds", "5"],
    &["run", "--until", "decided", "--limit", "1ms", "--ab", "quick", "rpi3-4.9"],
    &["run", "--until", "decided", "--limit", "1ms", "--probe", "noise"],
    &["run", "--limit", "1ms", "--probability", "1e-6"],
    &["lab", "run", "--until", "decided", "--limit", "1ms"],
    &["run", "--duration", "1s", "--loops", "5"],
    &["run", "--duration", "0s"],
    &["run", "--duration", "9000h"],
    &["run", "--loops", "0"],
    &["run", "--repeat", "0"],
    &["run", "--scale", "0"],
    &["run", "--scale", "nan"],
    &["run", "--limit", "soon"],
    &["run", "--thresholds", "1us,2us,3us,4us,5us,6us,7us,8us,9us"],
    &["run", "--on-late", "true"],
    &["watch"],
    &["watch", "no-such-program"],
    &["watch", "1", "--on-late", "true"],
    &["watch", "1", "--stop-on-late"],
    &["watch", "1", "--late", "0s"],
    &["watch", "1", "--runs", "0"],
    &["attach"],
    &["attach", "no-such-program"],
    &["attach", "4194304"],
    &["attach", "--thread", "no-such-thread"],
    &["attach", "1", "--thread", "loop"],
    &["attach", "1", "--duration", "0s"],
    &["attach", "1", "--require", "soon"],
    &["exec"],
    &["check", "no-such-program"],
    &["check", "1", "--measure"],
    &["run", "--load", "dolaod"],
    &["lab", "run", "--load", "dolaod"],
    &["lab", "run", "--cpus", "3"],
    &["lab", "run", "--patience", "0s"],
    &["lab", "run", "--memory", "1"],
    &["lab", "run", "./no-kernels.toml"],
    &["lab", "run", "--dry-run", "--json"],
    &["lab", "run", "tsn-two-flows", "--load", "doload"],
    &["lab", "run", "--kernel", "debian:7.3..6.12-rt"],
    &["lab", "run", "--kernel", "debian:6.*"],
    &["lab", "kernels", "--prune", "--refresh"],
    &["lab", "bisect", "--good", "debian:6.12", "--bad", "debian:6.12", "--measure", "p99>12us"],
    &["lab", "bisect", "--good", "debian:6.12", "--bad", "debian:7.3-rt", "--measure", "p99>12us"],
    &["lab", "bisect", "--good", "debian:6.12", "--bad", "debian:6.12..7.3", "--measure", "p99>12us"],
    &["lab", "bisect", "--good", "debian:6.12", "--bad", "debian:7.3", "--measure", "p99>12"],
    &[
        "lab",
        "bisect",
        "-k",
        "debian:6.12",
        "--good",
        "debian:6.12",
        "--bad",
        "debian:7.3",
        "--measure",
        "max>9us",
    ],
    &["lab", "bisect", "--good", "build:-x", "--bad", "build:y", "--measure", "max>9us"],
    &["lab", "bisect", "--good", "v1", "--bad", "v2", "--source", "nowhere", "--measure", "max>9us"],
    &["lab", "build"],
    &["lab", "build", "--source", "debian:6.12-rt"],
    &["lab", "build", "--source", "nowhere", "--set", "PREEMPT_RT"],
    &["lab", "build", "--source", "debian:6.12", "--rev", "HEAD"],
    &["lab", "build", "--source", "debian:6.12", "--name", "a/b"],
    &["lab", "bisect", "--realtime", "--good", "debian:6.12", "--bad", "debian:7.3", "--measure", "max>9us"],
    &["lab", "sweep", "lab-quick"],
    &["lab", "sweep", "lab-quick", "--option", "HZ=100,250"],
    &["lab", "sweep", "lab-quick", "--option", "preempt=none,none"],
    &["lab", "sweep", "lab-quick", "--option", "preempt=full", "--measure", "worst"],
    &["lab", "sweep", "tsn-two-flows", "--option", "preempt=full"],
    &["lab", "history", "lab-quick"],
    &["lab", "history", "lab-quick", "-o", "of-another-recipe"],
    &["lab", "history", "lab-quick", "-o", "a-site"],
    &["lab", "explain"],
    &["lab", "explain", "there.run.json"],
    &["lab", "explain", "of-the-lab.run.json"],
    &["lab", "explain", "of-the-lab.run.json", "--phase", "busy"],
    &["lab", "explain", "lab-quick", "--phase", "busy"],
    &["lab", "explain", "of-the-lab.run.json", "--at", "9-3"],
    &["lab", "explain", "of-the-lab.run.json", "--at", "0-1000"],
    &["lab", "explain", "of-the-lab.run.json", "--quantile", "99"],
    &["lab", "explain", "of-the-lab.run.json", "--at", "5", "--median"],
    &["lab", "explain", "of-the-lab.run.json", "-o", "a.svg"],
    &["lab", "explain", "of-the-lab.run.json", "--least", "200"],
    &["run", "--load", "cmd:"],
    &["run", "--load", "stress-ng:--cpu '2"],
    &["run", "-o-q.run.json"],
    &["report", "a.run.json", "--output=-x"],
    &["run", "--load", "none", "--load", "doload", "--duration", "1s"],
    &["run", "--load", "doload", "--load-floor", "scheduler"],
    &["run", "--load", "doload", "--load-floor", "sheduler=5k"],
    &["run", "--load", "doload", "--load-floor", "copy=fast"],
    &["run", "--load", "doload", "--load-floor", "copy=1", "--load-floor", "copy=2"],
    &["run", "--load", "cmd:true", "--load-floor", "command=1"],
    &["run", "--load-floor", "copy=1"],
    &["run", "--dma-latency", "maybe"],
    &["run", "--probe", "noise", "--threshold", "10ns"],
    &["run", "--probe", "noise", "--loops", "5"],
    &["run", "--probe", "noise", "--policy", "deadline"],
    &["run", "--probe", "noise", "--policy", "fifo", "--priority", "100"],
    &["run", "--probe", "noises"],
    &["run", "--fake", "1", "--probe", "gpio-reaction"],
    &["run", "--fake", "1", "--probe", "gpio-reaction", "--in", "GPIO17"],
    &["run", "--fake", "1", "--probe", "gpio-reaction", "--in", "gpiochip7:0", "--out", "GPIO17"],
    &["run", "--fake", "1", "--probe", "gpio-reaction", "--in", "gpiochip0:29", "--out", "GPIO17"],
    &["run", "--fake", "1", "--probe", "gpio-reaction", "--in", "GPIO99", "--out", "GPIO17"],
    &["run", "--fake", "1", "--probe", "gpio-reaction", "--in", "GPIO17", "--out", "STATUS_LED"],
    &["run", "--fake", "1", "--probe", "gpio-reaction", "--in", "GPIO17", "--out", "gpiochip0:17"],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-reaction",
        "--in",
        "GPIO17",
        "--out",
        "GPIO27",
        "--answer-by",
        "telepathy",
    ],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-reaction",
        "--in",
        "GPIO17",
        "--out",
        "GPIO27",
        "--answer-by",
        "busy,busy",
    ],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-reaction",
        "--in",
        "GPIO17",
        "--out",
        "GPIO27",
        "--answer-by",
        "busy",
        "--cpus",
        "0",
        "--housekeeping-cpu",
        "0",
    ],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-reaction",
        "--in",
        "GPIO17",
        "--out",
        "GPIO27",
        "--policy",
        "deadline",
    ],
    &["run", "--fake", "1", "--probe", "gpio-wiggle"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "gpiochip0:99"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "STATUS_LED"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--through", "smoke"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--in", "GPIO27"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--threshold", "1us"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--interval", "5us"],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-wiggle",
        "--out",
        "GPIO17",
        "--wake",
        "busy",
        "--interval",
        "900ns",
    ],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--wake", "busy", "--dither", "1us"],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-wiggle",
        "--out",
        "GPIO17",
        "--wake",
        "busy",
        "--policy",
        "deadline",
    ],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-wiggle",
        "--out",
        "GPIO17",
        "--wake",
        "busy",
        "--cpus",
        "0",
        "--housekeeping-cpu",
        "0",
    ],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--cpus", "0,1"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--by", "true"],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--by", "a 'b", "--echo", "GPIO27"],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-wiggle",
        "--out",
        "GPIO17",
        "--by",
        "true",
        "--echo",
        "GPIO27",
        "--interval",
        "20us",
    ],
    &["run", "--fake", "1", "--probe", "gpio-wiggle", "--out", "GPIO17", "--echo", "GPIO17"],
    &[
        "run",
        "--fake",
        "1",
        "--probe",
        "gpio-wiggle",
        "--out",
        "GPIO17",
        "--echo",
        "GPIO27",
        "--wake",
        "busy",
    ],
    &["run", "--duration", "1s", "-o", "there.run.json"],
    &["run", "--duration", "1s", "-o", "no/such/place.run.json"],
    &["run", "--duration", "1s", "-o", "."],
    &["run", "--duration", "1s", "-o", "new.run.json", "--report", "there.run.json"],
    &["run", "--duration", "1s", "-o", "new.run.json", "--samples", "there.run.json"],
    &["run", "--duration", "1s", "-o", "new.run.json", "--samples", "new.run.json"],
    &["run", "--duration", "1s", "-o", "new.run.json", "--samples", "no/such/place.csv"],
    &["run", "--duration", "1s", "-o", "new.run.json", "--report", "new.run.json", "--force"],
    &["run", "--duration", "1s", "-o", "new.run.json", "--report", "no/such/place.html"],
    &["run", "--duration", "1s", "-o", "/dev/null", "--force"],
    &["run", "--ambient", "nan"],
    &["run", "--ambient", "-300"],
    &["run", "--load", "doload", "--load", "doload"],
    &["run", "--wake", "busy,busy"],
    &["run", "\u{1b}[31mred"],
    &["report", "there.run.json", "-o", "there.run.json", "--force"],
    &["report", "there.run.json", "-o", "empty.run.json"],
    &["plot", "there.run.json", "-o", "/dev/full", "--force"],
    &["show", "/dev/zero"],
    &["show", "steering.run.json"],
    &["show"],
    &["show", "nowhere.run.json"],
    &["recover", "nowhere.run.json"],
    &["export", ".", "--to", "csv"],
    &["show", "empty.run.json"],
    &["show", "text.run.json"],
    &["show", "other.json"],
    &["show", "truncated.run.json"],
    &["show", "future.run.json"],
    &["show", "miscounted.run.json"],
    &["show", "overlapping.run.json"],
    &["show", "deep.run.json"],
    &["compare", "there.run.json"],
    &["compare", "there.run.json", "truncated.run.json"],
    &["report", "there.run.json", "-o", "no/such/place.html"],
    &["plot", "there.run.json", "--x-max", "far"],
    &["plot", "there.run.json", "--x-max", "1ms", "--kind", "quantiles"],
    &["run", "--limit", "1ms", "--until", "decided", "--cluster", "0"],
    &["run", "--limit", "1ms", "--until", "decided", "--cluster", "some"],
    &["duration", "--late", "18446744073709551615"],
    &["duration", "--probability", "1e-15", "--interval", "1h"],
    &["load", "dolaod"],
    &["load", "scheduler:0"],
    &["load", "memory:lots"],
    &["load", "timers:1000"],
    &["load", "net:http"],
    &["load", "iperf3:--bidir"],
    &["load", "stress-ng:--cpu 1 --timeout 5"],
    &["load", "io:/nonexistent"],
    &["run", "--phase", "doload"],
    &["run", "--phase", "doload soon"],
    &["run", "--phase", "dolaod 1s"],
    &["run", "--phase", "doload 1s", "--load", "cpu"],
    &["load", "sink"],
    &["load", "doload", "--duration", "long"],
    &["tsn", "check", "no-such-switch"],
    &["tsn", "check", "./nowhere.toml"],
    &["tsn", "check", "./slips.toml"],
    &["tsn", "check", "./binary.toml"],
    &["tsn", "check", "./silent.toml"],
    &["tsn", "check", "/dev/zero"],
    &["tsn", "check"],
    &["tsn", "test", "tsn-two-flows"],
    &["tsn", "test", "tsn-two-flows", "--netns", "--for", "soon"],
    &["tsn", "apply", "tsn-two-flows", "--switch", "tsn1"],
    &["tsn", "apply", "tsn-two-flows", "--for", "soon"],
    &["tsn", "remove", "tsn7"],
    &["tsn", "plan", "tsn-two-flows", "--as", "xml"],
    &["tsn", "plan", "tsn-two-flows", "--switch", "tsn1"],
    &["tsn", "plan", "./tags.toml", "--classifier", "iptables"],
    &["tsn", "plan", "./no-gates.toml", "--as", "yang"],
    &["tsn", "plan", "./two.toml"],
    &["tsn", "watch", "tsn-two-flows", "--for", "0s"],
    &["tsn", "simulate", "tsn-two-flows", "--for", "0s"],
    &["tsn", "simulate", "tsn-two-flows", "--for", "90d"],
    &["tsn", "simulate", "tsn-two-flows", "--mode", "bsd"],
    &["tsn", "simulate", "tsn-two-flows", "--ring", "0"],
    &["tsn", "simulate", "tsn-two-flows", "--for", "1ms", "-o", "there.run.json"],
    &["tsn", "simulate", "tsn-two-flows", "--for", "1ms", "--frames", "there.run.json"],
    &["tsn", "simulate", "./no-gates.toml"],
    &["tsn", "simulate", "./refused.toml", "--frames", "frames.csv", "-o", "x.run.json"],
    &["tsn", "simulate", "./tags.toml", "-o", "tags.toml", "--force"],
    &["tsn", "simulate", "./tags.toml", "--frames", "tags.toml", "--force"],
    &["check", "--dry-run"],
    &["check", "--measure", "--only", "turbo"],
    &["check", "--measure", "--rounds", "0"],
    &["check", "--measure", "--rounds", "many"],
    &["check", "--measure", "--duration", "10ms"],
    &["check", "--measure", "--cpus", "4096"],
    &["check", "--measure", "--load", "dolaod"],
    &["check", "--measure", "--priority", "100"],
    &["nonsense"],
    &["run", "--nonsense"],
];

#[test]
fn every_mistake_is_told_what_where_and_what_to_do() {
    let bench = Bench::new();
    make_files(&bench);
    let before = listing(&bench);
    let mut golden = String::new();
    for mistake in MISTAKES {
        let printed = bench.run(mistake);
        assert!(matches!(printed.code, Some(1 | 2)), "{mistake:?}: {printed:?}");
        assert!(!printed.err.contains("panicked"), "{mistake:?}: {}", printed.err);
        let steers = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!printed.err.contains(steers), "{mistake:?} steers the terminal: {:?}", printed.err);
        assert_eq!(printed.out, "", "{mistake:?}");
        writeln!(
            golden,
            "$ tardy {}\n[{}] {}\n",
            mistake.join(" "),
            printed.code.unwrap(),
            printed.err.trim_end()
        )
        .unwrap();
        assert_eq!(listing(&bench), before, "{mistake:?} left something behind");
    }
    let golden = without_the_machine(&golden);
    insta::assert_snapshot!(golden);
}

/// Replaces values that differ between machines or runs: the list of CPUs, and columns in run files.
fn without_the_machine(text: &str) -> String {
    let cpus = |line: &str| match line.split_once("; online: ") {
        Some((before, _)) => format!("{before}; online: (this machine's)"),
        None => line.to_owned(),
    };
    let columns = |line: &str| match line.split_once(".run.json: ").and(line.split_once("column ")) {
        Some((before, after)) => {
            format!("{before}column N{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => line.to_owned(),
    };
    text.lines().map(|line| columns(&cpus(line)) + "\n").collect()
}

fn listing(bench: &Bench) -> Vec<String> {
    let names = fs::read_dir(bench.path(".")).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn make_files(bench: &Bench) {
    let switch = include_str!("../../../../recipes/tsn-two-flows.toml");
    let slips = switch.replace("cycle_time", "cylce_time").replace("\"red\", \"red\"", "\"read\", \"red\"");
    let tags = switch.replace("udp_port = 6666\npriority", "pcp = 3\npriority");
    fs::write(bench.path("tags.toml"), tags).unwrap();
    fs::write(bench.path("refused.toml"), switch.replace("for = \"800us\"", "for = \"1us\"")).unwrap();
    let bare = "about = \"x\"\n[[switch]]\nname = \"a\"\n[[switch.port]]\ninterface = \"p\"\n";
    fs::write(bench.path("no-gates.toml"), bare).unwrap();
    let other = bare.replace("about = \"x\"\n", "").replace("\"a\"", "\"b\"");
    fs::write(bench.path("two.toml"), format!("{bare}{other}")).unwrap();
    fs::write(bench.path("slips.toml"), slips.replace("for = \"200us\"", "for = \"200\"")).unwrap();
    bench.run(&["run", "--fake", "1", "--duration", "1s", "-o", "there.run.json"]).exits(0);
    let text = fs::read_to_string(bench.path("there.run.json")).unwrap();
    let write = |name: &str, text: &str| fs::write(bench.path(name), text).unwrap();
    write("truncated.run.json", &text[..text.len() / 2]);
    write("future.run.json", &text.replacen("\"schema_version\":1", "\"schema_version\":99", 1));
    write("empty.run.json", "");
    write("text.run.json", "T: 0 (15321) P:90 I:200 C:  49964 Min:      6\n");
    write("other.json", "{\"file_version\": 1}");
    write("steering.run.json", &text.replacen("\"fifo\"", "\"\\u001b[31mred\\u202e\"", 1));
    // Measured with the host's clock, so that it is refused on every machine for the same reason.
    let lab = include_str!("../../../tardy-present/tests/runs/lab-realtime.run.json");
    write("of-the-lab.run.json", lab);
    for name in ["of-another-recipe", "a-site"] {
        fs::create_dir(bench.path(name)).unwrap();
    }
    write("of-another-recipe/history.json", "{\"recipe\": \"lab-doload\"}");
    write("a-site/index.html", "<h1>Mine</h1>");
    write("deep.run.json", &"[".repeat(100_000));
    let recorded = text.find("\"recorded\":").unwrap() + "\"recorded\":".len();
    write("miscounted.run.json", &format!("{}9{}", &text[..recorded], &text[recorded..]));
    let bin = text.find("\"measured\":[[").unwrap() + "\"measured\":[".len();
    let end = text[bin..].find(']').unwrap() + bin + 1;
    write("overlapping.run.json", &format!("{},{}{}", &text[..end], &text[bin..end], &text[end..]));
    write("unknown-key.toml", "about = \"x\"\n\n[timer]\nintervall = \"200us\"\n");
    write("two-ends.toml", "about = \"x\"\n\n[run]\nduration = \"1s\"\nloops = 5\n");
    write("silent.toml", "[run]\nduration = \"1s\"\n");
    write("no-kernels.toml", "about = \"No kernel at all.\"\n[lab]\nkernels = []\n");
    fs::write(bench.path("binary.toml"), [0u8, 159, 146, 150]).unwrap();
}
