/*
 * A periodic loop, as control programs have it, that waits in a chosen way and makes a chosen fault in some of its cycles. The
 * tests of `tardy attach` watch it. Build: cc -O1 -pthread -o control control.c
 *
 *   control WAIT FAULT PERIOD_US CYCLES PRIORITY [LOG [SEED]]
 *
 * WAIT   absolute, relative, timerfd, epoll, poll, condition, signal, deadline
 * FAULT  none, or one of the faults below, or several with a + in between:
 *        page-fault   touches new pages                     mutex        waits for a mutex whose owner works
 *        pipe         writes to a full pipe                 inversion    the same, and a third thread preempts the owner
 *        fsync        writes and syncs a file               preempt      a thread of higher priority has the CPU
 *        busy         an ordinary thread of low nice value has the CPU, and the loop has a high one
 *        allocate     maps and unmaps memory                work         works longer
 *        calls        makes many short system calls         quota        works until the quota of its cgroup is used up
 *        hog          an ordinary thread has the CPU in every cycle
 *        terminal     writes to a terminal that accepts no more
 *        limit        works for so long that a limit on real-time tasks lets an ordinary thread run
 * PRIORITY 0: SCHED_OTHER. The fault is in every 50th cycle, and takes two periods. LOG receives a line for each cycle: due time
 * and lateness in ns (of schedules that the program knows), and whether the fault was in it; - is none. With a SEED, the place in
 * each 50 cycles, the fault's length, the phase and the length of the work vary. CONTROL_CGROUP in the environment is the directory
 * of the cgroup that the program enters.
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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "periodic.h"

#define EVERY 50
#define WARM_CYCLES 100
#define FAULT_PAGES 3000
#define FAULT_CALLS 20000

static const char *fault;
static long long period_ns;
static int priority;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t holder_wanted, middle_wanted, reader_wanted, rival_wanted, busy_wanted;
static sem_t taken;
static int pipe_ends[2];
static long long fault_ns;
static unsigned int seed;

/* Between `least` and `most` thousandths of `ns`; `ns` without a seed. */
static long long varied(long long ns, int least, int most)
{
	return seed ? ns * (least + rand_r(&seed) % (most - least)) / 1000 : ns;
}

