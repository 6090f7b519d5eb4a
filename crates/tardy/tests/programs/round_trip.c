/*
 * UDP round trips at a period in the simplest way, to compare with `tardy run --probe round-trip`. Any peer that returns what it
 * receives will do. Prints the median and the highest round trip, in ns. Build: cc -O1 -o round_trip round_trip.c
 *
 *   round_trip ADDRESS PORT PERIOD_US COUNT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "periodic.h"

#define MESSAGE_BYTES 48

static int by_value(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "round_trip ADDRESS PORT PERIOD_US COUNT\n");
		return 2;
	}
	long long period_ns = atoll(argv[3]) * 1000;
	size_t count = strtoul(argv[4], NULL, 10), answered = 0;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[2])) };
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		fail(argv[1]);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct timeval patience = { .tv_sec = 1 };
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience))
		fail("socket");
	int64_t *took_ns = calloc(count + 1, sizeof *took_ns);
	if (!took_ns)
		fail("calloc");
	/* As tardy's requests begin, so that `tardy reflect` returns it. */
	char message[MESSAGE_BYTES] = "tardy-rq", answer[256];
	int64_t due_ns = now_ns() + period_ns;
	for (size_t number = 0; number < count; number++, due_ns += period_ns) {
		struct timespec due = timespec_of(due_ns);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		uint32_t sequence = htonl(number);
		memcpy(message + 20, &sequence, sizeof sequence);
		int64_t sent_ns = now_ns();
		if (send(fd, message, sizeof message, 0) < 0)
			continue;
		ssize_t length;
		do
			length = recv(fd, answer, sizeof answer, 0);
		while (length >= 24 && memcmp(answer + 20, &sequence, sizeof sequence));
		if (length >= 24)
			took_ns[answered++] = now_ns() - sent_ns;
	}
	qsort(took_ns, answered, sizeof *took_ns, by_value);
	if (answered == 0)
		fail("no answer");
	printf("%zu %lld %lld\n", answered, (long long)took_ns[answered / 2], (long long)took_ns[answered - 1]);
	free(took_ns);
	return 0;
}
