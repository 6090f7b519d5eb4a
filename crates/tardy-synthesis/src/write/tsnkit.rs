//! TSNKit's tables of a schedule: gates, offsets, routes and queues.

use std::fmt::Write;

use crate::read::tsnkit::Tables;
use crate::schedule::{PortGates, Schedule};

/// The ends of the names of the tables' files.
pub const SUFFIXES: [&str; 4] = ["-GCL.csv", "-OFFSET.csv", "-ROUTE.csv", "-QUEUE.csv"];

/// The texts of the tables, in the order of [`SUFFIXES`]. That of the gates has the windows of scheduled frames only: in this format
/// a gate that is not listed is closed, and the gates of best effort are open between the windows.
pub fn texts(tables: &Tables, schedule: &Schedule, ports: &[PortGates]) -> [String; 4] {
    [gates(tables, ports), offsets(tables, schedule), routes(tables, schedule), queues(tables, schedule)]
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
