//! Makes a file of samples, for measuring the importers (docs/performance.md).
//! usage: make_samples raw|text COUNT > FILE

use std::io::{self, BufWriter, Write};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(form), Some(count)) =
        (arguments.next(), arguments.next().and_then(|count| count.parse::<u64>().ok()))
    else {
        eprintln!("usage: make_samples raw|text COUNT > FILE");
        std::process::exit(2);
    };
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    // A linear congruential generator (Knuth, MMIX): the same file every time.
    let mut state = 1u64;
    for cycle in 0..count / 2 {
        for thread in 0..2u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = state >> 33;
            // A body of some us, and one in a thousand up to half a ms later.
            let value = 5 + random % 13 + if random % 1000 == 7 { (random >> 16) % 500 } else { 0 };
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
