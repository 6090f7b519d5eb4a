/*
 * Three threads that wake one another, as a sensor's, a controller's and a bus's do: the first one has a timer. The tests of
 * `tardy attach` watch it. Build: cc -O1 -pthread -I packaging -o chain chain.c
 *
 *   chain WAY FAULT PERIOD_US CYCLES PRIORITY LOG [sleepers]
 *
 * WAY    pipe: the first wakes the second by a pipe, the second the third by a semaphore; socket: both by UDP to this machine;
 *        condition: both by a condition variable; one: the first thread alone.
 * FAULT  none; control: the second thread works for four periods in every 50th cycle; marker, probe: none, and each cycle of the
 *        second thread (of way one: the first) is marked by trace_marker or by probes.
 * PRIORITY 0: SCHED_OTHER. LOG receives a line for each passage: due time and the time to the end of the third thread's work, in ns.
 * With sleepers, the threads of sleepers.h run as well.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "periodic.h"
#include "sleepers.h"
#include "tardy-marks.h"

#define EVERY 50
#define WARM_CYCLES 100

struct message {
	long long due_ns;
	long cycle;
};

/* How one thread wakes the next. */
struct link {
	int pipe[2], socket;
	struct sockaddr_in address;
	sem_t semaphore;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	struct message message;
	int is_full;
	int by_pipe, by_socket, by_condition;
};

static const char *way, *fault;
static long long period_ns;
static long cycles;
static int priority;
static struct link to_control, to_bus;
static struct message *log_entries;

static void prepare(struct link *link)
{
	if (link->by_pipe && pipe(link->pipe))
		fail("pipe");
	if (link->by_socket) {
		socklen_t length = sizeof(link->address);
		link->socket = socket(AF_INET, SOCK_DGRAM, 0);
		link->address.sin_family = AF_INET;
		link->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (bind(link->socket, (struct sockaddr *)&link->address, length) ||
		    getsockname(link->socket, (struct sockaddr *)&link->address, &length))
			fail("socket");
	}
	sem_init(&link->semaphore, 0, 0);
	pthread_mutex_init(&link->mutex, NULL);
	pthread_cond_init(&link->condition, NULL);
}

static void send_on(struct link *link, struct message message)
{
	if (link->by_pipe) {
		if (write(link->pipe[1], &message, sizeof(message)) < 0)
			fail("write");
	} else if (link->by_socket) {
		if (sendto(link->socket, &message, sizeof(message), 0, (struct sockaddr *)&link->address, sizeof(link->address)) < 0)
			fail("sendto");
	} else if (link->by_condition) {
		pthread_mutex_lock(&link->mutex);
		link->message = message;
		link->is_full = 1;
		pthread_cond_signal(&link->condition);
		pthread_mutex_unlock(&link->mutex);
	} else {
		link->message = message;
		sem_post(&link->semaphore);
	}
}

static struct message receive(struct link *link)
{
	struct message message;
	if (link->by_pipe) {
		if (read(link->pipe[0], &message, sizeof(message)) != sizeof(message))
			fail("read");
	} else if (link->by_socket) {
		if (recv(link->socket, &message, sizeof(message), 0) != sizeof(message))
			fail("recv");
	} else if (link->by_condition) {
		pthread_mutex_lock(&link->mutex);
		while (!link->is_full)
			pthread_cond_wait(&link->condition, &link->mutex);
		link->is_full = 0;
		message = link->message;
		pthread_mutex_unlock(&link->mutex);
	} else {
		sem_wait(&link->semaphore);
		message = link->message;
	}
	return message;
}

static void set_up_thread(const char *name)
{
	struct sched_param parameter = { .sched_priority = priority };
	pthread_setname_np(pthread_self(), name);
	if (priority > 0 && pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter))
		fail("SCHED_FIFO");
}

/* The work that is marked. */
static void control_once(long cycle)
{
	if (!strcmp(fault, "marker"))
		tardy_mark('B', "law");
	if (!strcmp(fault, "probe"))
		TARDY_BEGIN(law);
	work(period_ns / 20);
	if (!strcmp(fault, "control") && cycle >= WARM_CYCLES && cycle % EVERY == 0)
		work(4 * period_ns);
	if (!strcmp(fault, "probe"))
		TARDY_END(law);
	if (!strcmp(fault, "marker"))
		tardy_mark('E', "law");
}

static void *control(void *unused)
{
	(void)unused;
	set_up_thread("control");
	for (;;) {
		struct message message = receive(&to_control);
		control_once(message.cycle);
		send_on(&to_bus, message);
	}
	return NULL;
}

static void *bus(void *unused)
{
	(void)unused;
	set_up_thread("bus");
	for (;;) {
		struct message message = receive(&to_bus);
		work(period_ns / 20);
		log_entries[message.cycle] = (struct message){ message.due_ns, (long)(now_ns() - message.due_ns) };
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc < 7) {
		fprintf(stderr, "chain WAY FAULT PERIOD_US CYCLES PRIORITY LOG [sleepers]\n");
		return 2;
	}
	way = argv[1];
	fault = argv[2];
	period_ns = atoll(argv[3]) * 1000;
	cycles = atol(argv[4]);
	priority = atoi(argv[5]);
	log_entries = calloc((size_t)cycles, sizeof(*log_entries));
	to_control.by_pipe = !strcmp(way, "pipe");
	to_control.by_socket = to_bus.by_socket = !strcmp(way, "socket");
	to_control.by_condition = to_bus.by_condition = !strcmp(way, "condition");
	prepare(&to_control);
	prepare(&to_bus);
	if (argc > 7)
		start_sleepers();
	int is_alone = !strcmp(way, "one");
	if (!is_alone && (pthread_create(&thread, NULL, control, NULL) || pthread_create(&thread, NULL, bus, NULL)))
		fail("thread");
	set_up_thread("sensor");
	mlockall(MCL_CURRENT);
	long long due_ns = now_ns() + period_ns;
	for (long cycle = 0; cycle < cycles; cycle++, due_ns += period_ns) {
		struct timespec due = timespec_of(due_ns);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		if (is_alone) {
			control_once(cycle);
			continue;
		}
		work(period_ns / 20);
		send_on(&to_control, (struct message){ due_ns, cycle });
	}
	sleepers_end = 1;
	struct timespec rest = { .tv_nsec = 50 * 1000 * 1000 };
	nanosleep(&rest, NULL);
	FILE *log = fopen(argv[6], "w");
	for (long cycle = 0; log && cycle < cycles && !is_alone; cycle++)
		if (log_entries[cycle].due_ns)
			fprintf(log, "%lld %ld\n", log_entries[cycle].due_ns, log_entries[cycle].cycle);
	return log ? fclose(log) : 0;
}
