// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks of instructions, and what their bytes say about them. */
#include <stdlib.h>
#include <string.h>

#include "interface.h"
#include "observer.h"

enum { BUCKETS = 1 << 16 };
static struct block *buckets[BUCKETS];
struct block **by_id;
uint32_t block_count;
static uint32_t block_room;

/* Skips prefixes before an opcode, and REX. */
static const uint8_t *opcode_of(const uint8_t *instruction, size_t *size, bool *repeats)
{
	while (*size > 1 && (*instruction == 0x66 || *instruction == 0x2e || *instruction == 0x3e || *instruction == 0x65 ||
			     *instruction == 0xf2 || *instruction == 0xf3 || (*instruction & 0xf0) == 0x40)) {
		*repeats |= *instruction == 0xf3 || *instruction == 0xf2;
		instruction++, --*size;
	}
	return instruction;
}

/* Where the last instruction leads. */
static void classify_end(struct block *block)
{
	size_t size = block->sizes[block->count - 1];
	bool repeats = false;
	const uint8_t *opcode = opcode_of(block->bytes + block->length - size, &size, &repeats);
	int32_t distance;

	block->target = block->again = block->end;
	switch (*opcode) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3: case 0xeb:
		block->target = block->end + (int8_t)opcode[1];
		break;
	case 0xe8: case 0xe9:
		memcpy(&distance, opcode + 1, 4);
		block->target = block->end + distance;
		break;
	case 0x6c ... 0x6f: case 0xa4 ... 0xa7: case 0xaa ... 0xaf:
		if (repeats)
			block->again = block->end - block->sizes[block->count - 1];
		break;
	case 0xcf:
		block->flags |= LEAVES | RETURNS | TO_USER;
		break;
	case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcc: case 0xcd: case 0xff:
		block->flags |= LEAVES;
		break;
	case 0xf4:
		block->flags |= HALTS;
		break;
	case 0xfb:
		block->flags |= TURNS_ON;
		break;
	case 0x0f:
		if (size > 1 && (opcode[1] & 0xf0) == 0x80) {
			memcpy(&distance, opcode + 2, 4);
			block->target = block->end + distance;
		} else if (opcode[1] == 0x05 || opcode[1] == 0x07 || opcode[1] == 0x0b) {
			block->flags |= LEAVES | (opcode[1] == 0x07 ? TO_USER : 0);
		} else if (opcode[1] == 0x31 || (size > 2 && opcode[1] == 0x01 && opcode[2] == 0xf9)) {
			block->flags |= READS_CLOCK;
		}
		break;
	}
}

/* What its first instruction begins. */
static void classify_start(struct block *block)
{
	for (unsigned int i = 0; i < range_count; i++)
		if (block->start >= ranges[i].from && block->start < ranges[i].to)
			block->flags |= ranges[i].flags;
	if (block->start == orders.hrtimer_wakeup || block->start == orders.timerfd_function ||
	    block->start == orders.signal_function || block->start == orders.deadline_function)
		block->flags |= WAKES;
	if (block->start == orders.timerfd_poll)
		block->flags |= ASKS;
	if (block->start == orders.hrtimer_interrupt)
		block->flags |= FIRES;
	if (block->start == orders.program_timer)
		block->flags |= PROGRAMS;
	if (block->start == orders.switch_to)
		block->flags |= SWITCHES;
	if (block->start == orders.system_call)
		block->flags |= SYSTEM_CALL;
}

enum count_write { NO_WRITE, MAYBE, WRITE };

/* Whether it writes the preemption count: an access by the segment of the CPU's variables, at the count's address, either absolute or
 * relative to the next instruction. An address in a register is not known. Which accesses only read does not matter: afterwards the
 * count is as before. */
