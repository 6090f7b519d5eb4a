//! TSNKit's tables of a schedule: gates, offsets, routes and queues.

use std::fmt::Write;

use crate::read::tsnkit::Tables;
use crate::schedule::{PortGates, Schedule};

/// A table: the end of its file's name, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The end of its name, such as `-GCL.csv`.
    pub suffix: &'static str,
    /// Its text.
    pub text: String,
}

/// The tables of a schedule. That of the gates has the windows of scheduled frames only: in this format a gate that is not listed
/// is closed, and the gates of best effort are open between the windows.
pub fn files(tables: &Tables, schedule: &Schedule, ports: &[PortGates]) -> Vec<File> {
    vec![
        File { suffix: "-GCL.csv", text: gates(tables, ports) },
        File { suffix: "-OFFSET.csv", text: offsets(tables, schedule) },
        File { suffix: "-ROUTE.csv", text: routes(tables, schedule) },
        File { suffix: "-QUEUE.csv", text: queues(tables, schedule) },
    ]
}

fn link(tables: &Tables, number: usize) -> String {
    let (nodes, link) = (&tables.instance.nodes, &tables.instance.links[number]);
    format!("\"({}, {})\"", nodes[link.from], nodes[link.to])
}

fn gates(tables: &Tables, ports: &[PortGates]) -> String {
    let mut text = "link,queue,start,end,cycle\n".to_owned();
    for port in ports {
        let mut start_ns = 0;
        for entry in &port.entries {
            let end_ns = start_ns + u64::from(entry.interval_ns);
            let scheduled = entry.gates & !port.best_effort;
            if scheduled != 0 {
                let queue = scheduled.trailing_zeros();
                let link = link(tables, port.link);
                let _ = writeln!(text, "{link},{queue},{start_ns},{end_ns},{}", port.cycle_ns);
            }
            start_ns = end_ns;
        }
    }
    text
}

fn offsets(tables: &Tables, schedule: &Schedule) -> String {
    let mut text = "stream,frame,offset\n".to_owned();
    for (flow, placement) in schedule.iter() {
        let _ = writeln!(text, "{},0,{}", tables.streams[flow], placement.offset_ns());
    }
    text
}

fn routes(tables: &Tables, schedule: &Schedule) -> String {
    let mut text = "stream,link\n".to_owned();
    for (flow, placement) in schedule.iter() {
        for hop in &placement.hops {
            let _ = writeln!(text, "{},{}", tables.streams[flow], link(tables, hop.link));
        }
    }
    text
}

fn queues(tables: &Tables, schedule: &Schedule) -> String {
    let mut text = "stream,frame,link,queue\n".to_owned();
    for (flow, placement) in schedule.iter() {
        for hop in &placement.hops {
            let _ = writeln!(text, "{},0,{},{}", tables.streams[flow], link(tables, hop.link), hop.queue);
        }
    }
    text
}
