//! Generates a file of samples for measuring importers (docs/performance.md).
//! usage: make_samples raw|text|csv|vcd2|vcd8|json COUNT > FILE
//!
//! `json` is cyclictest's, with COUNT rows in the histograms of two threads.
//! `vcd2` and `csv` have COUNT edges of two channels, a stimulus and its answers; `vcd8` has COUNT random edges of
//! eight channels.

use std::io::{self, BufWriter, Write};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(form), Some(count)) =
        (arguments.next(), arguments.next().and_then(|count| count.parse::<u64>().ok()))
    else {
        eprintln!("usage: make_samples raw|text|csv|vcd2|vcd8|json COUNT > FILE");
        std::process::exit(2);
    };
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    if let Some(channels) = form.strip_prefix("vcd").and_then(|channels| channels.parse().ok()) {
        vcd(&mut out, channels, count)?;
        return out.flush();
    }
    if form == "json" {
        json(&mut out, count)?;
        return out.flush();
    }
    if form == "csv" {
        csv(&mut out, count)?;
        return out.flush();
    }
    let mut state = 1u64;
    for cycle in 0..count / 2 {
        for thread in 0..2u32 {
            let random = random(&mut state);
            // 5 to 17 us. One in a thousand is later, but by less than the interval, so that times do not go back.
            let value = 5 + random % 13 + if random % 1000 == 7 { (random >> 16) % 180 } else { 0 };
            if form == "raw" {
                let at_ns = 5_000_000_000 + cycle * 200_000 + u64::from(thread) * 50_000 + value * 1000;
                out.write_all(&thread.to_le_bytes())?;
                out.write_all(&(at_ns / 1_000_000_000).to_le_bytes())?;
                out.write_all(&(at_ns % 1_000_000_000).to_le_bytes())?;
                out.write_all(&value.to_le_bytes())?;
            } else {
                writeln!(out, "{thread:8}:{cycle:8}:{value:8}")?;
            }
        }
    }
    out.flush()
}

/// A linear congruential generator (Knuth, MMIX), for the same file every time.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// A dump of `count` edges in ns.
fn vcd(out: &mut impl Write, channels: u8, count: u64) -> io::Result<()> {
    writeln!(out, "$timescale 1 ns $end\n$scope module made $end")?;
    let code = |channel: u8| char::from(b'!' + channel);
    for channel in 0..channels {
        writeln!(out, "$var wire 1 {} D{channel} $end", code(channel))?;
    }
    writeln!(out, "$upscope $end\n$enddefinitions $end\n#0\n$dumpvars")?;
    for channel in 0..channels {
        writeln!(out, "0{}", code(channel))?;
    }
    writeln!(out, "$end")?;
    let (mut state, mut at_ns) = (1u64, 1_000_000u64);
    if channels == 2 {
        for _ in 0..count / 4 {
            let answered_ns = at_ns + 5000 + random(&mut state) % 1000;
            let (off_ns, answer_off_ns) = (at_ns + 10_000, answered_ns + 10_000);
            writeln!(out, "#{at_ns}\n1!\n#{answered_ns}\n1\"\n#{off_ns}\n0!\n#{answer_off_ns}\n0\"")?;
            at_ns += 20_000;
        }
        return Ok(());
    }
    let mut levels = vec![0u8; usize::from(channels)];
    for _ in 0..count {
        let random = random(&mut state);
        let channel = (random % u64::from(channels)) as u8;
        let level = &mut levels[usize::from(channel)];
        *level ^= 1;
        at_ns += 100 + (random >> 8) % 64;
        writeln!(out, "#{at_ns}\n{level}{}", code(channel))?;
    }
    Ok(())
}

/// Levels of two channels with `count` edges, as Saleae's Logic 2 writes them.
fn csv(out: &mut impl Write, count: u64) -> io::Result<()> {
    writeln!(out, "Time [s],Channel 0,Channel 1")?;
    let mut row = |at_ns: u64, levels: [u8; 2]| {
        let [stimulus, answer] = levels;
        writeln!(out, "{}.{:09},{stimulus},{answer}", at_ns / 1_000_000_000, at_ns % 1_000_000_000)
    };
    row(0, [0, 0])?;
    let (mut state, mut at_ns) = (1u64, 1_000_000u64);
    for _ in 0..count / 4 {
        let answered_ns = at_ns + 5000 + random(&mut state) % 1000;
        row(at_ns, [1, 0])?;
        row(answered_ns, [1, 1])?;
        row(answered_ns + 2000, [0, 1])?;
        row(answered_ns + 4000, [0, 0])?;
        at_ns += 20_000;
    }
    Ok(())
}

/// Histograms in ns of two threads with `count` rows, formatted as cyclictest does.
fn json(out: &mut impl Write, count: u64) -> io::Result<()> {
    write!(
        out,
        "{{\n  \"file_version\": 1,\n  \"cmdline:\": \"cyclictest -m -S -p90 -i200 -N -q\",\n  \"rt_test_version:\":          \"2.10\",\n  \"num_threads\": 2,\n  \"resolution_in_ns\": 1,\n  \"thread\": {{\n"
    )?;
    let (mut state, rows) = (1u64, count / 2);
    for thread in 0..2 {
        write!(out, "    \"{thread}\": {{\n      \"histogram\": {{")?;
        let mut cycles = 0;
        for row in 0..rows {
            let readings = 1 + random(&mut state) % 1000;
            cycles += readings;
            let comma = if row == 0 { "" } else { "," };
            write!(out, "{comma}\n        \"{}\": {readings}", 1000 + row)?;
        }
        let max = 1000 + rows.saturating_sub(1);
        write!(
            out,
            "\n      }},\n      \"cycles\": {cycles},\n      \"min\": 1000,\n      \"max\": {max},\n      \"cpu\":              {thread},\n      \"node\": -1\n    }}{}\n",
            if thread == 0 { "," } else { "" }
        )?;
    }
    writeln!(out, "  }}\n}}")
}
