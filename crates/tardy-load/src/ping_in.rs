//! ICMP echo requests that others send to this machine, counted as the kernel counts them.
//!
//! The kernel answers them, in the softirq of the network card's interrupt; nothing here takes part. Who sends them is
//! `tardy load ping-flood --peer THIS-HOST` on another machine, or any other ping.

use std::time::{Duration, Instant};

use super::words::Word;
use super::worker::{Ended, Worker};

/// How often the kernel's count is read. Its reading is all that this costs.
const EVERY: Duration = Duration::from_millis(200);
/// When a person is told that nothing comes, and when that is an error.
const KNOCK: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(worker: &Worker) -> Ended {
    let mut last = requests()?;
    let (begin, mut told, mut running) = (Instant::now(), false, false);
    loop {
        // The count moves by itself, and there is nothing to wait on.
        std::thread::sleep(EVERY);
        let now = requests()?;
        worker.counters()[0].add(now.wrapping_sub(last));
        if now != last && !running {
            running = true;
            worker.say(&Word::Running);
        }
        last = now;
        if running {
            continue;
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("nobody has pinged this machine within {} s", PATIENCE.as_secs()));
        }
        if begin.elapsed() > KNOCK && !told {
            told = true;
            let notice =
                "waiting to be pinged: run `tardy load ping-flood --peer THIS-HOST` on another machine";
            worker.say(&Word::Notice(notice.to_owned()));
        }
    }
}

/// Echo requests received since the start of the machine, over IPv4 and IPv6.
fn requests() -> Result<u64, String> {
    let path = "/proc/net/snmp";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let v4 = of_ipv4(&text).ok_or_else(|| format!("{path} does not count InEchos"))?;
    // Not there without IPv6.
    let text = std::fs::read_to_string("/proc/net/snmp6").unwrap_or_default();
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
