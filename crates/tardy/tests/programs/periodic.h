/* What the periodic loops of these tests share. */
#ifndef PERIODIC_H
#define PERIODIC_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline long long ns_of(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static inline long long now_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

static inline struct timespec timespec_of(long long ns)
{
	struct timespec time = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	return time;
}

/* Uses the CPU for so long, by this thread's own CPU time. */
static inline void work(long long ns)
{
	static volatile int sink;
	long long end_ns = ns_of(CLOCK_THREAD_CPUTIME_ID) + ns;
	do {
		for (int i = 0; i < 500; i++)
			sink += i;
	} while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end_ns);
}

/* Makes this thread one of SCHED_DEADLINE, which glibc has no function for. */
static inline void set_deadline(long long runtime_ns, long long period_ns)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = {
		.size = 48, .policy = 6, .runtime = (uint64_t)runtime_ns,
		.deadline = (uint64_t)period_ns, .period = (uint64_t)period_ns,
	};
	if (syscall(SYS_sched_setattr, 0, &attributes, 0))
		fail("SCHED_DEADLINE");
}

#endif
