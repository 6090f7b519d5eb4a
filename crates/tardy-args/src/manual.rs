//! The parts of the man pages that the definition of the arguments does not have: EXAMPLES, EXIT STATUS, SEE ALSO.

/// Examples of a command: the command line, and what it does.
type Examples = &'static [(&'static str, &'static str)];

/// The examples of each command, by its path without `tardy`.
const EXAMPLES: &[(&str, Examples)] = &[
    (
        "",
        &[
            ("tardy check", "Is this a real-time kernel, and what is missing?"),
            (
                "tardy run --load doload --limit 1ms",
                "Measure every CPU under load for a minute, with a limit of 1 ms.",
            ),
            (
                "tardy report before.run.json after.run.json -o both.html",
                "Compare two runs in one HTML report.",
            ),
        ],
    ),
    (
        "check",
        &[
            ("tardy check", "List what keeps this machine from being real-time."),
            ("sudo tardy check control", "Check whether a program is set up as real-time programs must be."),
            ("sudo tardy check --measure", "Try changes one at a time and measure the effect of each."),
        ],
    ),
    (
        "run",
        &[
            ("sudo tardy run --load doload --duration 10m", "Measure every CPU for ten minutes under load."),
            (
                "tardy run --limit 100us --json -o ci.run.json",
                "Judge a limit in a script: exit status 3 if it was exceeded.",
            ),
            (
                "sudo tardy run --limit 100us --until decided --probability 1e-6 --duration 1h",
                "Measure until the data decide whether at most one wake-up in a million is late, at most an hour.",
            ),
            ("tardy run rpi3-4.9 --scale 0.001", "Try a recipe out, at a thousandth of its length."),
            ("tardy run my.toml --dry-run", "Print what a recipe would do."),
            (
                "tardy run --ab one.toml other.toml --rounds 5 -o ab",
                "Measure two recipes in turn, and compare them.",
            ),
        ],
    ),
    (
        "attach",
        &[
            (
                "sudo tardy attach control --duration 1m",
                "Watch the program for a minute: how late its periodic threads are, and why.",
            ),
            (
                "sudo tardy attach 4711 --deadline 800us --require 'p99.9<200us'",
                "Judge the latency of its wake-ups, with a deadline.",
            ),
            ("sudo tardy attach --thread bus --duration 10m", "Watch all threads of this name."),
        ],
    ),
    (
        "exec",
        &[(
            "sudo tardy exec -- ./control --rate 1000",
            "Start a program and watch it from its first cycle until it ends.",
        )],
    ),
    (
        "watch",
        &[
            (
                "sudo tardy watch control --late 1ms -o /var/lib/tardy",
                "Watch the program for as long as it runs, with a run file each hour.",
            ),
            (
                "sudo tardy watch control --late 1ms --on-late ./collect.sh",
                "Run a command when a wake-up was later than 1 ms.",
            ),
            (
                "sudo tardy watch control --late 1ms --stop-on-late",
                "Stop at the first late wake-up, with its trace.",
            ),
        ],
    ),
    (
        "reflect",
        &[
            ("sudo tardy reflect", "Return UDP requests on port 7, with real-time priority."),
            ("sudo tardy reflect --protocol ethernet --link eth1", "Return raw frames of one link."),
        ],
    ),
    (
        "load",
        &[
            ("tardy load doload --duration 1m", "Run the load for a minute and print its rates."),
            ("tardy load sink 192.168.1.20", "Receive the network load of the host that measures."),
        ],
    ),
    (
        "show",
        &[
            ("tardy show a.run.json", "Print the summary and the histogram of a run."),
            ("tardy show runs/", "Print an overview of the runs in a directory."),
        ],
    ),
    (
        "report",
        &[
            ("tardy report a.run.json -o a.html", "Write a report of one run."),
            ("tardy report a.run.json b.run.json -o both.html", "Compare two runs."),
        ],
    ),
    (
        "share",
        &[
            ("tardy share a.run.json", "Print a link that holds the run; `tardy show LINK` opens it."),
            (
                "tardy share a.run.json b.run.json --markdown",
                "Put a comparison into a pull request or a forum.",
            ),
        ],
    ),
    ("plot", &[("tardy plot a.run.json -o a.svg", "Draw the histogram of a run.")]),
    (
        "compare",
        &[
            ("tardy compare before.run.json after.run.json", "Show what differs between two runs."),
            (
                "tardy compare --base standard-*.run.json --candidate rt-*.run.json",
                "Is the other kernel better, and how sure is that?",
            ),
        ],
    ),
    (
        "gate",
        &[
            (
                "tardy gate a.run.json --require 'p99.9<500us'",
                "Judge a run in a script: exit status 0, 3, 4 or 5.",
            ),
            (
                "tardy gate a.run.json --require 'P(>1ms)<1e-6@95%' --write junit=gate.xml",
                "Write the verdict for a CI service.",
            ),
            ("tardy gate a.run.json --baseline baseline", "Is it worse than the runs in a directory?"),
        ],
    ),
    (
        "duration",
        &[
            (
                "tardy duration --limit 100us --probability 1e-9 --interval 200us",
                "How long must a run without a late wake-up be?",
            ),
            ("tardy duration --boots 5", "What can be seen with five boots of each kernel?"),
        ],
    ),
    (
        "history",
        &[
            ("tardy history nightly/", "Find where a series of runs changed, and what changed with it."),
            ("tardy history nightly/ -o history.html", "Also draw every figure of every run."),
        ],
    ),
    (
        "import",
        &[
            (
                "cyclictest -m -Sp90 -i200 -h400 -q -D1m > out.txt; tardy import out.txt",
                "Convert the output of cyclictest.",
            ),
            ("tardy import --list", "List the formats."),
        ],
    ),
    ("export", &[("tardy export a.run.json --to csv -o a.csv", "Write the histograms of a run as CSV.")]),
    (
        "cyclictest",
        &[("tardy cyclictest -m -Sp90 -i200 -h400 -q -D1m", "Measure with cyclictest's options and output.")],
    ),
    (
        "list",
        &[
            ("tardy list runs/", "Rank the runs of a directory."),
            ("tardy list --published", "List published results to compare with."),
            (
                "tardy list ARCHIVE --kernel 6.1..6.12 --preemption rt --config HZ=1000",
                "Find runs in an archive.",
            ),
        ],
    ),
    (
        "archive add",
        &[(
            "tardy archive add /srv/latency nightly/",
            "Keep the runs of a directory; those that are kept already are left out.",
        )],
    ),
    (
        "archive export",
        &[(
            "tardy archive export /srv/latency --to parquet -o /srv/parquet",
            "Write or continue Parquet files of all runs.",
        )],
    ),
    ("archive index", &[("tardy archive index /srv/latency", "Make the index again.")]),
    (
        "archive site",
        &[("tardy archive site /srv/latency -o public/", "Write or continue the site of an archive.")],
    ),
    ("archive verify", &[("tardy archive verify /srv/latency", "Look for damaged runs.")]),
    (
        "archive prune",
        &[(
            "tardy archive prune /srv/latency --older-than 365 --keep-newest 10",
            "List the runs older than a year that are not among the ten newest of their board; --yes deletes them.",
        )],
    ),
    (
        "archive token",
        &[
            (
                "tardy archive token /srv/latency --make rack3 --scope push",
                "Make and print a token for a board.",
            ),
            ("tardy archive token /srv/latency --revoke rack3", "Revoke it."),
        ],
    ),
    ("archive audit", &[("tardy archive audit /srv/latency", "Print who did what.")]),
    (
        "serve",
        &[
            ("tardy serve /srv/latency", "Serve an archive to this machine, at http://127.0.0.1:8080/."),
            (
                "tardy serve /srv/latency --host latency.example.org --private",
                "Serve it behind a proxy of this name; reading needs a token.",
            ),
        ],
    ),
    (
        "push",
        &[
            (
                "tardy push http://farm:8080 nightly.run.json --token-file /etc/tardy/token --wait 1h",
                "Push a run, and try for an hour if the server does not answer; the run waits after that.",
            ),
            ("tardy push ssh://ci@farm/srv/latency nightly/", "Push runs to an archive by ssh."),
        ],
    ),
    (
        "fleet run",
        &[
            (
                "tardy fleet run my.toml --hosts hosts.toml -o nightly --keep /srv/latency",
                "Measure on all hosts of a file, and put the runs into an archive.",
            ),
            (
                "tardy fleet run my.toml --hosts hosts.toml -o nightly --resume",
                "Collect the runs of hosts that were not reached, and measure where it failed.",
            ),
            (
                "tardy fleet run --hosts hosts.toml --only rt,pi4 -- --load doload --limit 1ms",
                "Measure with options on some of the hosts.",
            ),
        ],
    ),
    ("name", &[("tardy name a.run.json 'before the update'", "Name a run for tables and legends.")]),
    ("gpio list", &[("tardy gpio list", "List the lines of all GPIO chips.")]),
    (
        "gpio stimulate",
        &[("tardy gpio stimulate --out gpiochip0:17 --period 1ms", "Generate edges on a line.")],
    ),
    (
        "lab run",
        &[
            (
                "tardy lab run --kernel debian:6.12 --kernel debian:6.12-rt",
                "Compare two kernels without a board.",
            ),
            ("tardy lab run lab-quick --rounds 5", "Compare two kernels over five boots of each."),
        ],
    ),
    (
        "lab verify",
        &[("tardy lab verify lab-quick", "Check that an experiment yields the same bytes every time.")],
    ),
    (
        "lab attach",
        &[(
            "tardy lab attach --limit 100us -- ./control --rate 1000",
            "Watch a static program on the standard and the real-time kernel.",
        )],
    ),
    (
        "lab explain",
        &[
            (
                "tardy lab explain lab/debian-6.12.run.json",
                "Say what the worst wake-up of each phase consisted of.",
            ),
            (
                "tardy lab explain a.run.json b.run.json --median",
                "Compare the ordinary wake-ups of two runs, function by function.",
            ),
        ],
    ),
    (
        "lab build",
        &[
            (
                "tardy lab build --source debian:6.12 --set PREEMPT_RT=y,HZ=1000 --name rt",
                "Build a kernel for the lab, which is then build:rt.",
            ),
            (
                "tardy lab build --source linux --rev v6.12 --config board.config",
                "Build a commit of a git tree with a configuration.",
            ),
        ],
    ),
    (
        "lab bisect",
        &[
            (
                "tardy lab bisect lab-quick --source linux --good v6.12 --bad v6.13 --measure 'p99>20us'",
                "Find the commit that brought it.",
            ),
            (
                "tardy lab bisect lab-quick --good build:mine --bad build:other --measure 'p99>20us'",
                "Find the options of the configuration that are to blame.",
            ),
            (
                "tardy lab bisect lab-quick --good debian:6.12-rt --bad debian:7.3-rt --measure 'p99>20us'",
                "Find the first version of Debian's kernel whose p99 under load is above 20 us.",
            ),
            (
                "tardy lab bisect lab-quick --good debian:6.12 --bad debian:6.12,append='preempt=none' --measure 'max>90us'",
                "Find the words of the command line that are to blame.",
            ),
        ],
    ),
    (
        "lab sweep",
        &[
            (
                "tardy lab sweep lab-quick --kernel debian:6.12 --option preempt=none,voluntary,full --measure max",
                "Rank settings by the maximum under load.",
            ),
            (
                "tardy lab sweep lab-quick --kernel build:mine --option HZ=100,250,1000",
                "Build a kernel with each value of an option, and rank them.",
            ),
        ],
    ),
    (
        "lab history",
        &[(
            "tardy lab history lab-quick --kernel debian:6.12..7.3-rt -o history",
            "Run the newest kernel of every series, and write a site; the same command later adds new kernels.",
        )],
    ),
    (
        "lab kernels",
        &[
            ("tardy lab kernels", "List the kernels that can be booted, and what the cache takes."),
            ("tardy lab kernels 'debian:6.12.*-rt'", "List every version of a series."),
            ("tardy lab kernels --prune", "Reduce the cache to what recipes need."),
        ],
    ),
    ("tsn check", &[("tardy tsn check switch.toml", "Report the mistakes in the file of a switch.")]),
    ("tsn plan", &[("tardy tsn plan switch.toml", "Print the kernel settings of a switch.")]),
    ("tsn apply", &[("sudo tardy tsn apply switch.toml", "Apply a switch to this machine.")]),
    ("tsn test", &[("sudo tardy tsn test switch.toml --netns", "Test a switch in network namespaces.")]),
    (
        "tsn simulate",
        &[("tardy tsn simulate switch.toml -o simulated.run.json", "Simulate a switch without a machine.")],
    ),
    ("tsn bounds", &[("tardy tsn bounds switch.toml", "Compute the longest delay that each flow can have.")]),
    (
        "tsn synthesize",
        &[
            (
                "tardy tsn synthesize network.toml -o switches.toml",
                "Compute offsets and gate control lists, and write them into a copy of a switch file.",
            ),
            (
                "tardy tsn synthesize --tsnkit task.csv topo.csv -o schedule",
                "Schedule an instance of TSNKit, and write its four tables.",
            ),
        ],
    ),
    ("recover", &[("tardy recover a.run.json", "Seal a run that was killed.")]),
    ("restore", &[("sudo tardy restore", "Undo the settings that a killed run left changed.")]),
    (
        "completions",
        &[("tardy completions bash > /etc/bash_completion.d/tardy", "Install completions for bash.")],
    ),
];

