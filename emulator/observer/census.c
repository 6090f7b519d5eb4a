// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts the sections with interrupts or preemption off, and interrupts.
 *
 * Interrupts are turned off by cli, by the entry of an interrupt, an exception or a system call; and on by sti, and by the return
 * from those. The preemption count is read from the guest's memory. Kernels that turn interrupts on with popf cannot be followed:
 * census.restored shows that.
 */
#include <stdlib.h>
#include <string.h>

#include "observer.h"

/* Bits of the preemption count (include/linux/preempt.h, arch/x86/include/asm/preempt.h). Those of interrupts differ between kernels. */
enum {
	IN_SOFT_INTERRUPT = 0x0000ff00,
	PREEMPTION_IS_OFF = 0x7fffffff,
};
/* Inverted: 0 if the scheduler is wanted. In the count's own word, or in the one after it. */
static const uint32_t SCHEDULER_IS_NOT_WANTED = 0x80000000;

enum context { IN_THREAD, IN_SOFT, IN_HARD };
enum { TABLE = 1 << 15, LATE_ARRIVALS = 64, ARRIVALS = 4096 };

static uint32_t no_count = 0;
struct census census = { .count_at = &no_count, .wanted_at = &no_count };

/* A section that has not ended. */
struct open {
	bool is_open;
	uint64_t from;			/* in instructions */
	uint64_t interrupts;		/* instructions in interrupts before it */
	uint32_t by;			/* the block that opened it */
	enum context context;
};

static struct {
	struct open interrupts_off, preemption_off, interrupt;
	struct open either_off;		/* of a thread: interrupts or preemption */
	bool has_switched;		/* in either_off */
	struct open allowed;		/* since the wanted scheduler may run */
	uint64_t allowed_until;		/* when either_off began, without interrupts */
	uint32_t allowed_until_by;
	uint64_t in_interrupts;		/* instructions in interrupts so far */
	uint64_t turned_on_at, counted_at;	/* the last time that they were turned on */
} state;

/* ---- The table: what came in this period, and before ---- */

static struct table { struct sections slots[TABLE]; uint32_t used[TABLE], count; uint64_t lengths[SECTION_KINDS][LENGTHS]; } *recent, *measured;

static struct sections *slot_of(struct table *table, uint64_t key)
{
	uint64_t at = (key * 0x9e3779b97f4a7c15ull) >> 49;

	while (table->slots[at].is_used && table->slots[at].key != key)
		at = (at + 1) % TABLE;
	if (table->slots[at].is_used)
		return &table->slots[at];
	/* A table that is nearly full would be slow. */
	if (table->count >= TABLE * 7 / 8)
		return NULL;
	table->slots[at] = (struct sections){ .key = key, .is_used = true };
	table->used[table->count++] = at;
	return &table->slots[at];
}

/* Lengths below 8 have a bucket each, and above each power of two has eight. */
static unsigned int bucket_of(uint64_t length)
{
	unsigned int exponent;

	if (length < 8)
		return length;
	exponent = 63 - __builtin_clzll(length);
	return exponent < 42 ? 8 * (exponent - 2) + ((length >> (exponent - 3)) & 7) : LENGTHS - 1;
}

/* The key's parts, from the top: kind (4 bits), context (4), the blocks that opened (28) and closed it (28). */
static void add(enum section_kind kind, const struct open *open, uint32_t closed_by, uint64_t length)
{
	uint64_t key = (uint64_t)kind << 60 | (uint64_t)open->context << 56 | (uint64_t)open->by << 28 | closed_by;
	struct sections *sections = slot_of(recent, key);

	if (!sections) {
		census.lost++;
		return;
	}
	sections->count++;
	sections->total += length;
	recent->lengths[kind][bucket_of(length)]++;
	if (length > sections->longest || sections->count == 1) {
		sections->longest = length;
		sections->longest_at = clocks.has_anchor ? time_at(open->from) : 0;
		sections->task = task_at(current_task());
	}
}

