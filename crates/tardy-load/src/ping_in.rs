//! ICMP echo requests that other machines send to this one, as the kernel counts them.
//!
//! The kernel answers them in the softirq of the network card's interrupt; no process takes part. They come from
//! `tardy load ping-flood --peer THIS-HOST` on another machine, or from any other ping.

use std::time::{Duration, Instant};

use tardy_sys::kernel_files::KernelFiles;

use super::messages::Message;
use super::worker::{Ended, Worker};

/// The time between two readings of the kernel's count, which are the only cost of this load.
const EVERY: Duration = Duration::from_millis(200);
/// The time without a ping after which the user is asked to start pinging, and after which the load fails.
const KNOCK: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(worker: &Worker) -> Ended {
    let mut last = requests()?;
    let (begin, mut asked, mut running) = (Instant::now(), false, false);
    loop {
        // The kernel does not notify of changes of the count.
        std::thread::sleep(EVERY);
        let now = requests()?;
        worker.counters()[0].add(now.wrapping_sub(last));
        if now != last && !running {
            running = true;
            worker.send(&Message::Running);
        }
        last = now;
        if running {
            continue;
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("no ping reached this machine within {} s", PATIENCE.as_secs()));
        }
        if begin.elapsed() > KNOCK && !asked {
            asked = true;
            let notice = "waiting for pings: run `tardy load ping-flood --peer THIS-HOST` on another machine";
            worker.send(&Message::Notice(notice.to_owned()));
        }
    }
}

/// Echo requests received since boot, over IPv4 and IPv6.
fn requests() -> Result<u64, String> {
    let path = "/proc/net/snmp";
    let files = KernelFiles::real();
    let text = files.text(path).map_err(|error| error.to_string())?;
    let v4 = of_ipv4(&text).ok_or_else(|| format!("{path} does not count InEchos"))?;
    // Absent without IPv6.
    let text = files.text("/proc/net/snmp6").unwrap_or_default();
    Ok(v4.wrapping_add(of_ipv6(&text).unwrap_or(0)))
}

/// `InEchos` of the two lines that begin with `Icmp:`, names above numbers (net/ipv4/proc.c, icmp_put).
fn of_ipv4(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Icmp:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|name| name == "InEchos")?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

/// The line `Icmp6InEchos` (net/ipv6/proc.c).
fn of_ipv6(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Icmp6InEchos"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_by_name() {
        let text = "Ip: a b\nIp: 1 2\nIcmp: InMsgs InErrors InEchos OutMsgs\nIcmp: 9 8 77 6\nIcmpMsg: x\nIcmpMsg: 1\n";
        assert_eq!(of_ipv4(text), Some(77));
        assert_eq!(of_ipv4("Icmp: InMsgs\nIcmp: 1\n"), None);
        assert_eq!(of_ipv4("Icmp: InEchos\n"), None);
        assert_eq!(of_ipv6("Ip6InReceives \t5\nIcmp6InEchos                    \t12\n"), Some(12));
        assert_eq!(of_ipv6(""), None);
    }

    #[test]
    fn this_kernel_counts_them() {
        requests().unwrap();
    }
}
