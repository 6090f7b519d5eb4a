//! `--help`.
pub(super) const TEXT: &str = "\
Measure with tardy, using cyclictest's options and output format

Usage: tardy cyclictest [OPTIONS]     or a link to tardy named cyclictest

docs/cyclictest.md lists unsupported options and intended differences from rt-tests' cyclictest.

Threads:
  -t, --threads[=NUM]       number of threads; without NUM one for each CPU [default: 1]
  -a, --affinity[=CPUS]     pin threads in turn to all CPUs or to these
  -S, --smp                 -a -t
  -p, --priority=PRIO       real-time priority [default: SCHED_OTHER]
      --policy=NAME         fifo, rr, other
      --priospread          lower the priority of each further thread by one
  -m, --mlockall            lock memory
      --mainaffinity=CPU    CPU of tardy's supervisor process

Waiting:
  -i, --interval=US         interval [default: 1000]
  -d, --distance=US         added to the interval of each further thread [default: 500, or 0 with -h]
  -A, --aligned=US          offset between the wake-ups of threads
  -c, --clock=CLOCK         0 CLOCK_MONOTONIC, 1 CLOCK_REALTIME
  -s, --system              nanosleep; with -x setitimer
  -x, --posix_timers        timer_settime
  -r, --relative            use relative waits
      --latency=US          value for /dev/cpu_dma_latency [default: 0]
      --default-system, --laptop
                            do not set /dev/cpu_dma_latency

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
  -N, --nsecs               print ns instead of us
  -v, --verbose             print every reading
  -o, --oscope=COUNT        print the highest of this many readings
  -M, --refresh_on_max      update only at a new maximum
  -u, --unbuffered          no effect: output is never buffered
      --tardy-run=FILE      also write tardy's run file
";