static void end_period_of_arrivals(void);

static void merge(const struct sections *from)
{
	struct sections *to = slot_of(measured, from->key);

	if (!to) {
		census.lost += from->count;
		return;
	}
	if (from->longest > to->longest || !to->count) {
		to->longest = from->longest;
		to->longest_at = from->longest_at;
		to->task = from->task;
	}
	to->count += from->count;
	to->total += from->total;
}

void end_period(void)
{
	now.period++;
	if (!census.is_on)
		return;
	end_period_of_arrivals();
	for (uint32_t i = 0; i < recent->count; i++) {
		struct sections *sections = &recent->slots[recent->used[i]];

		/* What came before the first wake-up is not measured. */
		if (now.period > 1)
			merge(sections);
		sections->is_used = false;
	}
	for (unsigned int kind = 0; kind < SECTION_KINDS; kind++)
		for (unsigned int i = 0; now.period > 1 && i < LENGTHS; i++)
			census.lengths[kind][i] += recent->lengths[kind][i];
	memset(recent->lengths, 0, sizeof(recent->lengths));
	recent->count = 0;
}

void for_each_section(void (*each)(const struct sections *))
{
	for (uint32_t i = 0; i < measured->count; i++)
		each(&measured->slots[measured->used[i]]);
}

/* ---- When interrupts come ---- */

/* Arrivals since the last sleep, at a count of instructions; and those of this period, at their time. */
static struct came { unsigned int vector; uint64_t at; } late_arrivals[LATE_ARRIVALS], arrivals[ARRIVALS];
static unsigned int late_arrival_count, arrival_count;

static void place(unsigned int index, uint64_t at)
{
	struct vector *vector = &census.vectors[index];

	/* The last DISTANCES arrivals, the latest first. */
	for (unsigned int i = 0; i < DISTANCES && i < vector->count; i++)
		if (at - vector->recent[i] < vector->distances[i])
			vector->distances[i] = at - vector->recent[i];
	memmove(vector->recent + 1, vector->recent, (DISTANCES - 1) * sizeof(*vector->recent));
	vector->recent[0] = at;
	vector->count++;
}

static void end_period_of_arrivals(void)
{
	for (unsigned int i = 0; i < arrival_count && now.period > 1; i++)
		place(arrivals[i].vector, arrivals[i].at);
	arrival_count = 0;
}

void place_arrivals(void)
{
	for (unsigned int i = 0; i < late_arrival_count; i++) {
		/* A period with so many is between two phases, and not the end. */
		if (arrival_count == ARRIVALS)
			end_period_of_arrivals();
		arrivals[arrival_count++] = (struct came){ late_arrivals[i].vector, time_at(late_arrivals[i].at) };
	}
	late_arrival_count = 0;
}

static void arrived(const struct block *entry)
{
	unsigned int i = 0;

	while (i < census.vector_count && census.vectors[i].entry != entry->start)
		i++;
	if (i == VECTORS) {
		census.lost++;
		return;
	}
	if (i == census.vector_count) {
		census.vectors[census.vector_count++].entry = entry->start;
		memset(census.vectors[i].distances, 0xff, sizeof(census.vectors[i].distances));
	}
	/* After a sleep, the time is known at the next anchor. */
	if (late_arrival_count == LATE_ARRIVALS)
		place_arrivals();
	late_arrivals[late_arrival_count++] = (struct came){ i, now.instructions };
	if (!clocks.has_slept)
		place_arrivals();
}

/* ---- Sections ---- */

void begin_census(void)
{
	const uint8_t *count = in_ram(cpu_base() + orders.preempt_count, 4);
	const uint8_t *wanted = in_ram(cpu_base() + orders.scheduler_wanted, 4);

	if (!count || !wanted)
		fail("cannot find", "the preemption count");
	census.count_at = (const uint32_t *)count;
	census.wanted_at = (const uint32_t *)wanted;
	census.count = *census.count_at;
	census.is_on = true;
	recent = must(calloc(1, sizeof(*recent)));
	measured = must(calloc(1, sizeof(*measured)));
}

