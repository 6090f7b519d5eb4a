//! The entry point of a load process: the worker of one task, or the parent of all workers.

use std::process::ExitCode;

use tardy_record::load_spec::LoadTask;

use super::messages::Message;
use super::orders::Orders;
use super::worker::{Ended, Worker, name_process, send};
use super::{
    affinity, command, compile, copy, cpu, datagrams, disk, listing, load_parent, memory, mprotect, network,
    ping, ping_in, processes, scheduler, signalling, sink, stream, timers,
};

/// The entry point of `tardy __load …`; `arguments` are those after the subcommand.
///
/// The binary calls it before anything else, so that a load process starts no thread and reads no configuration.
pub fn worker_main(arguments: Vec<String>) -> ExitCode {
    end_when_a_thread_panics();
    match Orders::from_arguments(&arguments) {
        Ok(orders) if orders.part.is_none() => load_parent::run(&orders),
        Ok(orders) => work(&orders),
        Err(error) => {
            eprintln!(
                "tardy {}: {error}; this command is internal to tardy; use `tardy load`",
                super::orders::SUBCOMMAND
            );
            ExitCode::from(2)
        }
    }
}

/// A load with a thread less would be another load: the process ends, which its supervisor notices.
fn end_when_a_thread_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

fn work(orders: &Orders) -> ExitCode {
    let worker = match Worker::new(orders) {
        Ok(worker) => worker,
        Err(error) => {
            send(orders.part.unwrap_or_default(), &Message::Death(error));
            return ExitCode::FAILURE;
        }
    };
    name_process(worker.task.name());
    if worker.task.is_a_command() {
        return command::run(&worker);
    }
    let Err(how) = do_the_work(&worker);
    worker.send(&Message::Death(how));
    ExitCode::FAILURE
}

fn do_the_work(worker: &Worker) -> Ended {
    match &worker.task {
        LoadTask::Scheduler(shape) => scheduler::run(worker, *shape),
        LoadTask::Network => network::run(worker),
        LoadTask::Copy => copy::run(worker),
        LoadTask::Listing => listing::run(worker),
        LoadTask::Cpu => cpu::run(worker),
        LoadTask::Memory { mib } => memory::run(worker, *mib),
        LoadTask::Io { directory } => disk::run(worker, directory),
        LoadTask::Fork => processes::run(worker),
        LoadTask::Timers { per_cpu } => timers::run(worker, *per_cpu),
        LoadTask::Signals => signalling::run(worker),
        LoadTask::Compile { directory } => compile::run(worker, directory),
        LoadTask::Mprotect => mprotect::run(worker),
        LoadTask::Affinity => affinity::run(worker),
        LoadTask::Tcp { port } => stream::run(worker, port.unwrap_or(worker.port)),
        LoadTask::Udp { port } => datagrams::run(worker, port.unwrap_or(worker.port)),
        LoadTask::Ping => ping::run(worker),
        LoadTask::PingIn => ping_in::run(worker),
        LoadTask::Sink { host } => sink::run(worker, host),
        LoadTask::StressNg { .. }
        | LoadTask::Hackbench { .. }
        | LoadTask::Iperf3 { .. }
        | LoadTask::Command { .. } => Err("a shell runs this task".to_owned()),
    }
}
