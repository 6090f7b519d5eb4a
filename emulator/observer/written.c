// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of what was observed. */
#include <stdio.h>

#include "observer.h"

static FILE *out;

enum { HAS_READING = 1, HAS_BLOCK = 2, HAS_WAKEUP = 3, HAS_SUMS = 4, HAS_SECTIONS = 5, HAS_VECTOR = 6, HAS_LENGTHS = 7, HAS_RESPONSE = 8,
       HAS_CYCLE = 9 };

void open_written(const char *path)
{
	out = fopen(path, "we");
	if (!out)
		fail("cannot open", path);
}

static void put(uint64_t value, size_t bytes) { fwrite(&value, bytes, 1, out); }

static void put_task(const struct task *task)
{
	put(task->address, 8);
	put(task->pid, 4);
	fwrite(task->name, sizeof(task->name), 1, out);
}

static void put_times(const struct kept *kept)
{
	put(kept->expires, 8);
	put(kept->latency, 8);
	put(kept->programmed.lag, 4);
	put(kept->programmed.from, 8);
	put(kept->switched, 8);
}

void write_reading(const struct kept *wakeup)
{
	put(HAS_READING, 1);
	put(wakeup->task.pid, 4);
	put_times(wakeup);
}

static void write_block(const struct block *block)
{
	put(HAS_BLOCK, 1);
	put(block->start, 8);
	put(block->first_period && block->first_period < now.period, 1);
	put(block->in_boot, 8);
	put(block->count, 4);
	put(block->length, 4);
	fwrite(block->sizes, block->count, 1, out);
	fwrite(block->bytes, block->length, 1, out);
}

void write_response(const struct kept *wakeup, const struct call *call)
{
	put(HAS_RESPONSE, 1);
	put(wakeup->task.pid, 4);
	put(wakeup->expires, 8);
	put(call->at - wakeup->expires, 8);
}

static void put_wakeup(const struct kept *kept)
{
	put_task(&kept->task);
	put_times(kept);
	put(kept->block_total, 4);
	fwrite(kept->blocks, sizeof(*kept->blocks), kept->block_total, out);
	put(kept->woken - kept->first_block, 4);
	put(kept->switch_total, 4);
	for (uint64_t i = 0; i < kept->switch_total; i++) {
		put(kept->switches[i].block - kept->first_block, 4);
		put_task(&kept->switches[i].from);
		put(kept->switches[i].is_blocked, 1);
	}
}

void write_wakeup(const struct kept *kept)
{
	put(HAS_WAKEUP, 1);
	put_wakeup(kept);
}

static void put_sleeps(uint64_t first_block, uint64_t end)
{
	uint64_t to = sleep_count, from;

	while (to > 0 && sleep_count - to < SLEEPS_KEPT && sleeps[(to - 1) % SLEEPS_KEPT].block >= end)
		to--;
	for (from = to; from > 0 && sleep_count - from < SLEEPS_KEPT && sleeps[(from - 1) % SLEEPS_KEPT].block >= first_block;)
		from--;
	put(to - from, 4);
	for (; from < to; from++) {
		put(sleeps[from % SLEEPS_KEPT].block - first_block, 4);
		put(sleeps[from % SLEEPS_KEPT].ns, 8);
	}
}

void write_cycle(const struct kept *kept, const struct call *call, uint64_t returned_block)
{
	put(HAS_CYCLE, 1);
	put_wakeup(kept);
	put(call->at - kept->expires, 8);
	put(returned_block - kept->first_block, 4);
	put_sleeps(kept->first_block, call->block);
}

static void write_sections(const struct sections *sections)
{
	put(HAS_SECTIONS, 1);
	put(sections->key, 8);
	put(sections->count, 8);
	put(sections->total, 8);
	put(sections->longest, 8);
	put(sections->longest_at, 8);
	put_task(&sections->task);
}

static void write_lengths(void)
{
	for (unsigned int kind = 0; kind < SECTION_KINDS; kind++) {
		put(HAS_LENGTHS, 1);
		put(kind, 1);
		fwrite(census.lengths[kind], sizeof(census.lengths[kind]), 1, out);
	}
}

static void write_vector(const struct vector *vector)
{
	put(HAS_VECTOR, 1);
	put(vector->entry, 8);
	put(vector->count, 8);
	fwrite(vector->distances, sizeof(vector->distances), 1, out);
}

static void write_census(void)
{
	for_each_section(write_sections);
	write_lengths();
	for (unsigned int i = 0; i < census.vector_count; i++)
		write_vector(&census.vectors[i]);
}

static void write_sums(void)
{
	put(HAS_SUMS, 1);
	put(now.blocks, 8);
	put(now.instructions, 8);
	put(strange, 8);
	put(wakeups, 8);
	put(readings, 8);
	put(lost_threads, 8);
	put(census.contradictions, 8);
	put(census.restored, 8);
	put(census.unplaced, 8);
	put(census.lost, 8);
}

void write_all(void)
{
	for (uint32_t i = 0; i < block_count; i++)
		write_block(by_id[i]);
	for_each_kept(write_wakeup);
	if (census.is_on)
		write_census();
	write_sums();
	if (fclose(out))
		fail("cannot write", "what was observed");
}
