// SPDX-License-Identifier: GPL-2.0-or-later
/* Which timer woke which thread, and when the thread read the clock or reached its program. Keeps the blocks of the wake-ups that are
 * wanted. */
#include <stdlib.h>
#include <string.h>

#include "observer.h"

/* Tasks that a timer woke and whose wake-up has not ended since. If the task still worked when the timer expired, it is not known yet,
 * and `timer` is that timer. A soft timer does not expire in the timer's interrupt, but in a soft interrupt or its thread. */
enum { WOKEN = 64 };
static struct woken { uint64_t task, timer, expires, block; bool is_soft; struct programmed programmed; } woken[WOKEN];
static unsigned int woken_at, untaken;

/* Where a wake-up ends. */
struct ending { uint64_t read_at, block, switch_at; };

/* Threads that asked for timers that nothing had taken, in poll(2) or epoll_wait(2), and their return from it. */
enum { ASKERS = 16 };
static struct asker { uint64_t task; struct ending returned; } askers[ASKERS];
static unsigned int askers_at, asking;

/* Of each thread: the latest wake-ups, those nearest to each target, and those with the wanted numbers. More than one, because only
 * tardy knows which of them belong to the warm-up. */
enum { THREADS = 64, LATEST = 8, NEAREST = 4 };
static struct thread {
	uint64_t task, count;
	uint32_t pid;		/* the kernel uses a task's memory again for another */
	struct kept latest[LATEST], nearest[TARGETS_MAX][NEAREST], numbered[ORDINALS_MAX];
} threads[THREADS];
static unsigned int thread_count;
uint64_t wakeups, readings, lost_threads;

static struct thread *thread_of(const struct task *task)
{
	for (unsigned int i = 0; i < thread_count; i++)
		if (threads[i].task == task->address && threads[i].pid == task->pid)
			return &threads[i];
	if (thread_count == THREADS) {
		lost_threads++;
		return NULL;
	}
	threads[thread_count].task = task->address;
	threads[thread_count].pid = task->pid;
	return &threads[thread_count++];
}

void keep(struct kept *kept, const struct kept *wakeup, uint64_t end, uint64_t instructions)
{
	uint64_t have = 0, first = end, from, to = switch_count;

	while (first > 0 && now.blocks - first < RING - 1 && have < instructions)
		have += by_id[ring[--first % RING]]->count;
	free(kept->blocks);
	free(kept->switches);
	*kept = *wakeup;
	kept->first_block = first;
	kept->block_total = end - first;
	kept->blocks = must(malloc(kept->block_total * sizeof(*kept->blocks) + 1));
	for (uint64_t i = 0; i < kept->block_total; i++)
		kept->blocks[i] = ring[(first + i) % RING];
	while (to > 0 && switch_count - to < SWITCHES_KEPT && switches[(to - 1) % SWITCHES_KEPT].block >= end)
		to--;
	from = to;
	while (from > 0 && switch_count - from < SWITCHES_KEPT && switches[(from - 1) % SWITCHES_KEPT].block >= first)
		from--;
	kept->switch_total = to - from;
	kept->switches = must(malloc(kept->switch_total * sizeof(*kept->switches) + 1));
	for (uint64_t i = 0; i < kept->switch_total; i++)
		kept->switches[i] = switches[(from + i) % SWITCHES_KEPT];
}

