//! What watching costs the watched thread, in counted instructions, compared with trace-cmd and the same events, and with nothing, in the
//! same guest.

use tardy_attach::layout::{OF_MACHINE, OF_PROGRAM};
use tardy_init::thread_cost::ThreadCost;
use tardy_lab::kernel::KernelSpec;

use crate::own_modules::KERNELS;
use crate::scripted::{Scene, boot};
use crate::{c_program, guests};

/// A loop that does nothing else than wait.
const LOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/timer_loop.c");
/// A priority that no other thread of the guest has.
const PRIORITY: u32 = 83;
/// So many that those of the warm-up, in which tardy does not always record, are few.
const CYCLES: u32 = 10_000;
/// The highest ratio to trace-cmd. The goal is 1.05.
const RATIO_MAX: f64 = 1.05;
/// The events of interrupts that `tardy attach` records as well; trace-cmd takes those of all vectors as a group.
const OF_INTERRUPTS: [&str; 5] =
    ["irq/irq_handler_entry", "irq/irq_handler_exit", "irq/softirq_entry", "irq/softirq_exit", "irq_vectors"];

fn scene() -> Option<Scene> {
    let program = c_program::compiled(LOOP)?;
    let measured = format!("tardy __thread-cost {PRIORITY} {CYCLES} ");
    let program_line = format!("$FILES/timer_loop {PRIORITY} 1000 {}", CYCLES + 1000);
    let recorded = OF_PROGRAM.iter().chain(&OF_MACHINE).chain(&OF_INTERRUPTS);
    let events: String = recorded.map(|event| format!("-e {} ", event.replace('/', ":"))).collect();
    let script = format!(
        "cd /tmp && {measured}{program_line} || exit\n\
         {measured}/usr/bin/trace-cmd record -q -C mono {events}-o /tmp/trace.dat {program_line} || exit\n\
         rm -f /tmp/trace.dat*\n\
         {measured}/tardy exec --quiet --warmup 100ms -o /tmp/cost.run.json -- {program_line}\n"
    );
    Some(Scene {
        name: "attach-cost",
        script,
        tools: vec![("trace-cmd", "/usr/bin/trace-cmd")],
        programs: vec![("timer_loop".to_owned(), program)],
        ..Scene::default()
    })
}

#[test]
#[ignore = "a boot of its own; `make long-tests` runs it"]
fn long_watching_costs_the_thread_as_much_as_trace_cmd_with_the_same_events() {
    let Some(guests) = guests::directory() else { return };
    let Some(scene) = scene() else { return };
    let booted = boot(&KernelSpec::parse(KERNELS[1]).unwrap(), None, &[scene], &guests).unwrap();
    let printed = &booted.scenes()[0];
    let costs: Vec<ThreadCost> = printed.json_lines();
    let [nothing, trace_cmd, tardy] = costs[..] else { panic!("{}", printed.text()) };
    let [nothing_ns, trace_cmd_ns, tardy_ns] = [nothing, trace_cmd, tardy].map(ThreadCost::per_cycle_ns);
    println!(
        "CPU time per cycle: {nothing_ns:.0} ns, with trace-cmd {trace_cmd_ns:.0} ns, with tardy {tardy_ns:.0} ns: {:.4} of trace-cmd",
        tardy_ns / trace_cmd_ns
    );
    assert!(nothing_ns < trace_cmd_ns.min(tardy_ns), "recording costs something");
    assert!(tardy_ns <= RATIO_MAX * trace_cmd_ns, "{tardy_ns} ns, and {trace_cmd_ns} ns with trace-cmd");
}
