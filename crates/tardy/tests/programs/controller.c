/*
 * A periodic loop that writes what happens to it to a log, a line for each signal, and ends by itself when the file END exists.
 * The tests of `tardy exec` demand that nothing that goes wrong in tardy reaches it. Build: cc -O1 -o controller controller.c
 *
 *   controller LOG END
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 2000000

static int log_file;

static void note(const char *line)
{
	if (write(log_file, line, strlen(line)) < 0)
		_exit(3);
}

static void on_signal(int signal)
{
	note(signal == SIGINT ? "INT\n" : signal == SIGTERM ? "TERM\n" : signal == SIGHUP ? "HUP\n" : "other\n");
}

int main(int argc, char **argv)
{
	struct timespec due;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	if (argc < 3)
		return 2;
	log_file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGPIPE, &action, NULL);
	note("started\n");
	clock_gettime(CLOCK_MONOTONIC, &due);
	while (access(argv[2], F_OK)) {
		due.tv_nsec += PERIOD_NS;
		if (due.tv_nsec >= 1000000000) {
			due.tv_nsec -= 1000000000;
			due.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
	note("ended\n");
	return 0;
}
