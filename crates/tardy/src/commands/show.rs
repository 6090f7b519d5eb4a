//! stand-in until the crates behind it are merged
use crate::exit::Exit;
use anyhow::Result;
pub(crate) fn run<T>(_: &T) -> Result<Exit> {
    anyhow::bail!("not merged yet")
}
pub(super) fn print(run: &tardy_record::Run, _json: bool) -> Result<()> {
    for s in &run.series {
        println!("{} {:?} min {:?} max {:?} mean {:?}", s.label, s.tally, s.min_ns, s.max_ns, s.mean_ns());
    }
    for c in &run.self_cost {
        println!("{c:?} {:?}", c.cpu_ns_per_cycle());
    }
    println!("{:?}", run.validity);
    Ok(())
}
