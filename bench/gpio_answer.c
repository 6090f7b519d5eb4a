// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Answers edges of one GPIO line on another and does nothing else. `tardy run --probe gpio-reaction --answer-by events` is
 * compared with it (docs/performance.md). It reads no clock and records nothing: an instrument, or in the lab the chip's
 * log, measures how long an answer took.
 *
 *	cc -O2 -static -o gpio_answer bench/gpio_answer.c
 *	gpio_answer CHIP IN OUT PRIORITY EDGES [LOG]		as in: gpio_answer /dev/gpiochip0 17 27 80 1000
 *
 * At SCHED_FIFO with PRIORITY, it answers EDGES rising edges of line IN with a short pulse on line OUT. LOG is the file of
 * kernel/pins/tardy_pins.c. If it is given, the time from the rise to the answer of each answered edge is printed
 * afterwards, in ns, one per line.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* A record of the log. */
struct rise {
	uint64_t number, due_ns, raised_ns, answered_ns;
};

static void fail(const char *what)
{
	fprintf(stderr, "gpio_answer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long number(const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most) {
		fprintf(stderr, "gpio_answer: '%s' is not a number from %lu to %lu\n", text, least, most);
		exit(2);
	}
	return value;
}

static int claim(int chip, uint32_t offset, uint64_t flags, const char *what)
{
	struct gpio_v2_line_request request = { .num_lines = 1 };

	request.offsets[0] = offset;
	request.config.flags = flags;
	strcpy(request.consumer, "gpio_answer");
	if (ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request))
		fail(what);
	return request.fd;
}

static void answer(int input, int output, unsigned long edges)
{
	struct gpio_v2_line_values high = { .bits = 1, .mask = 1 }, low = { .bits = 0, .mask = 1 };
	struct gpio_v2_line_event edge;

	while (edges--) {
		if (read(input, &edge, sizeof(edge)) != sizeof(edge))
			fail("read of an edge");
		if (ioctl(output, GPIO_V2_LINE_SET_VALUES_IOCTL, &high) ||
		    ioctl(output, GPIO_V2_LINE_SET_VALUES_IOCTL, &low))
			fail("write of an answer");
	}
}

static void print(int log, const char *path)
{
	struct rise rise;
	uint64_t next = 0;
	ssize_t size;

	while ((size = read(log, &rise, sizeof(rise))) == sizeof(rise)) {
		if (rise.number != next++) {
			fprintf(stderr, "gpio_answer: %s was full; use fewer edges\n", path);
			exit(1);
		}
		if (rise.answered_ns)
			printf("%llu\n", (unsigned long long)(rise.answered_ns - rise.raised_ns));
	}
	if (size)
		fail(path);
}

int main(int count, char **words)
{
	struct sched_param how = { 0 };
	int chip, input, output, log = -1;
	unsigned long edges;

	if (count != 6 && count != 7) {
		fprintf(stderr, "usage: gpio_answer CHIP IN OUT PRIORITY EDGES [LOG]\n");
		return 2;
	}
	how.sched_priority = number(words[4], 1, 99);
	edges = number(words[5], 1, 1000000000);
	chip = open(words[1], O_RDWR | O_CLOEXEC);
	if (chip < 0)
		fail(words[1]);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fail("mlockall");
	if (sched_setscheduler(0, SCHED_FIFO, &how))
		fail("SCHED_FIFO");
	output = claim(chip, number(words[3], 0, UINT32_MAX), GPIO_V2_LINE_FLAG_OUTPUT, "the line to answer on");
	input = claim(chip, number(words[2], 0, UINT32_MAX), GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING,
		      "the line to listen to");
	if (count == 7) {
		log = open(words[6], O_RDONLY | O_CLOEXEC);
		if (log < 0)
			fail(words[6]);
	}
	answer(input, output, edges);
	if (log >= 0)
		print(log, words[6]);
	return 0;
}
