# Measures the time to an answer and the run time per edge, of tardy and of bench/gpio_answer.c. The caller sets
# PRIORITY and EDGES (one per ms).
tardys="tardy run -q --probe gpio-reaction --in tardy-pins:0 --out tardy-pins:1 --answer-by events --priority $PRIORITY \
    --duration ${EDGES}ms --warmup 0s -o"
cs="$FILES/gpio_answer /dev/gpiochip0 0 1 $PRIORITY $EDGES"
of_c() { $cs /dev/tardy_pins 2>&1 > "/lab/results/$1"; echo "exit status $?"; }
costs() { tardy __thread-cost $PRIORITY $((EDGES * 2 / 3)) "$@"; }

part tardy
answer $tardys /lab/results/tardy.run.json
costs $tardys /tmp/costed.run.json

part c
of_c c.txt
costs $cs

# Without the kernel's work for glibc's restartable sequences, which tardy does not use (docs/performance.md).
export GLIBC_TUNABLES=glibc.pthread.rseq=0
part 'c without rseq'
of_c c-without-rseq.txt
costs $cs
