//! Prints the findings of a run as JSON, as `tardy show --json` does: `findings RUN_FILE`. `make test-boards` runs it on an emulated
//! ARMv7 processor, for which the rest of tardy is not compiled.

use std::error::Error;

use tardy_analyse::findings::{self, Options};
use tardy_analyse::tail::Depth;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected the path of a run file")?;
    let text = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
    let run = tardy_record::file::from_text(&text)?;
    let findings = findings::of(&run, &Options { tails: Depth::Diagnostics, ..Options::default() });
    println!("{}", serde_json::to_string(&findings)?);
    Ok(())
}
