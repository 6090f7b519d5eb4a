// SPDX-License-Identifier: GPL-2.0-or-later
/* Ties the count of instructions to the guest's monotonic clock. */
#include <string.h>

#include "observer.h"

struct clocks clocks;
struct programmed programmed;
struct slept sleeps[SLEEPS_KEPT];
uint64_t sleep_count;

/* The first sleep since the clock was read: where, and when it began. */
static uint64_t sleep_number, sleep_at, sleep_from;

static bool is_programming;

/* The timer's interrupts since the CPU slept, and how the timer was programmed for each. */
enum { FIRED = 16 };
static struct { uint64_t at; struct programmed programmed; } fired[FIRED];
static uint64_t fired_count;

void begin_programming(void) { is_programming = true; }

void timer_programmed(void)
{
	if (is_programming) {
		programmed.lag = now.instructions - clocks.at;
		programmed.from = clocks.has_anchor && !clocks.has_slept ? time_at(clocks.at) : 0;
	}
	is_programming = false;
}

void interrupt_fired(void)
{
	fired[fired_count % FIRED].at = now.instructions;
	fired[fired_count++ % FIRED].programmed = programmed;
}

void sleeping(void)
{
	if (clocks.has_anchor && !clocks.has_slept) {
		sleep_number = sleep_count;
		sleep_at = now.instructions;
		sleep_from = time_at(now.instructions);
	}
	sleeps[sleep_count++ % SLEEPS_KEPT] = (struct slept){ .block = now.blocks };
	clocks.has_slept = true;
	fired_count = 0;
}

struct programmed programmed_for(uint64_t expires, struct programmed otherwise)
{
	for (uint64_t i = fired_count > FIRED ? fired_count - FIRED : 0; i < fired_count; i++)
		if ((int64_t)(time_at(fired[i % FIRED].at) - expires) >= 0)
			return fired[i % FIRED].programmed;
	return otherwise;
}

static const uint8_t *rq_clock_in_ram(void)
{
	static const uint8_t *at;

	if (!at && now.has_programs)
		at = in_ram(cpu_base() + orders.rq_clock, 8);
	return at;
}

/* The value of the time stamp counter that became this rq->clock: native_sched_clock() in arch/x86/kernel/tsc.c, and
 * sched_clock_cpu() in kernel/sched/clock.c. */
static bool tsc_of(uint64_t ns, uint64_t *tsc)
{
	uint64_t at = cpu_base() + orders.cyc2ns, mul = load(at, 4), shift = load(at + 4, 4), offset = load64(at + 8);

	if (!mul || shift > 63)
		return false;
	ns -= load64(orders.sched_clock_offset);
	*tsc = (uint64_t)((((unsigned __int128)(ns - offset) << shift) + mul - 1) / mul);
	return true;
}

/* The time of the monotonic clock at a value of the time stamp counter (kernel/time/timekeeping.c). */
static uint64_t monotonic_at(uint64_t tsc)
{
	uint64_t at = orders.timekeeper, cycle_last = load64(at + orders.tk_cycle_last), nsec = load64(at + orders.tk_xtime_nsec);
	uint64_t mult = load(at + orders.tk_mult, 4), shift = load(at + orders.tk_shift, 4), base = load64(at + orders.tk_base);

	return base + (((int64_t)(tsc - cycle_last) * (int64_t)mult + (int64_t)nsec) >> shift);
}

void look_for_anchor(void)
{
	const uint8_t *at = rq_clock_in_ram();
	uint64_t value;

	if (!at)
		return;
	memcpy(&value, at, 8);
	if (value != clocks.rq_clock) {
		clocks.rq_clock = value;
		clocks.anchor_at = clocks.at;
		clocks.has_anchor = tsc_of(value, &clocks.anchor_tsc);
		if (clocks.has_slept && clocks.has_anchor && sleep_from)
			sleeps[sleep_number % SLEEPS_KEPT].ns = time_at(sleep_at) - sleep_from;
		clocks.has_slept = false;
		place_arrivals();
	}
}

uint64_t time_at(uint64_t instructions)
{
	return monotonic_at(clocks.anchor_tsc + 2 * (instructions - clocks.anchor_at));
}
