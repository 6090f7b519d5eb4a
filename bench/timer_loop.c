// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Waits for deadlines, reads the clock and counts: the least that a program can do to measure a timer. The lab compares the
 * run time of tardy's probe with it (docs/performance.md).
 *
 *	cc -O2 -static -o timer_loop bench/timer_loop.c
 *	timer_loop PRIORITY INTERVAL_US CYCLES			as in: timer_loop 80 1000 4000
 *
 * At SCHED_FIFO with PRIORITY. Afterwards it prints the median latency in ns.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define SECOND_NS 1000000000LL
#define BIN_NS 10
#define BINS 100000

static uint32_t counts[BINS];

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: timer_loop PRIORITY INTERVAL_US CYCLES\n");
		return 2;
	}
	struct sched_param rank = { .sched_priority = atoi(argv[1]) };
	long long interval_ns = atoll(argv[2]) * 1000, cycles = atoll(argv[3]);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) || sched_setscheduler(0, SCHED_FIFO, &rank)) {
		perror("timer_loop");
		return 1;
	}
	struct timespec due, now;
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (long long cycle = 0; cycle < cycles; cycle++) {
		due.tv_nsec += interval_ns;
		while (due.tv_nsec >= SECOND_NS) {
			due.tv_nsec -= SECOND_NS;
			due.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		long long late_ns = (now.tv_sec - due.tv_sec) * SECOND_NS + now.tv_nsec - due.tv_nsec;
		long long bin = late_ns < 0 ? 0 : late_ns / BIN_NS;
		counts[bin < BINS ? bin : BINS - 1]++;
	}
	long long below = 0;
	for (int bin = 0; bin < BINS; bin++) {
		below += counts[bin];
		if (2 * below >= cycles) {
			printf("%d\n", bin * BIN_NS);
			return 0;
		}
	}
	return 1;
}
