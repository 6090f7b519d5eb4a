//! What `--help` prints.

/// The options that are taken.
pub(super) const TEXT: &str = "\
cyclictest's command line and output, from tardy's probe

Usage: tardy cyclictest [OPTIONS]     or by a link to tardy that is called cyclictest

What differs from rt-tests' cyclictest on purpose, and what it does not take: docs/cyclictest.md.

Threads:
  -t, --threads[=NUM]       so many threads; without NUM one for each CPU [default: 1]
  -a, --affinity[=CPUS]     pin threads, to each CPU or to these, in turn
  -S, --smp                 -a -t
  -p, --priority=PRIO       real-time priority; without it SCHED_OTHER
      --policy=NAME         fifo, rr, other
      --priospread          each next thread's priority is lower by one
  -m, --mlockall            lock memory
      --mainaffinity=CPU    where tardy's own second process runs

Waiting:
  -i, --interval=US         from one wake-up to the next [default: 1000]
  -d, --distance=US         each next thread's interval is longer by this [default: 500; with -h 0]
  -A, --aligned=US          each next thread wakes so much later
  -c, --clock=CLOCK         0 CLOCK_MONOTONIC, 1 CLOCK_REALTIME
  -s, --system              nanosleep; with -x setitimer
  -x, --posix_timers        timer_settime
  -r, --relative            for a time instead of until one
      --latency=US          what /dev/cpu_dma_latency is held at [default: 0]
      --default-system, --laptop
                            leave it alone

How long:
  -l, --loops=COUNT         so many cycles [default: no end]
  -D, --duration=TIME       so many seconds, or with m, h or d behind it
  -b, --breaktrace=US       end at a reading above this

Output:
  -q, --quiet               a summary at the end
  -h, --histogram=ROWS      a histogram, a row for each us
  -H, --histofall=ROWS      the same with a column for all threads
      --histfile=FILE       into a file
      --json=FILE           results as JSON
  -N, --nsecs               ns instead of us
  -v, --verbose             every reading
  -o, --oscope=COUNT        of so many readings the highest
  -M, --refresh_on_max      show only what is a new maximum
  -u, --unbuffered          always so
      --tardy-run=FILE      tardy's own run file, with all that cyclictest does not keep
";
