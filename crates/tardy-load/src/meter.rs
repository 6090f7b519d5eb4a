//! Reads the progress of external tools from their output.
//!
//! A tool that reports only at its end (hackbench, stress-ng) is run repeatedly, one or two seconds each time; one that
//! reports every second (iperf3) is left running. A tool that reports nothing does not count as running, and a failing
//! tool is reported before the measurement begins.

use tardy_record::load_spec::LoadTask;

/// Parses a tool's output.
#[derive(Debug)]
pub(super) struct Meter {
    task: LoadTask,
    begun: Vec<u8>,
    /// hackbench: messages per round, from its first two lines.
    pairs: u64,
    round: u64,
}

/// Longer lines are not progress reports.
const LINE_BYTES_MAX: usize = 4096;

impl Meter {
    pub(super) fn new(task: LoadTask) -> Self {
        Self { task, begun: Vec::new(), pairs: 0, round: 0 }
    }

    /// Processes output and returns how much work it reports.
    pub(super) fn read(&mut self, bytes: &[u8]) -> u64 {
        let mut done: u64 = 0;
        for byte in bytes {
            if *byte == b'\n' {
                let line = String::from_utf8_lossy(&self.begun).into_owned();
                done = done.saturating_add(self.line(&line).unwrap_or(0));
                self.begun.clear();
            } else if self.begun.len() < LINE_BYTES_MAX {
                self.begun.push(*byte);
            }
        }
        done
    }

    fn line(&mut self, line: &str) -> Option<u64> {
        match &self.task {
            LoadTask::StressNg { .. } => bogo_operations(line),
            LoadTask::Iperf3 { .. } => bytes_of_interval(line),
            LoadTask::Hackbench { .. } => self.messages(line),
            _ => None,
        }
    }

    /// hackbench: `… 2 groups using 40 file descriptors each (== 80 tasks)`, `Each sender will pass 100 messages of …`
    /// and, at the round's end, `Time: 0.341`. Half of a group's tasks send to each of the other half.
    fn messages(&mut self, line: &str) -> Option<u64> {
        let before = |word: &str| line.split(word).next()?.split_whitespace().last()?.parse::<u64>().ok();
        if line.contains(" groups using ") {
            let (groups, descriptors) = (before(" groups")?, before(" file descriptors")?);
            let half = descriptors / 2;
            self.pairs = groups.saturating_mul(half).saturating_mul(half);
        } else if line.starts_with("Each sender will pass ") {
            self.round = before(" messages")?.saturating_mul(self.pairs);
        } else if line.starts_with("Time: ") {
            return Some(std::mem::take(&mut self.round));
        }
        None
    }
}

/// stress-ng: `stress-ng: metrc: [7] cpu 547 2.01 0.27 0.00 271.52 2032.37`, which old versions call `info:`.
fn bogo_operations(line: &str) -> Option<u64> {
    let (head, rest) = line.split_once(']')?;
    if !head.starts_with("stress-ng: ") {
        return None;
    }
    let mut words = rest.split_whitespace();
    let _stressor = words.next()?;
    let operations = words.next()?.parse().ok()?;
    let times = words.take(5).filter(|word| word.parse::<f64>().is_ok()).count();
    (times == 5).then_some(operations)
}

/// iperf3: `[  5]   1.00-2.00   sec  1.10 GBytes  9.42 Gbits/sec …`; sums over streams and over the run are skipped.
fn bytes_of_interval(line: &str) -> Option<u64> {
    let is_extra = line.starts_with("[SUM]") || line.contains("sender") || line.contains("receiver");
    if !line.starts_with('[') || is_extra {
        return None;
    }
    let mut words = line.split_whitespace().skip_while(|word| *word != "sec").skip(1);
    let amount: f64 = words.next()?.parse().ok()?;
    let factor = match words.next()? {
        "Bytes" => 1.0,
        "KBytes" => 1024.0,
        "MBytes" => 1024.0 * 1024.0,
        "GBytes" => 1024.0 * 1024.0 * 1024.0,
        "TBytes" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((amount * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::load_spec::LoadSpec;

    /// Captured output of stress-ng 0.15.06, hackbench of rt-tests 2.4 and iperf3 3.12.
    const STRESS_NG: &str = "\
stress-ng: info:  [27658] setting to a 2 second run per stressor
stress-ng: info:  [27658] dispatching hogs: 1 cpu, 1 vm
stress-ng: metrc: [27658] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [27658]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [27658] cpu                 547      2.01      0.27      0.00       271.52        2032.37
stress-ng: metrc: [27658] vm                 9472      2.03      0.14      0.13      4667.61       35233.51
stress-ng: info:  [27658] successful run completed in 2.03s
";
    const HACKBENCH: &str = "\
Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 100 messages of 100 bytes
Time: 0.341
";
    const IPERF3: &str = "\
Connecting to host 127.0.0.1, port 5999
[  5] local 127.0.0.1 port 40776 connected to 127.0.0.1 port 5999
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.01   sec   194 MBytes  1.61 Gbits/sec    2   4.31 MBytes       
[  7]   0.00-1.01   sec   194 MBytes  1.61 Gbits/sec    1   4.37 MBytes       
[SUM]   0.00-1.01   sec   388 MBytes  3.23 Gbits/sec    3             
[  5]   0.00-1.00   sec  1.22 MBytes  10.2 Mbits/sec  39  
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   0.00-3.98   sec  1.13 GBytes  2.44 Gbits/sec    2             sender
[SUM]   0.00-3.98   sec  2.26 GBytes  4.89 Gbits/sec    9             sender
";

    fn task(text: &str) -> LoadTask {
        text.parse::<LoadSpec>().unwrap().tasks()[0].clone()
    }

    fn count(load: &str, text: &str) -> u64 {
        let mut meter = Meter::new(task(load));
        // A pipe may split it anywhere.
        text.as_bytes().chunks(7).map(|bytes| meter.read(bytes)).sum()
    }

    #[test]
    fn progress_of_each_tool_is_counted() {
        assert_eq!(count("stress-ng:--cpu 2", STRESS_NG), 547 + 9472);
        assert_eq!(count("hackbench", HACKBENCH), 2 * 20 * 20 * 100);
        assert_eq!(count("hackbench", &HACKBENCH.repeat(3)), 3 * 2 * 20 * 20 * 100);
        assert_eq!(count("iperf3:-s", IPERF3), ((2 * 194) << 20) + 1_279_262);
    }

    #[test]
    fn other_output_counts_nothing() {
        for load in ["stress-ng:--cpu 2", "hackbench", "iperf3:-s"] {
            assert_eq!(
                count(load, "\n[\n]\nTime: \n[ 5] sec\n[ 5] sec 1 Apples\nstress-ng: x [1] a b\n\u{ff}\n"),
                0
            );
            assert_eq!(count(load, &"x".repeat(100_000)), 0);
        }
    }
}