/// Exit statuses, the same for every command.
pub const EXIT_STATUS: [(&str, &str); 6] = [
    ("0", "Done, or passed."),
    ("1", "The command failed, or the run was interrupted."),
    ("2", "Wrong options, or a wrong recipe or switch file."),
    ("3", "A check failed, a limit was exceeded, or a flow left its slots."),
    ("4", "Whether the limit was exceeded is unknown."),
    ("5", "The run is invalid."),
];

/// Pages that belong to a command, in addition to its neighbours.
const SEE_ALSO: &[(&str, &[&str])] = &[
    ("", &["cyclictest(8)", "rtla(1)", "sched(7)"]),
    ("run", &["cyclictest(8)", "sched(7)", "setcap(8)"]),
    ("cyclictest", &["cyclictest(8)"]),
    ("check", &["sched(7)", "setcap(8)"]),
    ("tsn apply", &["tc(8)", "tc-taprio(8)"]),
];

/// The sections EXAMPLES, EXIT STATUS and SEE ALSO of the page of `path`, such as `lab run`, in roff. `neighbours` are the other
/// pages, such as `tardy-lab(1)`.
pub fn sections(path: &str, neighbours: &[String]) -> String {
    let mut page = String::new();
    if let Some(examples) = of(EXAMPLES, path) {
        page += ".SH EXAMPLES\n";
        for (line, effect) in *examples {
            page += &format!("{}\n.PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n.PP\n", escaped(effect), escaped(line));
        }
    }
    page += ".SH \"EXIT STATUS\"\n";
    for (status, meaning) in EXIT_STATUS {
        page += &format!(".TP\n\\fB{status}\\fR\n{}\n", escaped(meaning));
    }
    let further = of(SEE_ALSO, path).map_or(&[][..], |pages| *pages);
    let pages: Vec<String> =
        neighbours.iter().map(String::as_str).chain(further.iter().copied()).map(escaped).collect();
    page + ".SH \"SEE ALSO\"\n" + &pages.join(", ") + "\n"
}

