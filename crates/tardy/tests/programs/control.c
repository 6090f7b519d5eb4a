/*
 * A periodic loop, as control programs have it, that waits in a chosen way and makes a chosen fault in some of its cycles. The
 * tests of `tardy attach` watch it. Build: cc -O1 -pthread -o control control.c
 *
 *   control WAIT FAULT PERIOD_US CYCLES PRIORITY [LOG]
 *
 * WAIT   absolute, relative, timerfd, epoll, poll, condition, signal, deadline
 * FAULT  none, page-fault, mutex, pipe, fsync, work, preempt, hog, allocate
 * PRIORITY 0: SCHED_OTHER. The fault is in every 50th cycle. LOG receives a line for each cycle: due time and lateness in ns
 * (of schedules that the program knows), and whether the fault was in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVERY 50
#define WARM_CYCLES 100
#define FAULT_PAGES 1500
#define NS_PER_S 1000000000LL

static const char *fault;
static long long period_ns;
static int priority;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted;
static sem_t taken;
static int pipe_ends[2];
static volatile int sink;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static struct timespec timespec_of(long long ns)
{
	struct timespec time = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	return time;
}

/* Uses the CPU for so long, by this thread's own CPU time. */
static void work(long long ns)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	long long end = time.tv_sec * NS_PER_S + time.tv_nsec + ns;
	do {
		for (int i = 0; i < 500; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	} while (time.tv_sec * NS_PER_S + time.tv_nsec < end);
}

static void set_priority(int wanted_priority)
{
	struct sched_param parameter = { .sched_priority = wanted_priority };
	if (wanted_priority > 0 && pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter))
		fail("SCHED_FIFO");
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("affinity");
}

/* Takes the mutex when told to, and works while it has it. Of lower priority, but above ordinary programs. */
static void *holder(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "holder");
	set_priority(priority > 1 ? priority - 1 : 0);
	for (;;) {
		sem_wait(&wanted);
		pthread_mutex_lock(&lock);
		sem_post(&taken);
		work(2 * period_ns);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* Empties the pipe late. */
static void *reader(void *unused)
{
	static char buffer[1 << 20];
	(void)unused;
	pthread_setname_np(pthread_self(), "reader");
	for (;;) {
		sem_wait(&wanted);
		struct timespec pause = timespec_of(2 * period_ns);
		nanosleep(&pause, NULL);
		if (read(pipe_ends[0], buffer, sizeof(buffer)) < 0)
			fail("pipe");
	}
	return NULL;
}

/* Has a higher priority and the same CPU. */
static void *rival(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "rival");
	set_priority(priority + 1);
	for (;;) {
		sem_wait(&wanted);
		work(2 * period_ns);
	}
	return NULL;
}

/* Uses the CPU all the time. */
static void *hog(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "hog");
	for (;;)
		work(period_ns);
	return NULL;
}

static void start(void *(*thread)(void *))
{
	pthread_t handle;
	pthread_attr_t attributes;
	struct sched_param parameter = { 0 };
	pthread_attr_init(&attributes);
	/* Without the priority of the loop. */
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &parameter);
	if (pthread_create(&handle, &attributes, thread, NULL))
		fail("thread");
}

static void prepare_fault(void)
{
	sem_init(&wanted, 0, 0);
	sem_init(&taken, 0, 0);
	if (!strcmp(fault, "mutex"))
		start(holder);
	if (!strcmp(fault, "preempt"))
		start(rival);
	if (!strcmp(fault, "hog"))
		start(hog);
	if (!strcmp(fault, "pipe")) {
		static char full[1 << 20];
		if (pipe(pipe_ends))
			fail("pipe");
		fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
		while (write(pipe_ends[1], full, 4096) > 0)
			;
		fcntl(pipe_ends[1], F_SETFL, 0);
		start(reader);
	}
}

