// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows the execution from block to block. See observer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interface.h"
#include "observer.h"

#define EXPORT __attribute__((visibility("default")))

enum { WATCHED_BLOCKS = 16, PENDING = 64 };

EXPORT int qemu_plugin_version = API_VERSION;

struct now now;
uint32_t ring[RING];
uint64_t strange;

static struct interrupted pending[PENDING];
static unsigned int pending_at;
struct interrupted returned_from;

void fail(const char *what, const char *which)
{
	fprintf(stderr, "tardy's observer: %s %s\n", what, which);
	exit(1);
}

void *must(void *memory)
{
	if (!memory)
		fail("out of", "memory");
	return memory;
}

struct interrupted *last_interrupted(void) { return &pending[(pending_at - 1) % PENDING]; }

/* Instructions that were counted too many since `at`: a clock that was read since then was read so much earlier too. An interrupt in the
 * handler of an exception wakes a thread and reads the clock; the exception's return comes before the switch. */
static void not_executed(uint64_t count, uint64_t at)
{
	now.instructions -= count;
	if (clocks.at > at)
		clocks.at -= count;
	if (clocks.anchor_at > at)
		clocks.anchor_at -= count;
	if (last_switch_at > at)
		last_switch_at -= count;
}

/* An interrupt comes between blocks. An exception comes within one, and returns to the instruction that caused it. Either can also
 * return to where a block was split (see below). */
static void returned_to(uint64_t address)
{
	returned_from = (struct interrupted){ 0 };
	for (unsigned int i = 1; i <= PENDING; i++) {
		struct interrupted *one = &pending[(pending_at - i) % PENDING];
		const struct block *block = one->block;
		bool is_inside = block && address >= block->start && address < block->end;

		if (!block || (!is_inside && !leads_to(block, address)))
			continue;
		if (is_inside && (one->by_exception || !leads_to(block, address)))
			not_executed(count_from(block, address), one->at);
		returned_from = *one;
		one->block = NULL;
		return;
	}
}

/* QEMU splits a block after an access to a device (cpu_io_recompile() in accel/tcg/translate-all.c). */
static void device_accessed(const struct block *block)
{
	uint32_t later = count_from(now.previous, block->start);

	now.instructions -= later;
	if (!now.has_programs)
		now.previous->in_boot -= later;
	timer_programmed();
}

static enum arrival arrival_at(const struct block *block)
{
	const struct block *previous = now.previous;

	if (block->flags & ENTRY) {
		pending[pending_at++ % PENDING] = (struct interrupted){
			.block = previous, .by_exception = block->flags & EXCEPTION, .at = now.instructions,
		};
		return block->flags & EXCEPTION ? BY_EXCEPTION : BY_INTERRUPT;
	}
	if (previous->flags & RETURNS) {
		returned_to(block->start);
		return RETURNED;
	}
	if (block->start > previous->start && block->start < previous->end) {
		device_accessed(block);
		return SPLIT;
	}
	if (!(previous->flags & LEAVES))
		strange++;
	return FLOW;
}

static void watch(const struct block *block)
{
	if (block->flags & (SYSTEM_CALL | SWITCHES))
		clock_was_read();
	if (block->flags & WAKES)
		timer_fired(block->start);
	if (block->flags & ASKS)
		asks_for_timer();
	if (block->flags & FIRES)
		interrupt_fired();
	if ((block->flags & SYSTEM_CALL) && orders.to_user)
		system_call_began();
	if (block->flags & SWITCHES) {
		look_for_taken();
		if (orders.to_user)
			thread_left();
		switching();
	}
	if (block->flags & PROGRAMS)
		begin_programming();
	if (!(block->flags & READS_CLOCK))
		return;
	if (is_user(block->start)) {
		if (!orders.to_user)
			clock_read(block);
	} else {
		clocks.at = now.instructions + block->count;
		now.watched_until = now.blocks + WATCHED_BLOCKS;
	}
}

static void begin_programs(void)
{
	now.has_programs = true;
	strange = 0;
	if (orders.census)
		begin_census();
}

/* Hot: some 20 million blocks a second. What is not in here happens at few of them. */
static void on_block(unsigned int cpu, void *userdata)
{
	enum { BEFORE = TURNS_OFF | TURNS_ON | RESTORES | HALTS | RETURNS | TO_USER, AT = ENTRY | SYSTEM_CALL | SWITCHES };
	struct block *block = userdata;
	const struct block *previous = now.previous;
	enum arrival arrival = FLOW;

	(void)cpu;
	if (UNLIKELY(block->start != previous->end && block->start != previous->target && block->start != previous->again))
		arrival = arrival_at(block);
	else if (UNLIKELY(block->flags & ENTRY))
		arrival = arrival_at(block);
	if (UNLIKELY(now.blocks < now.watched_until))
		look_for_anchor();
	if (UNLIKELY(!now.has_programs)) {
		if ((previous->flags & TO_USER) && is_user(block->start) && !is_user(previous->start))
			begin_programs();
		else
			block->in_boot += block->count;
	}
	if (UNLIKELY((previous->flags & TO_USER) && orders.to_user) && now.has_programs && is_user(block->start)) {
		returned_to_program(now.instructions, now.blocks);
	}
	if (UNLIKELY(previous->flags & HALTS))
		sleeping();
	if (UNLIKELY((previous->flags & BEFORE) || (block->flags & AT) || *census.count_at != census.count) && census.is_on)
		count_sections(previous, block, arrival);
	ring[now.blocks++ % RING] = block->id;
	if (UNLIKELY(!block->first_period))
		block->first_period = now.period;
	if (UNLIKELY(block->flags & (READS_CLOCK | WAKES | ASKS | FIRES | SWITCHES | PROGRAMS | SYSTEM_CALL)) && now.has_programs)
		watch(block);
	now.instructions += block->count;
	now.previous = block;
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	map_ram();
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, 0, find_or_add(tb));
}

static char *memory_path;

static void on_end(qemu_plugin_id_t id, void *userdata)
{
	(void)id, (void)userdata;
	write_all();
	if (orders.memory && memory_path)
		copy_memory(memory_path);
}

/* QEMU calls it once, before the machine exists. */
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	static struct block nothing = { .flags = LEAVES };
	bool has_file = false;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "orders=", 7))
			read_orders(argv[i] + 7);
		else if (!strncmp(argv[i], "memory=", 7))
			memory_path = must(strdup(argv[i] + 7));
		else if (!strncmp(argv[i], "observed=", 9))
			open_written(argv[i] + 9), has_file = true;
	}
	if (!has_file || !orders.ram_bytes)
		fail("expected", "orders=FILE and observed=FILE");
	now.previous = &nothing;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