static enum context context(void)
{
	if (census.count & orders.hard_interrupt || state.interrupt.is_open)
		return IN_HARD;
	return census.count & IN_SOFT_INTERRUPT ? IN_SOFT : IN_THREAD;
}

/* The block that called a function that turns off or on for its caller; else the block itself. Interrupts in between are skipped. */
static const struct block *on_behalf_of(const struct block *block)
{
	enum { CALLS_MAX = 4096 };
	unsigned int interrupts = 0;

	if (!(block->flags & FOR_CALLER))
		return block;
	for (uint64_t at = now.blocks; at > 0 && now.blocks - at < CALLS_MAX; at--) {
		const struct block *before = by_id[ring[(at - 1) % RING]];

		if (before->flags & RETURNS)
			interrupts++;
		if (!interrupts && !(before->flags & FOR_CALLER))
			return before;
		if (interrupts && before->flags & ENTRY)
			interrupts--;
	}
	return block;
}

static void open_at(struct open *open, uint64_t from, const struct block *by)
{
	if (!open->is_open)
		*open = (struct open){ true, from, state.in_interrupts, on_behalf_of(by)->id, context() };
}

static void close_at(struct open *open, enum section_kind kind, uint64_t until, const struct block *by)
{
	if (open->is_open)
		add(kind, open, on_behalf_of(by)->id, until > open->from ? until - open->from : 0);
	open->is_open = false;
}

/* Where the block that closes a section is the one that opened it, the order of their moments is not known: it is empty then. */
static uint64_t without_interrupts(const struct open *open, uint64_t until)
{
	uint64_t from = open->from + state.in_interrupts - open->interrupts;

	return until > from ? until - from : 0;
}

static bool scheduler_is_wanted(void) { return !(*census.wanted_at & SCHEDULER_IS_NOT_WANTED); }

static void scheduler_allowed(uint64_t from, const struct block *by)
{
	if (scheduler_is_wanted())
		open_at(&state.allowed, from, by);
	else
		state.allowed.is_open = false;
}

/* Brings either_off up to date. `earliest`: when the last change can have been. */
static void follow_thread(const struct block *by, uint64_t earliest)
{
	bool is_off = state.interrupts_off.is_open || state.preemption_off.is_open;
	struct open *either = &state.either_off;

	if (state.interrupt.is_open || is_off == either->is_open)
		return;
	if (is_off) {
		uint64_t from = UINT64_MAX;

		if (state.interrupts_off.is_open)
			from = state.interrupts_off.from;
		if (state.preemption_off.is_open && state.preemption_off.from < from)
			from = state.preemption_off.from;
		if (from < earliest)
			from = earliest;
		open_at(either, from, by);
		state.has_switched = false;
		state.allowed_until = without_interrupts(&state.allowed, from);
		state.allowed_until_by = on_behalf_of(by)->id;
	} else {
		uint64_t until = state.turned_on_at > state.counted_at ? state.turned_on_at : state.counted_at;

		if (until < earliest)
			until = earliest;
		add(state.has_switched ? SWITCHING : POSTPONED, either, on_behalf_of(by)->id, without_interrupts(either, until));
		either->is_open = false;
		scheduler_allowed(until, by);
	}
}

static void thread_switches(const struct block *block)
{
	if (!state.either_off.is_open || state.has_switched)
		return;
	state.has_switched = true;
	add(TO_SWITCH, &state.either_off, block->id, without_interrupts(&state.either_off, now.instructions));
	if (state.allowed.is_open)
		add(TO_SCHEDULER, &state.allowed, state.allowed_until_by, state.allowed_until);
	state.allowed.is_open = false;
}

static void end_interrupt(const struct block *by, uint64_t at)
{
	if (!state.interrupt.is_open)
		return;
	state.in_interrupts += at - state.interrupt.from;
	close_at(&state.interrupt, INTERRUPT, at, by);
	if (!state.either_off.is_open)
		scheduler_allowed(at, by);
}

