// SPDX-License-Identifier: GPL-2.0-or-later
/* What the threads of a program do after their wake-ups: a cycle lasts until the system call in which the thread waits again. Keeps the
 * blocks of the cycles that are wanted. */
#include "observer.h"

/* Threads whose wake-ups end at their return to the program. */
enum { WORKERS = 64 };
static struct worker {
	struct task task;
	bool works;
	struct kept wakeup;
	const struct due *wanted;
	struct call latest, before;	/* its system calls since the wake-up; block is 0 if there was none */
} workers[WORKERS];
static unsigned int worker_count;

static struct worker *worker_of(uint64_t task, uint32_t pid)
{
	for (unsigned int i = 0; i < worker_count; i++)
		if (workers[i].task.address == task && workers[i].task.pid == pid)
			return &workers[i];
	return NULL;
}

static struct worker *working(void)
{
	uint64_t task = current_task();
	struct worker *one = worker_of(task, load(task + orders.task_pid, 4));

	return one && one->works ? one : NULL;
}

static const struct due *wanted_cycle(const struct kept *wakeup)
{
	for (unsigned int i = 0; i < wanted_cycles.count; i++)
		if (wanted_cycles.all[i].pid == wakeup->task.pid && wanted_cycles.all[i].expires == wakeup->expires)
			return &wanted_cycles.all[i];
	return NULL;
}

static void end_cycle(struct worker *one, const struct call *call)
{
	static struct kept kept;
	const struct kept *wakeup = &one->wakeup;

	one->works = false;
	if (!call->block)
		return;
	write_response(wakeup, call);
	if (!one->wanted)
		return;
	keep(&kept, wakeup, call->block, call->instructions - wakeup->read_at + wakeup->latency / 2 + orders.before);
	write_cycle(&kept, call, wakeup->end_block);
}

/* Whether the run file says that the cycle ended before this time. Without it, the next wake-up shows which call was the last. */
static bool has_ended(const struct worker *one, uint64_t at) { return one->wanted && one->wanted->ends && at > one->wanted->ends; }

void system_call_began(void)
{
	struct worker *one = working();
	uint64_t at = time_at(now.instructions);

	if (!one)
		return;
	if (has_ended(one, at)) {
		end_cycle(one, &one->latest);
		return;
	}
	one->before = one->latest;
	one->latest = (struct call){ now.blocks - 1, now.instructions, at };
}

void thread_left(void)
{
	struct worker *one = working();

	if (one && has_ended(one, time_at(now.instructions)))
		end_cycle(one, &one->latest);
}

void cycle_began(const struct kept *wakeup)
{
	struct worker *one = worker_of(wakeup->task.address, wakeup->task.pid);

	if (!one) {
		if (worker_count == WORKERS) {
			lost_threads++;
			return;
		}
		one = &workers[worker_count++];
	}
	if (one->works && one->wanted && one->wanted->ends >= time_at(wakeup->read_at))
		return;		/* a sleep within the cycle */
	/* A call that takes the expiry after poll(2) comes after the wake-up. */
	if (one->works)
		end_cycle(one, one->latest.block < wakeup->end_block ? &one->latest : &one->before);
	*one = (struct worker){ .task = wakeup->task, .works = true, .wakeup = *wakeup, .wanted = wanted_cycle(wakeup) };
}
