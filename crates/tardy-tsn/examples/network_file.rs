//! Measures how fast the simulator runs a switch file, and in how much memory, including the conversion to a run.
//!
//! usage: network_file FILE.toml linux|standard SECONDS

use std::time::Instant;

use tardy_tsn::file;
use tardy_tsn::simulate::recorded::{Request, simulate};
use tardy_tsn::simulate::{Mode, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, mode, seconds] = words.as_slice() else {
        return Err("usage: network_file FILE.toml linux|standard SECONDS".into());
    };
    let mode = match mode.as_str() {
        "linux" => Mode::Linux,
        "standard" => Mode::Standard,
        other => return Err(format!("'{other}' is not a mode; expected linux or standard").into()),
    };
    let text = std::fs::read_to_string(path)?;
    let network = file::parse(&text)?;
    let options = Options { mode, ..Options::default() };
    let request = Request {
        network: &network,
        options: &options,
        talk_ns: (seconds.parse::<f64>()? * 1e9) as u64,
        phases: &[true],
        file: (path, &text),
        command: &[],
        version: "",
    };
    let begun = Instant::now();
    let simulated = simulate(&request, &mut ())?;
    let took = begun.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
    println!(
        "{} frame-hops in {took:.3} s: {:.2} million per second; {}",
        simulated.frame_hops,
        simulated.frame_hops as f64 / took / 1e6,
        peak.split_whitespace().collect::<Vec<_>>().join(" "),
    );
    Ok(())
}