static void turn_on(const struct block *by)
{
	state.turned_on_at = now.instructions;
	close_at(&state.interrupts_off, INTERRUPTS_OFF, now.instructions, by);
}

/* The CPU slept, and nobody waits for a section. */
static void slept(const struct block *previous)
{
	close_at(&state.preemption_off, PREEMPTION_OFF, now.instructions, previous);
	if (state.either_off.is_open)
		add(state.has_switched ? SWITCHING : POSTPONED, &state.either_off, previous->id,
		    without_interrupts(&state.either_off, now.instructions));
	state.either_off.is_open = state.allowed.is_open = false;
}

static void follow_count(const struct block *previous)
{
	uint32_t count = *census.count_at;
	uint64_t at = now.instructions - (previous->flags & COUNTS ? previous->after_count : 0);

	if (((count ^ census.count) & PREEMPTION_IS_OFF) && !(previous->flags & COUNTS))
		census.unplaced++;
	census.count = count;
	if (count & PREEMPTION_IS_OFF) {
		open_at(&state.preemption_off, at, previous);
	} else if (state.preemption_off.is_open) {
		state.counted_at = at;
		close_at(&state.preemption_off, PREEMPTION_OFF, at, previous);
	}
}

/* What the end of the block before has changed. */
static void after_block(const struct block *previous, const struct block *block, enum arrival arrival)
{
	bool is_whole = arrival != BY_EXCEPTION && arrival != SPLIT;

	/* Of a block that was executed in part, what comes after is executed again. */
	if (previous->flags & TURNS_OFF && (is_whole || (arrival == SPLIT && count_from(previous, block->start) <= previous->after_off)))
		open_at(&state.interrupts_off, now.instructions - (is_whole ? previous->after_off : 0), previous);
	follow_count(previous);
	if (previous->flags & TURNS_ON && is_whole) {
		turn_on(previous);
		/* What an interrupt does after its end, with interrupts on, is its thread's: softirqs, and the scheduler. */
		if (!(census.count & orders.hard_interrupt))
			end_interrupt(previous, now.instructions);
	}
	if (is_user(block->start) && !is_user(previous->start)) {
		turn_on(previous);
		end_interrupt(previous, now.instructions);
	} else if (previous->flags & TO_USER && (arrival == BY_INTERRUPT || arrival == BY_EXCEPTION)) {
		/* Before the first instruction after the return. */
		turn_on(previous);
		end_interrupt(previous, now.instructions);
	} else if (arrival == RETURNED) {
		if (!returned_from.had_interrupts_off)
			turn_on(previous);
		if (!returned_from.by_exception)
			end_interrupt(previous, now.instructions);
	}
}

/* What the beginning of the block changes. */
static void before_block(const struct block *block, enum arrival arrival)
{
	if (arrival == BY_INTERRUPT || arrival == BY_EXCEPTION)
		last_interrupted()->had_interrupts_off = state.interrupts_off.is_open;
	if (arrival == BY_INTERRUPT) {
		census.contradictions += state.interrupts_off.is_open;
		open_at(&state.interrupt, now.instructions, block);
		arrived(block);
	}
	if (arrival == BY_INTERRUPT || arrival == BY_EXCEPTION || block->flags & SYSTEM_CALL)
		open_at(&state.interrupts_off, now.instructions, block);
	if (census.count & PREEMPTION_IS_OFF)
		open_at(&state.preemption_off, now.instructions, block);
	if (block->flags & SWITCHES)
		thread_switches(block);
}

void count_sections(const struct block *previous, const struct block *block, enum arrival arrival)
{
	after_block(previous, block, arrival);
	follow_thread(previous, now.instructions - previous->count);
	if (previous->flags & HALTS)
		slept(previous);
	before_block(block, arrival);
	follow_thread(block, now.instructions);
	census.restored += previous->flags & RESTORES && !is_user(previous->start);
}