/* Keeps the wake-up, and as much from before it was due as is wanted. */
static void keep_wakeup(struct kept *kept, const struct kept *wakeup)
{
	keep(kept, wakeup, wakeup->end_block, wakeup->latency / 2 + orders.before);
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* Of equally near ones, the later stay: the earlier may belong to the warm-up, and while nothing else runs many are equal. */
static void keep_if_nearer(struct kept *nearest, uint64_t target, const struct kept *wakeup)
{
	struct kept *least = nearest;

	for (unsigned int i = 0; i < NEAREST; i++) {
		uint64_t of_this = distance(nearest[i].latency, target), of_least = distance(least->latency, target);

		if (!nearest[i].blocks) {
			keep_wakeup(&nearest[i], wakeup);
			return;
		}
		if (of_this > of_least || (of_this == of_least && nearest[i].read_at < least->read_at))
			least = &nearest[i];
	}
	if (distance(wakeup->latency, target) <= distance(least->latency, target))
		keep_wakeup(least, wakeup);
}

static void consider(struct thread *thread, const struct kept *wakeup)
{
	struct kept *least = &thread->latest[0];

	for (unsigned int i = 1; i < LATEST; i++)
		if (thread->latest[i].latency < least->latency)
			least = &thread->latest[i];
	if (wakeup->latency > least->latency)
		keep_wakeup(least, wakeup);
	for (unsigned int i = 0; i < targets.count; i++)
		keep_if_nearer(thread->nearest[i], targets.values[i], wakeup);
	for (unsigned int i = 0; i < ordinals.count; i++)
		if (ordinals.values[i] == thread->count)
			keep_wakeup(&thread->numbered[i], wakeup);
}

/* The bases of soft timers follow those of others, whose interrupts come while a soft timer runs. */
void timer_fired(uint64_t function)
{
	for (int i = 0; i < CLOCK_BASES; i++) {
		uint64_t base = cpu_base() + orders.hrtimer_bases + i * orders.clock_base_size;
		uint64_t timer = load64(base + orders.clock_base_running), task;
		enum wait_kind kind;

		if (!timer || load64(timer + orders.timer_function) != function)
			continue;
		kind = waiting_for(timer, function, &task);
		if (kind == NO_WAIT)
			return;
		wakeups++;
		untaken -= woken[woken_at % WOKEN].timer != 0;
		untaken += kind == WAIT_FOLLOWS;
		woken[woken_at++ % WOKEN] = (struct woken){
			.task = task,
			.timer = kind == WAIT_FOLLOWS ? timer : 0,
			.expires = load64(timer + orders.timer_expires),
			.block = now.blocks - 1,
			.is_soft = i >= CLOCK_BASES / 2,
			.programmed = programmed,
		};
		return;
	}
}

/* A program's wake-ups are wanted by the times at which they were due. */
static void write_if_wanted(const struct kept *wakeup)
{
	static struct kept kept;

	for (unsigned int i = 0; i < wanted_wakeups.count; i++) {
		const struct due *due = &wanted_wakeups.all[i];

		if (due->pid != wakeup->task.pid || due->expires != wakeup->expires)
			continue;
		keep_wakeup(&kept, wakeup);
		write_wakeup(&kept);
		return;
	}
}

static void end_wakeup(struct woken *one, const struct ending *ending)
{
	struct kept wakeup = {
		.task = task_at(one->task),
		.expires = one->expires,
		.woken = one->block,
		.programmed = one->programmed,
		.read_at = ending->read_at,
		.end_block = ending->block,
	};
	struct thread *thread;

	one->task = 0;
	if (strncmp(wakeup.task.name, thread_prefix, strlen(thread_prefix)) || !clocks.has_anchor)
		return;
	readings++;
	wakeup.latency = time_at(wakeup.read_at) - wakeup.expires;
	if (one->is_soft)
		wakeup.programmed = programmed_for(wakeup.expires, one->programmed);
	wakeup.switched = time_at(ending->switch_at) - wakeup.expires;
	write_reading(&wakeup);
	end_period();
	if (orders.to_user) {
		write_if_wanted(&wakeup);
		cycle_began(&wakeup);
		return;
	}
	thread = thread_of(&wakeup.task);
	if (!thread)
		return;
	if ((int64_t)wakeup.latency > 0)
		consider(thread, &wakeup);
	thread->count++;
}

void wakeup_ended(uint64_t instructions, uint64_t end_block)
{
	struct ending ending = { instructions, end_block, last_switch_at };
	uint64_t task = current_task();

	for (unsigned int i = 0; i < WOKEN; i++)
		if (woken[i].task && woken[i].task == task)
			end_wakeup(&woken[i], &ending);
}

/* The return from poll(2) or epoll_wait(2) ends the wake-up, but only the call that takes the expiry shows of which timer. */
void asks_for_timer(void)
{
	struct asker *asker = &askers[askers_at % ASKERS];

	if (!untaken)
		return;
	asking -= asker->task && !asker->returned.block;
	*asker = (struct asker){ .task = current_task() };
	askers_at++, asking++;
}

void returned_to_program(uint64_t instructions, uint64_t end_block)
{
	uint64_t task = current_task();

	look_for_taken();
	for (unsigned int i = 0; asking && i < ASKERS; i++) {
		if (askers[i].task != task || askers[i].returned.block)
			continue;
		askers[i].returned = (struct ending){ instructions, end_block, last_switch_at };
		asking--;
	}
	wakeup_ended(instructions, end_block);
}

static const struct ending *return_of_asker(uint64_t task, uint64_t since_block)
{
	for (unsigned int i = 0; i < ASKERS; i++)
		if (askers[i].task == task && askers[i].returned.block > since_block)
			return &askers[i].returned;
	return NULL;
}

/* What takes the expiry of a periodic timer sets it for the next one. */
void look_for_taken(void)
{
	for (unsigned int i = 0; untaken && i < WOKEN; i++) {
		const struct ending *ending;

		if (!woken[i].timer || load64(woken[i].timer + orders.timer_expires) == woken[i].expires)
			continue;
		woken[i].timer = 0;
		woken[i].task = current_task();
		untaken--;
		ending = return_of_asker(woken[i].task, woken[i].block);
		if (ending)
			end_wakeup(&woken[i], ending);
	}
}

/* The latest reading of the clock in user mode. It ends a wake-up, unless the C library repeats it: the vDSO reads the clock again if an
 * interrupt has changed its data meanwhile (do_hres() in lib/vdso/gettimeofday.c), and the program gets the later time. */
static struct { const struct block *block; uint64_t at, end_block, cycle_last; } reading;

/* What the vDSO's loop executes between two of its readings is less, and a program that asks twice executes more. */
enum { REPEATED_WITHIN = 64 };

static uint64_t cycle_last(void) { return load64(orders.timekeeper + orders.tk_cycle_last); }

void clock_read(const struct block *block)
{
	uint64_t at = now.instructions + block->count;
	bool is_repeated = reading.block == block && (at - reading.at <= REPEATED_WITHIN || reading.cycle_last != cycle_last());

	if (reading.block && !is_repeated)
		return;
	reading.block = block;
	reading.at = at;
	reading.end_block = now.blocks;
	reading.cycle_last = cycle_last();
}

void clock_was_read(void)
{
	if (reading.block)
		wakeup_ended(reading.at, reading.end_block);
	reading.block = NULL;
}

/* The same wake-up can be among the latest and near to several targets. */
static void once(struct kept *kept, uint64_t *seen, unsigned int *seen_count, void (*each)(const struct kept *))
{
	if (!kept->blocks)
		return;
	for (unsigned int i = 0; i < *seen_count; i++)
		if (seen[i] == kept->read_at)
			return;
	seen[(*seen_count)++] = kept->read_at;
	each(kept);
}

void for_each_kept(void (*each)(const struct kept *))
{
	static uint64_t seen[LATEST + TARGETS_MAX * NEAREST + ORDINALS_MAX];

	for (unsigned int i = 0; i < thread_count; i++) {
		unsigned int count = 0;

		for (unsigned int j = 0; j < LATEST; j++)
			once(&threads[i].latest[j], seen, &count, each);
		for (unsigned int j = 0; j < targets.count; j++)
			for (unsigned int k = 0; k < NEAREST; k++)
				once(&threads[i].nearest[j][k], seen, &count, each);
		for (unsigned int j = 0; j < ordinals.count; j++)
			once(&threads[i].numbered[j], seen, &count, each);
	}
}
