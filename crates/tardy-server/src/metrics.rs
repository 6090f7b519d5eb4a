//! Numbers about the server and about the newest run of each board, as OpenMetrics 1.0 has them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::Duration;

use tardy_alert::State;
use tardy_archive::BoardRuns;

use crate::sharing::locked;

/// The type of the text.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper edges of the buckets of times, in seconds.
const EDGES: [f64; 8] = [0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 30.0];
const NS_PER_S: f64 = 1e9;

/// Counted requests.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<BTreeMap<(&'static str, u16), Counted>>);

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    buckets: [u64; EDGES.len()],
    count: u64,
    seconds: f64,
}

impl Metrics {
    /// Counts a request of `route` that was answered with `status` after this time.
    pub(crate) fn count(&self, route: &'static str, status: u16, took: Duration) {
        let mut all = locked(&self.0);
        let counted = all.entry((route, status)).or_default();
        let seconds = took.as_secs_f64();
        for (bucket, edge) in counted.buckets.iter_mut().zip(EDGES) {
            *bucket += u64::from(seconds <= edge);
        }
        counted.count += 1;
        counted.seconds += seconds;
    }

    /// All numbers as text.
    pub(crate) fn text(&self, boards: &[BoardRuns], alerts: &[(State, usize)]) -> String {
        let mut text = Text::default();
        text.of_requests(&locked(&self.0));
        text.of_boards(boards);
        text.family("tardy_alerts", "gauge", "Alerts by state.");
        for (state, count) in alerts {
            text.sample("tardy_alerts", &[("state", state.name())], *count as f64);
        }
        text.0 + "# EOF\n"
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let unit =
            if name.ends_with("_seconds") { format!("# UNIT {name} seconds\n") } else { String::new() };
        self.0 += &format!("# TYPE {name} {kind}\n{unit}# HELP {name} {help}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        // Writing into a String does not fail.
        let _ = match labels.is_empty() {
            true => writeln!(self.0, "{name} {value}"),
            false => writeln!(self.0, "{name}{{{}}} {value}", labels.join(",")),
        };
    }

    fn of_requests(&mut self, all: &BTreeMap<(&'static str, u16), Counted>) {
        let name = "tardy_server_request_seconds";
        self.family(name, "histogram", "Time to answer requests.");
        for ((route, status), counted) in all {
            let status = status.to_string();
            let labels = [("route", *route), ("status", status.as_str())];
            for (edge, count) in EDGES.iter().zip(counted.buckets) {
                let edge = format!("{edge:?}");
                let labels = [labels[0], labels[1], ("le", edge.as_str())];
                self.sample(&format!("{name}_bucket"), &labels, count as f64);
            }
            let labels_inf = [labels[0], labels[1], ("le", "+Inf")];
            self.sample(&format!("{name}_bucket"), &labels_inf, counted.count as f64);
            self.sample(&format!("{name}_count"), &labels, counted.count as f64);
            self.sample(&format!("{name}_sum"), &labels, counted.seconds);
        }
    }

    fn of_boards(&mut self, boards: &[BoardRuns]) {
        self.family("tardy_board_runs", "gauge", "Runs of each board.");
        for board in boards {
            self.sample("tardy_board_runs", &[("board", &board.machine)], board.runs as f64);
        }
        self.of_newest(boards, "tardy_board_worst_seconds", "Worst latency", |board| {
            board.newest.1.row.worst_ns.map(|ns| ns as f64)
        });
        self.of_newest(boards, "tardy_board_p999_seconds", "99.9 % quantile", |board| {
            board.newest.1.row.p999_ns.map(|ns| ns as f64)
        });
        self.family(
            "tardy_board_verdict",
            "gauge",
            "Verdict of the newest run of each board on its own limit.",
        );
        for board in boards {
            let labels = [("board", board.machine.as_str()), ("verdict", board.newest.1.judgement.name())];
            self.sample("tardy_board_verdict", &labels, 1.0);
        }
    }
}

impl Text {
    /// A figure of the newest run of each board, which `ns` returns.
    fn of_newest(
        &mut self,
        boards: &[BoardRuns],
        name: &str,
        what: &str,
        ns: impl Fn(&BoardRuns) -> Option<f64>,
    ) {
        self.family(name, "gauge", &format!("{what} of the newest run of each board."));
        for board in boards {
            if let Some(ns) = ns(board) {
                let (kernel, load) = labels(board);
                let labels = [("board", board.machine.as_str()), ("kernel", &kernel), ("load", &load)];
                self.sample(name, &labels, ns / NS_PER_S);
            }
        }
    }
}

/// The kernel and the loads of the newest run.
fn labels(board: &BoardRuns) -> (String, String) {
    let entry = &board.newest.1;
    (entry.row.kernel.clone().unwrap_or_default(), entry.loads.join(", "))
}

/// A label's value, with what ends it escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_in_cumulative_buckets() {
        let metrics = Metrics::default();
        metrics.count("/", 200, Duration::from_millis(3));
        metrics.count("/", 200, Duration::from_secs(100));
        let text = metrics.text(&[], &[(State::Open, 2)]);
        for line in [
            "tardy_server_request_seconds_bucket{route=\"/\",status=\"200\",le=\"0.001\"} 0",
            "tardy_server_request_seconds_bucket{route=\"/\",status=\"200\",le=\"0.005\"} 1",
            "tardy_server_request_seconds_bucket{route=\"/\",status=\"200\",le=\"30.0\"} 1",
            "tardy_server_request_seconds_bucket{route=\"/\",status=\"200\",le=\"+Inf\"} 2",
            "tardy_server_request_seconds_count{route=\"/\",status=\"200\"} 2",
            "tardy_alerts{state=\"open\"} 2",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} in {text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn names_cannot_end_a_label() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