static int has_fault(const char *name)
{
	size_t length = strlen(name);
	for (const char *at = strstr(fault, name); at; at = strstr(at + 1, name))
		if ((at == fault || at[-1] == '+') && (!at[length] || at[length] == '+'))
			return 1;
	return 0;
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

/* Takes the mutex when requested, and works while it has it. Of lower priority, but above ordinary programs. */
static void *holder(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "holder");
	set_priority(priority > 2 ? priority - 2 : 0);
	for (;;) {
		sem_wait(&holder_wanted);
		pthread_mutex_lock(&lock);
		sem_post(&taken);
		work(has_fault("inversion") ? fault_ns / 4 : fault_ns);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* Has a higher priority than the holder, and the same CPU. */
static void *middle(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "middle");
	set_priority(priority > 1 ? priority - 1 : 0);
	for (;;) {
		sem_wait(&middle_wanted);
		work(fault_ns);
	}
	return NULL;
}

/* Writes to the pipe or terminal until the kernel accepts no more. */
static void fill_pipe(void)
{
	static char full[4096];
	fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
	while (write(pipe_ends[1], full, sizeof(full)) > 0)
		;
	fcntl(pipe_ends[1], F_SETFL, 0);
}

/* Empties the pipe or terminal late. */
static void *reader(void *unused)
{
	static char buffer[1 << 20];
	(void)unused;
	pthread_setname_np(pthread_self(), "reader");
	for (;;) {
		sem_wait(&reader_wanted);
		struct timespec pause = timespec_of(fault_ns);
		nanosleep(&pause, NULL);
		/* A terminal returns what it has in pieces. */
		struct pollfd end = { .fd = pipe_ends[0], .events = POLLIN };
		do {
			if (read(pipe_ends[0], buffer, sizeof(buffer)) < 0)
				fail("pipe");
		} while (has_fault("terminal") && poll(&end, 1, 5) > 0);
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
		sem_wait(&rival_wanted);
		work(fault_ns);
	}
	return NULL;
}

/* An ordinary thread that the scheduler prefers among ordinary threads. */
static void *busy(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "busy");
	if (setpriority(PRIO_PROCESS, 0, -20))
		fail("nice");
	for (;;) {
		sem_wait(&busy_wanted);
		work(fault_ns);
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

static void enter_cgroup(void)
{
	const char *directory = getenv("CONTROL_CGROUP");
	char path[256];
	if (!directory)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	FILE *file = fopen(path, "w");
	if (!file || fprintf(file, "%d\n", getpid()) < 0 || fclose(file))
		fail(path);
}

/* A pseudo terminal that passes bytes on unchanged. */
static void open_terminal(void)
{
	struct termios settings;
	pipe_ends[0] = posix_openpt(O_RDWR | O_NOCTTY);
	if (pipe_ends[0] < 0 || grantpt(pipe_ends[0]) || unlockpt(pipe_ends[0]))
		fail("terminal");
	pipe_ends[1] = open(ptsname(pipe_ends[0]), O_RDWR | O_NOCTTY);
	if (pipe_ends[1] < 0 || tcgetattr(pipe_ends[1], &settings))
		fail("terminal");
	cfmakeraw(&settings);
	if (tcsetattr(pipe_ends[1], TCSANOW, &settings))
		fail("terminal");
}

static void prepare_fault(void)
{
	sem_init(&holder_wanted, 0, 0);
	sem_init(&middle_wanted, 0, 0);
	sem_init(&reader_wanted, 0, 0);
	sem_init(&rival_wanted, 0, 0);
	sem_init(&busy_wanted, 0, 0);
	sem_init(&taken, 0, 0);
	if (has_fault("preempt") || has_fault("hog") || has_fault("limit") || has_fault("busy") || has_fault("inversion"))
		pin(0);
	if (has_fault("mutex") || has_fault("inversion"))
		start(holder);
	if (has_fault("inversion"))
		start(middle);
	if (has_fault("preempt"))
		start(rival);
	if (has_fault("busy") || has_fault("limit"))
		start(busy);
	if (has_fault("hog"))
		start(hog);
	if (has_fault("terminal")) {
		open_terminal();
		start(reader);
	}
	if (has_fault("pipe")) {
		if (pipe(pipe_ends))
			fail("pipe");
		start(reader);
	}
}

__attribute__((noinline)) static void write_late(void)
{
	/* More than a terminal's worker can take out of a full one. */
	static char text[1 << 15];
	size_t length = has_fault("terminal") ? sizeof(text) : 1;
	fill_pipe();
	sem_post(&reader_wanted);
	if (write(pipe_ends[1], text, length) != (ssize_t)length)
		fail("write");
}

__attribute__((noinline)) static void wait_for_mutex(void)
{
	sem_post(&holder_wanted);
	sem_wait(&taken);
	if (has_fault("inversion"))
		sem_post(&middle_wanted);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void touch_pages(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, FAULT_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, FAULT_PAGES * page, MADV_NOHUGEPAGE);
	/* As many as take the fault's time. */
	long long end = now_ns() + fault_ns;
	for (int i = 0; i < FAULT_PAGES && now_ns() < end; i++)
		memory[i * page] = 1;
}

__attribute__((noinline)) static void sync_file(void)
{
	static char block[1 << 20];
	static int file = -1;
	if (file < 0)
		file = open("control.fsync", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	long long end = now_ns() + fault_ns;
	do {
		if (pwrite(file, block, sizeof(block), 0) < 0 || fsync(file))
			fail("fsync");
	} while (now_ns() < end);
}

static void allocate(void)
{
	long long end = now_ns() + fault_ns;
	while (now_ns() < end) {
		size_t size = 1 << 20;
		char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		munmap(memory, size);
	}
}

static void make_fault(void)
{
	fault_ns = varied(2 * period_ns, 750, 1500);
	if (has_fault("limit"))
		sem_post(&busy_wanted);
	if (has_fault("work"))
		work(fault_ns);
	if (has_fault("quota"))
		work(2 * fault_ns);
	if (has_fault("limit"))
		work(3 * fault_ns);
	if (has_fault("page-fault"))
		touch_pages();
	if (has_fault("mutex") || has_fault("inversion"))
		wait_for_mutex();
	if (has_fault("pipe") || has_fault("terminal"))
		write_late();
	if (has_fault("fsync"))
		sync_file();
	if (has_fault("allocate"))
		allocate();
	for (int call = 0; call < FAULT_CALLS && has_fault("calls"); call++)
		syscall(SYS_getppid);
	if (has_fault("preempt"))
		sem_post(&rival_wanted);
	if (has_fault("busy"))
		sem_post(&busy_wanted);
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
	if (!strcmp(how, "deadline"))
		set_deadline(period_ns / 2, period_ns);
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
		fprintf(stderr, "control WAIT FAULT PERIOD_US CYCLES PRIORITY [LOG [SEED]]\n");
		return 2;
	}
	fault = argv[2];
	period_ns = atoll(argv[3]) * 1000;
	long cycles = atol(argv[4]);
	priority = atoi(argv[5]);
	log = argc > 6 && strcmp(argv[6], "-") ? fopen(argv[6], "w") : NULL;
	seed = argc > 7 ? (unsigned int)atol(argv[7]) : 0;
	enter_cgroup();
	struct entry { long long due_ns, late_ns; int faulty; } *entries = calloc((size_t)cycles, sizeof(*entries));
	fault_ns = 2 * period_ns;
	prepare_fault();
	mlockall(MCL_CURRENT);
	set_priority(priority);
	if (has_fault("busy") && setpriority(PRIO_PROCESS, 0, 19))
		fail("nice");
	int place = seed ? rand_r(&seed) % EVERY : 0;
	long long due_ns = now_ns() + varied(period_ns, 1000, 2000);
	prepare_waiter(&waiter, argv[1], due_ns);
	for (long cycle = 0; cycle < cycles; cycle++) {
		long long next_ns = wait_for(&waiter, due_ns);
		int faulty = cycle >= WARM_CYCLES && cycle % EVERY == place;
		entries[cycle] = (struct entry){ next_ns - period_ns, now_ns() - (next_ns - period_ns), faulty };
		due_ns = next_ns;
		work(varied(period_ns / 20, 900, 1100));
		if (faulty)
			make_fault();
	}
	for (long cycle = 0; log && cycle < cycles; cycle++)
		fprintf(log, "%lld %lld %d\n", entries[cycle].due_ns, entries[cycle].late_ns, entries[cycle].faulty);
	return log ? fclose(log) : 0;
}
