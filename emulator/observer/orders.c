// SPDX-License-Identifier: GPL-2.0-or-later
/* What to watch. Its other side is tardy-microscope/src/orders.rs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "observer.h"

struct orders orders;
char thread_prefix[16];
struct wanted targets, ordinals;
struct wanted_dues wanted_wakeups, wanted_cycles;
struct range ranges[RANGES_MAX];
unsigned int range_count;

static const struct { const char *name; uint64_t *value; } order_names[] = {
#define ORDER(field) { #field, &orders.field }
	ORDER(ram_bytes), ORDER(page_tables), ORDER(direct_map), ORDER(cpu_offset), ORDER(current), ORDER(preempt_count),
	ORDER(scheduler_wanted), ORDER(hard_interrupt), ORDER(rq_clock),
	ORDER(cyc2ns), ORDER(sched_clock_offset), ORDER(hrtimer_bases), ORDER(clock_base_size), ORDER(clock_base_running),
	ORDER(timer_expires), ORDER(timer_function), ORDER(sleeper_task), ORDER(task_name), ORDER(task_pid), ORDER(task_state), ORDER(timekeeper),
	ORDER(tk_cycle_last), ORDER(tk_mult), ORDER(tk_shift), ORDER(tk_xtime_nsec), ORDER(tk_base), ORDER(hrtimer_wakeup),
	ORDER(timerfd_function), ORDER(signal_function), ORDER(deadline_function), ORDER(timerfd_timer), ORDER(timerfd_waiters),
	ORDER(waiter_task), ORDER(waiter_entry), ORDER(waiter_function), ORDER(poll_function), ORDER(poll_task), ORDER(epoll_function),
	ORDER(epoll_entry), ORDER(epoll_item), ORDER(epoll_of_item), ORDER(epoll_waiters), ORDER(timerfd_poll),
	ORDER(signal_timer), ORDER(signal_process), ORDER(process_threads), ORDER(thread_node), ORDER(thread_blocked),
	ORDER(thread_real_blocked), ORDER(signal_pending), ORDER(signal_is_apart), ORDER(signal_number),
	ORDER(deadline_timer), ORDER(deadline_yielded), ORDER(hrtimer_interrupt),
	ORDER(switch_to), ORDER(system_call), ORDER(program_timer), ORDER(before), ORDER(census), ORDER(to_user), ORDER(memory),
#undef ORDER
};

static void add_wanted(const char *name, struct wanted *wanted, unsigned int most, uint64_t value)
{
	if (wanted->count == most)
		fail("too many orders", name);
	wanted->values[wanted->count++] = value;
}

static void add_due(const char *name, FILE *file, uint64_t pid)
{
	struct wanted_dues *wanted = strcmp(name, "cycle") ? &wanted_wakeups : &wanted_cycles;
	struct due due = { .pid = pid };

	if (fscanf(file, "%" SCNx64, &due.expires) != 1)
		fail("bad order", name);
	if (wanted == &wanted_cycles && fscanf(file, "%" SCNx64, &due.ends) != 1)
		fail("bad order", name);
	if (wanted->count == DUES_MAX)
		fail("too many orders", name);
	wanted->all[wanted->count++] = due;
}

/* What the blocks of a range are: interrupts and exceptions do not follow from the block before. */
static const struct { const char *name; uint32_t flags; } range_names[] = {
	{ "interrupt", ENTRY }, { "exception", ENTRY | EXCEPTION }, { "for_caller", FOR_CALLER },
};

static bool add_range(const char *name, FILE *file, uint64_t from)
{
	uint64_t to;

	for (size_t i = 0; i < sizeof(range_names) / sizeof(*range_names); i++) {
		if (strcmp(name, range_names[i].name))
			continue;
		if (fscanf(file, "%" SCNx64, &to) != 1 || range_count == RANGES_MAX)
			fail("bad order", name);
		ranges[range_count++] = (struct range){ from, to, range_names[i].flags };
		return true;
	}
	return false;
}

static void set_order(const char *name, uint64_t value)
{
	for (size_t i = 0; i < sizeof(order_names) / sizeof(*order_names); i++) {
		if (!strcmp(name, order_names[i].name)) {
			*order_names[i].value = value;
			return;
		}
	}
	fail("unknown order", name);
}

void read_orders(const char *path)
{
	FILE *file = fopen(path, "re");
	char name[64];
	uint64_t value;

	if (!file)
		fail("cannot open", path);
	while (fscanf(file, "%63s", name) == 1) {
		if (!strcmp(name, "thread")) {
			if (fscanf(file, "%15s", thread_prefix) != 1)
				fail("bad order", name);
			continue;
		}
		if (fscanf(file, "%" SCNx64, &value) != 1)
			fail("bad order", name);
		if (!strcmp(name, "target"))
			add_wanted(name, &targets, TARGETS_MAX, value);
		else if (!strcmp(name, "ordinal"))
			add_wanted(name, &ordinals, ORDINALS_MAX, value);
		else if (!strcmp(name, "wakeup") || !strcmp(name, "cycle"))
			add_due(name, file, value);
		else if (!add_range(name, file, value))
			set_order(name, value);
	}
	fclose(file);
}