static void make_fault(void)
{
	if (!strcmp(fault, "work")) {
		work(2 * period_ns);
	} else if (!strcmp(fault, "page-fault")) {
		long page = sysconf(_SC_PAGESIZE);
		char *memory = mmap(NULL, FAULT_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(memory, FAULT_PAGES * page, MADV_NOHUGEPAGE);
		/* As many as take two periods. */
		long long end = now_ns() + 2 * period_ns;
		for (int i = 0; i < FAULT_PAGES && now_ns() < end; i++)
			memory[i * page] = 1;
	} else if (!strcmp(fault, "mutex")) {
		sem_post(&wanted);
		sem_wait(&taken);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	} else if (!strcmp(fault, "pipe")) {
		sem_post(&wanted);
		if (write(pipe_ends[1], "x", 1) != 1)
			fail("write");
		/* Full again for the next time. */
		static char full[1 << 16];
		fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
		while (write(pipe_ends[1], full, 4096) > 0)
			;
		fcntl(pipe_ends[1], F_SETFL, 0);
	} else if (!strcmp(fault, "fsync")) {
		static char block[1 << 20];
		static int file = -1;
		if (file < 0)
			file = open("control.fsync", O_CREAT | O_WRONLY | O_TRUNC, 0600);
		long long end = now_ns() + 2 * period_ns;
		do {
			if (pwrite(file, block, sizeof(block), 0) < 0 || fsync(file))
				fail("fsync");
		} while (now_ns() < end);
	} else if (!strcmp(fault, "preempt")) {
		sem_post(&wanted);
	} else if (!strcmp(fault, "allocate")) {
		long long end = now_ns() + 2 * period_ns;
		while (now_ns() < end) {
			size_t size = 4 << 20;
			char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
			munmap(memory, size);
		}
	}
}

static void ignore(int signal)
{
	(void)signal;
}

struct waiter {
	const char *how;
	int timer, epoll;
	timer_t posix;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
};

static void prepare_waiter(struct waiter *waiter, const char *how, long long first_ns)
{
	struct itimerspec times = { .it_interval = timespec_of(period_ns), .it_value = timespec_of(first_ns) };
	waiter->how = how;
	if (!strcmp(how, "timerfd") || !strcmp(how, "epoll")) {
		waiter->timer = timerfd_create(CLOCK_MONOTONIC, 0);
		timerfd_settime(waiter->timer, TFD_TIMER_ABSTIME, &times, NULL);
	}
	if (!strcmp(how, "epoll")) {
		struct epoll_event event = { .events = EPOLLIN };
		waiter->epoll = epoll_create1(0);
		epoll_ctl(waiter->epoll, EPOLL_CTL_ADD, waiter->timer, &event);
	}
	if (!strcmp(how, "signal")) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		sigprocmask(SIG_BLOCK, &set, NULL);
		signal(SIGALRM, ignore);
		timer_create(CLOCK_MONOTONIC, &event, &waiter->posix);
		timer_settime(waiter->posix, TIMER_ABSTIME, &times, NULL);
	}
	if (!strcmp(how, "condition")) {
		pthread_condattr_t attributes;
		pthread_condattr_init(&attributes);
		pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
		pthread_cond_init(&waiter->condition, &attributes);
		pthread_mutex_init(&waiter->mutex, NULL);
	}
	if (!strcmp(how, "deadline")) {
		struct {
			uint32_t size, policy;
			uint64_t flags;
			int32_t nice;
			uint32_t priority;
			uint64_t runtime, deadline, period;
		} attributes = {
			.size = 48, .policy = 6, .runtime = (uint64_t)period_ns / 2,
			.deadline = (uint64_t)period_ns, .period = (uint64_t)period_ns,
		};
		if (syscall(SYS_sched_setattr, 0, &attributes, 0))
			fail("SCHED_DEADLINE");
	}
}

/* Waits for the time due. Returns the time that is due after it. */
static long long wait_for(struct waiter *waiter, long long due_ns)
{
	struct timespec due = timespec_of(due_ns), period = timespec_of(period_ns);
	uint64_t expiries = 1;
	if (!strcmp(waiter->how, "absolute")) {
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	} else if (!strcmp(waiter->how, "relative")) {
		nanosleep(&period, NULL);
	} else if (!strcmp(waiter->how, "timerfd")) {
		if (read(waiter->timer, &expiries, sizeof(expiries)) < 0)
			fail("timerfd");
	} else if (!strcmp(waiter->how, "epoll")) {
		struct epoll_event event;
		if (epoll_wait(waiter->epoll, &event, 1, -1) < 0 || read(waiter->timer, &expiries, sizeof(expiries)) < 0)
			fail("epoll");
	} else if (!strcmp(waiter->how, "poll")) {
		ppoll(NULL, 0, &period, NULL);
	} else if (!strcmp(waiter->how, "condition")) {
		pthread_mutex_lock(&waiter->mutex);
		while (pthread_cond_timedwait(&waiter->condition, &waiter->mutex, &due) != ETIMEDOUT)
			;
		pthread_mutex_unlock(&waiter->mutex);
	} else if (!strcmp(waiter->how, "signal")) {
		sigset_t set;
		siginfo_t info;
		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		if (sigwaitinfo(&set, &info) == SIGALRM)
			expiries += (uint64_t)timer_getoverrun(waiter->posix);
	} else if (!strcmp(waiter->how, "deadline")) {
		sched_yield();
	} else {
		fprintf(stderr, "unknown way to wait: %s\n", waiter->how);
		exit(2);
	}
	return due_ns + (long long)expiries * period_ns;
}

int main(int argc, char **argv)
{
	struct waiter waiter = { 0 };
	FILE *log;
	if (argc < 6) {
		fprintf(stderr, "control WAIT FAULT PERIOD_US CYCLES PRIORITY [LOG]\n");
		return 2;
	}
	fault = argv[2];
	period_ns = atoll(argv[3]) * 1000;
	long cycles = atol(argv[4]);
	priority = atoi(argv[5]);
	log = argc > 6 ? fopen(argv[6], "w") : NULL;
	struct entry { long long due_ns, late_ns; int faulty; } *entries = calloc((size_t)cycles, sizeof(*entries));
	if (!strcmp(fault, "preempt") || !strcmp(fault, "hog"))
		pin(0);
	prepare_fault();
	set_priority(priority);
	mlockall(MCL_CURRENT);
	long long due_ns = now_ns() + period_ns;
	prepare_waiter(&waiter, argv[1], due_ns);
	for (long cycle = 0; cycle < cycles; cycle++) {
		long long next_ns = wait_for(&waiter, due_ns);
		int faulty = cycle >= WARM_CYCLES && cycle % EVERY == 0;
		entries[cycle] = (struct entry){ next_ns - period_ns, now_ns() - (next_ns - period_ns), faulty };
		due_ns = next_ns;
		work(period_ns / 20);
		if (faulty)
			make_fault();
	}
	for (long cycle = 0; log && cycle < cycles; cycle++)
		fprintf(log, "%lld %lld %d\n", entries[cycle].due_ns, entries[cycle].late_ns, entries[cycle].faulty);
	return log ? fclose(log) : 0;
}
