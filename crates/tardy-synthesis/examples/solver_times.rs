//! Measures how long the solver takes, next to a plain first fit.
//!
//! usage: solver_times TASK.csv TOPO.csv [THREADS]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let task = std::fs::read_to_string(&words[0])?;
    let topo = std::fs::read_to_string(&words[1])?;
    let tables = tardy_synthesis::read::tsnkit::read(&task, &topo, 0)?;
    let is_over = || false;
    let options = tardy_synthesis::solver::Options { effort: 10, seed: 1, threads: 2, is_over: &is_over };
    for _ in 0..3 {
        let begun = std::time::Instant::now();
        let solved = tardy_synthesis::solver::solve(&tables.instance, &options);
        println!("{} of {} in {:?} effort {}", solved.schedule.placed(), tables.instance.flows.len(), begun.elapsed(), solved.effort);
    }
    let begun = std::time::Instant::now();
    let answer = tardy_synthesis::answer::find(&tables.instance, &options, None);
    match answer {
        Ok(answer) => println!("{:?} {:?} entries {:?}", answer.verdict, begun.elapsed(), answer.ports.iter().map(|p| p.entries_needed()).max()),
        Err(mistake) => println!("{mistake:?}"),
    }
    Ok(())
}
