//! A probe that waits on a clock that was set back ends when it is asked to. To set the machine's clock would upset other
//! programs, so the first deadline is in an hour, which is the same to a waiting thread.

mod timer_order;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use tardy_probe::cells::{CELLS, Stage, Total};
use tardy_probe::order::{Go, Reply};
use tardy_record::plan::{ClockId, Span, Wake};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::signals::wait_readable;

use timer_order::timer_order;

const HOUR_NS: u64 = 3_600_000_000_000;
const PATIENCE_NS: u64 = 60_000_000_000;

/// A probe that is killed when this is dropped.
struct Probe(Child);

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the thread `tid`, which counts in `block`, is in its first wait: it counts, and then sleeps or spins.
fn wait_until_waiting(map: &SharedMap, block: usize, tid: u32, wake: Wake) {
    let until_ns = monotonic_ns() + PATIENCE_NS;
    let stage = &map.block(block).cells()[Total::Stage as usize];
    let state = || std::fs::read_to_string(format!("/proc/{tid}/stat")).unwrap_or_default();
    let waits = || wake == Wake::Busy || state().contains(") S ");
    while stage.get() != Stage::Counting as u64 || !waits() {
        assert!(monotonic_ns() < until_ns, "{wake:?}: the thread does not wait");
        std::thread::yield_now();
    }
}

#[test]
fn a_probe_ends_when_asked_although_its_deadline_is_in_an_hour() {
    for wake in [Wake::ClockNanosleep, Wake::TimerSettime, Wake::Timerfd, Wake::Busy] {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 2, CELLS).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-probe"));
        command.arg("__probe").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut probe = Probe(command.spawn().unwrap());
        let mut orders = probe.0.stdin.take().unwrap();
        let mut replies = BufReader::new(probe.0.stdout.take().unwrap());
        let mut reply = || -> Reply {
            use std::os::fd::AsRawFd;
            let readable = wait_readable(&[replies.get_ref().as_raw_fd()], PATIENCE_NS).unwrap();
            assert!(readable[0], "{wake:?}: the probe does not reply");
            let mut line = String::new();
            replies.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        let order = timer_order(&map, wake, ClockId::Realtime, 2, Span::DurationNs(HOUR_NS));
        writeln!(orders, "{}", serde_json::to_string(&order).unwrap()).unwrap();
        let Reply::Ready { tids, .. } = reply() else { panic!("{wake:?}: the probe is not ready") };
        let go = Go { start_ns: monotonic_ns() + HOUR_NS };
        writeln!(orders, "{}", serde_json::to_string(&go).unwrap()).unwrap();
        for (block, tid) in tids.into_iter().enumerate() {
            wait_until_waiting(&map, block, tid, wake);
        }
        (0..2).for_each(|block| map.block(block).ask_to_end());
        writeln!(orders).unwrap();
        assert!(matches!(reply(), Reply::Done), "{wake:?}");
    }
}
