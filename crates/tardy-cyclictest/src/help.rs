//! `--help`.
/// The text of `--help`.
pub const TEXT: &str = "\
Measure with tardy, using cyclictest's options and output format

Usage: tardy cyclictest [OPTIONS]     or a link to tardy named cyclictest

Every option of rt-tests 2.4 to 2.10 is accepted, and those of earlier versions. Standard error names those without an
effect. docs/cyclictest.md lists them, and the intended differences.

Threads:
  -t, --threads[=NUM]       number of threads; without NUM one for each CPU [default: 1]
  -a, --affinity[=CPUS]     pin threads in turn to all CPUs or to these, such as 2, 0-3,5 or !0
  -S, --smp                 -a -t
  -p, --priority=PRIO       real-time priority [default: SCHED_OTHER]
      --policy=NAME         fifo, rr, other
      --priospread          lower the priority of each further thread by one
  -m, --mlockall            lock memory
      --mainaffinity=CPUS   CPUs of tardy's supervisor process, which runs on one of them

Waiting:
  -i, --interval=US         interval [default: 1000]
  -d, --distance=US         added to the interval of each further thread [default: 500, or 0 with -h]
  -A, --aligned[=US]        offset between the wake-ups of threads
      --secaligned[=US]     wake all threads at this offset from a full second
  -c, --clock=CLOCK         0 CLOCK_MONOTONIC, 1 CLOCK_REALTIME
  -s, --system              nanosleep
  -x, --posix_timers        timer_settime
  -r, --relative            use relative waits
      --latency=US          value for /dev/cpu_dma_latency [default: 0]
      --default-system, --laptop
                            do not set /dev/cpu_dma_latency
      --deepest-idle-state=N
                            set /dev/cpu_dma_latency to the exit latency of this idle state; -1 permits none

Duration:
  -l, --loops=COUNT         number of cycles [default: no end]
  -D, --duration=TIME       seconds, or a number followed by m, h or d
  -b, --breaktrace=US       end at a latency above this

Output:
  -q, --quiet               print only a summary at the end
  -h, --histogram=ROWS      print a histogram with a row for each us
  -H, --histofall=ROWS      the same, with a column for all threads
      --histfile=FILE       write the histogram to a file
      --json=FILE           write results as JSON
  -F, --fifo=FILE           create a named pipe from which the current state can be read
  -N, --nsecs               print ns instead of us
  -v, --verbose             print every reading
  -o, --oscope=COUNT        with -v: print the highest of this many readings
  -M, --refresh_on_max      update only at a new maximum
  -R, --resolution          check the resolution of the clock
      --spike=LIMIT         list the wake-ups above this, in the unit of the results
      --spike-nodes=COUNT   number of wake-ups to list [default: 1024]
      --smi                 count SMIs on the threads' CPUs (Intel)
  -u, --unbuffered          no effect: output is never buffered
      --tardy-run=FILE      also write tardy's run file

No effect: --tracemark, --dbg_cyclictest, and earlier versions' -n, -U, -X and tracer options
";