fn of<'a, T>(table: &'a [(&str, T)], path: &str) -> Option<&'a T> {
    table.iter().find(|(name, _)| *name == path).map(|(_, value)| value)
}

/// Text that roff shows as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    /// Every example is a command line that tardy accepts.
    #[test]
    fn the_examples_are_accepted() {
        for (path, examples) in EXAMPLES {
            for (line, _) in *examples {
                let line = line.rsplit("; ").next().unwrap().split(" >").next().unwrap();
                let words = line
                    .strip_prefix("sudo ")
                    .unwrap_or(line)
                    .replace("'before the update'", "before")
                    .replace('\'', "");
                let parsed = crate::command("").try_get_matches_from(words.split(' '));
                assert!(parsed.is_ok(), "{path}: {line}: {}", parsed.unwrap_err());
                assert!(words.starts_with(&format!("tardy {path}")), "{path}: {line}");
            }
        }
    }

    #[test]
    fn every_command_that_runs_has_an_example() {
        fn visit(command: &Command, path: &str, lacking: &mut Vec<String>) {
            for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
                let path = format!("{path} {}", one.get_name()).trim().to_owned();
                if !one.has_subcommands() && of(EXAMPLES, &path).is_none() {
                    lacking.push(path.clone());
                }
                visit(one, &path, lacking);
            }
        }
        let mut lacking = Vec::new();
        visit(&crate::command(""), "", &mut lacking);
        assert_eq!(lacking, ["tsn remove", "tsn show", "tsn watch", "schema"]);
    }
}