static enum count_write writes_count(const uint8_t *instruction, size_t size, uint64_t end)
{
	bool repeats, is_of_cpu = memchr(instruction, 0x65, size < 3 ? size : 3);
	const uint8_t *opcode = opcode_of(instruction, &size, &repeats);
	uint64_t address;
	int32_t distance;

	if (!is_of_cpu || size < 2)
		return NO_WRITE;
	if (*opcode == 0x0f)
		opcode++, size--;
	/* Without a base register: rm = 5, or rm = 4 with a byte 0x25 (Intel SDM volume 2, tables 2-2 and 2-3). */
	if (size >= 6 && (opcode[1] & 0xc7) == 5) {
		memcpy(&distance, opcode + 2, 4);
		address = end + distance;
	} else if (size >= 7 && (opcode[1] & 0xc7) == 4 && opcode[2] == 0x25) {
		memcpy(&distance, opcode + 3, 4);
		address = (int64_t)distance;
	} else {
		return *opcode == 0xff || *opcode == 0x83 || *opcode == 0x81 ? MAYBE : NO_WRITE;
	}
	return address == orders.preempt_count ? WRITE : NO_WRITE;
}

/* Where interrupts and preemption are turned off and on. */
static void classify_sections(struct block *block)
{
	const uint8_t *instruction = block->bytes;
	uint64_t address = block->start;
	enum count_write best = MAYBE;

	for (unsigned int i = 0; i < block->count; i++) {
		size_t size = block->sizes[i];
		enum count_write write = writes_count(instruction, size, address + size);

		if (size == 1 && *instruction == 0xfa && !(block->flags & TURNS_OFF)) {
			block->flags |= TURNS_OFF;
			block->after_off = block->count - i - 1;
		} else if (size == 1 && *instruction == 0x9d) {
			block->flags |= RESTORES;
		} else if (write >= best) {
			best = write;
			block->flags |= COUNTS;
			block->after_count = block->count - i - 1;
		}
		instruction += size;
		address += size;
	}
}

static void classify(struct block *block)
{
	classify_start(block);
	classify_end(block);
	if (!is_user(block->start))
		classify_sections(block);
}

struct block *find_or_add(struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	uint8_t bytes[8192], sizes[512];
	uint32_t length = 0;
	uint64_t start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	struct block **bucket = &buckets[(start ^ start >> 16) & (BUCKETS - 1)], *block;

	if (count > sizeof(sizes))
		fail("a block has too many", "instructions");
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		sizes[i] = qemu_plugin_insn_size(insn);
#if API_VERSION < 3
		memcpy(bytes + length, qemu_plugin_insn_data(insn), sizes[i]);
#else
		qemu_plugin_insn_data(insn, bytes + length, sizes[i]);
#endif
		length += sizes[i];
	}
	for (block = *bucket; block; block = block->next)
		if (block->start == start && block->count == count && block->length == length &&
		    !memcmp(block->bytes, bytes, length))
			return block;
	block = must(aligned_alloc(64, sizeof(*block)));
	memset(block, 0, sizeof(*block));
	block->start = start;
	block->end = start + length;
	block->count = count;
	block->length = length;
	block->sizes = must(malloc(count));
	block->bytes = must(malloc(length));
	memcpy(block->sizes, sizes, count);
	memcpy(block->bytes, bytes, length);
	block->next = *bucket;
	*bucket = block;
	block->id = block_count;
	classify(block);
	if (block_count == block_room) {
		block_room = block_room ? 2 * block_room : 1 << 16;
		by_id = must(realloc(by_id, block_room * sizeof(*by_id)));
	}
	by_id[block_count++] = block;
	return block;
}

uint32_t count_from(const struct block *block, uint64_t address)
{
	uint64_t at = block->start;
	uint32_t done = 0;

	while (done < block->count && at < address)
		at += block->sizes[done++];
	return block->count - done;
}

bool leads_to(const struct block *block, uint64_t address)
{
	return (block->flags & LEAVES) || address == block->end || address == block->target || address == block->again;
}
