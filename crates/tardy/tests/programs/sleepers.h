/* Periodic threads that each sleep by another timer. Three of them work longer than a period in some cycles. They are ordinary ones, so
 * that PREEMPT_RT's thread for timers preempts them and their timer expires before they wait for it. One does what a cycle should not
 * do: in some it takes page faults, and sleeps. */
#ifndef SLEEPERS_H
#define SLEEPERS_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "periodic.h"

struct sleeper {
	const char *name;
	void (*wait)(struct sleeper *);
	int signal, overruns, disturbs, offset;
	long long first_ns;
	int timer, epoll;
};

#define SLEEPERS_PERIOD_NS 4000000LL
#define FRESH_BYTES (16 * 4096)

/* Whether they are to end. */
static volatile int sleepers_end;

static inline void wait_for_timerfd(struct sleeper *sleeper)
{
	uint64_t expiries;
	if (read(sleeper->timer, &expiries, sizeof(expiries)) < 0)
		fail("timerfd");
}

static inline void wait_for_poll(struct sleeper *sleeper)
{
	struct pollfd timer = { .fd = sleeper->timer, .events = POLLIN };
	if (poll(&timer, 1, -1) < 0)
		fail("poll");
	wait_for_timerfd(sleeper);
}

static inline void wait_for_epoll(struct sleeper *sleeper)
{
	struct epoll_event event;
	if (epoll_wait(sleeper->epoll, &event, 1, -1) < 0)
		fail("epoll");
	wait_for_timerfd(sleeper);
}

static inline void wait_for_signal(struct sleeper *sleeper)
{
	sigset_t set;
	int signal;
	sigemptyset(&set);
	sigaddset(&set, sleeper->signal);
	if (sigwait(&set, &signal))
		fail("sigwait");
}

static inline void wait_for_time(struct sleeper *sleeper)
{
	struct timespec next = timespec_of(sleeper->first_ns);
	if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
		fail("clock_nanosleep");
	sleeper->first_ns += SLEEPERS_PERIOD_NS;
}

static inline void disturb(void)
{
	struct timespec little = { .tv_nsec = SLEEPERS_PERIOD_NS / 40 };
	char *fresh = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		fail("mmap");
	for (int page = 0; page < FRESH_BYTES; page += 4096)
		fresh[page] = 1;
	if (munmap(fresh, FRESH_BYTES) || nanosleep(&little, NULL))
		fail("disturb");
}

static inline void wait_for_period(struct sleeper *sleeper)
{
	(void)sleeper;
	sched_yield();
}

static inline void set_sleepers_timer(struct sleeper *sleeper)
{
	struct itimerspec times = {
		.it_interval = timespec_of(SLEEPERS_PERIOD_NS),
		.it_value = timespec_of(sleeper->first_ns),
	};
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sleeper->signal };
	timer_t timer;
	struct epoll_event input = { .events = EPOLLIN };
	if (sleeper->wait == wait_for_signal) {
		if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, TIMER_ABSTIME, &times, NULL))
			fail("timer");
	} else if (sleeper->wait == wait_for_time) {
		return;
	} else if (sleeper->wait == wait_for_period) {
		set_deadline(SLEEPERS_PERIOD_NS / 10, SLEEPERS_PERIOD_NS);
	} else {
		sleeper->timer = timerfd_create(CLOCK_MONOTONIC, 0);
		sleeper->epoll = epoll_create1(0);
		if (sleeper->wait == wait_for_epoll && epoll_ctl(sleeper->epoll, EPOLL_CTL_ADD, sleeper->timer, &input))
			fail("epoll");
		if (timerfd_settime(sleeper->timer, TFD_TIMER_ABSTIME, &times, NULL))
			fail("timerfd");
	}
}

static void *sleeper_thread(void *argument)
{
	struct sleeper *sleeper = argument;
	pthread_setname_np(pthread_self(), sleeper->name);
	struct sched_param parameter = { .sched_priority = sleeper->overruns ? 0 : 10 };
	if (pthread_setschedparam(pthread_self(), sleeper->overruns ? SCHED_OTHER : SCHED_FIFO, &parameter))
		fail("SCHED_FIFO");
	set_sleepers_timer(sleeper);
	for (long cycle = 1; !sleepers_end; cycle++) {
		sleeper->wait(sleeper);
		work(SLEEPERS_PERIOD_NS / 200);
		if (sleeper->overruns && (cycle + sleeper->offset) % 40 == 0)
			work(SLEEPERS_PERIOD_NS * 11 / 10);
		if (sleeper->disturbs && (cycle + sleeper->offset) % 40 == 0)
			disturb();
	}
	return NULL;
}

/* Starts one of each. The signals are blocked in the caller and all threads that it starts later. */
static inline void start_sleepers(void)
{
	static struct sleeper sleepers[] = {
		{ .name = "timerfd", .wait = wait_for_timerfd },
		{ .name = "timerfd-late", .wait = wait_for_timerfd, .overruns = 1 },
		{ .name = "poll", .wait = wait_for_poll },
		{ .name = "epoll", .wait = wait_for_epoll },
		{ .name = "epoll-late", .wait = wait_for_epoll, .overruns = 1 },
		{ .name = "signal", .wait = wait_for_signal, .signal = SIGUSR1 },
		{ .name = "signal-late", .wait = wait_for_signal, .signal = SIGUSR2, .overruns = 1 },
		{ .name = "deadline", .wait = wait_for_period },
		{ .name = "disturbed", .wait = wait_for_time, .disturbs = 1 },
	};
	sigset_t set;
	pthread_t thread;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (unsigned int i = 0; i < sizeof(sleepers) / sizeof(*sleepers); i++) {
		/* Not all in the same cycle, nor in cycles next to each other. */
		sleepers[i].offset = 17 * (int)i;
		sleepers[i].first_ns = now_ns() + SLEEPERS_PERIOD_NS + i * SLEEPERS_PERIOD_NS / 10;
		if (pthread_create(&thread, NULL, sleeper_thread, &sleepers[i]))
			fail("thread");
	}
}

#endif
