/* What the periodic loops of these tests share. */
#ifndef PERIODIC_H
#define PERIODIC_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

#endif
