// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Watches an emulated PC from inside QEMU, and writes down how each late wake-up came about.
 *
 * QEMU calls on_block() before every translated block of instructions. The observer adds up the instructions, keeps the last
 * blocks in a ring, and follows from the guest's memory when timers expire and which thread reads the clock. It never writes to
 * the guest: a run with it is the run without it.
 *
 * The interface is that of QEMU's plugins (docs/devel/tcg-plugins.rst). The declarations below are the part that is used, so that
 * no header of a certain version of QEMU is needed. API_VERSION chooses between the two forms of qemu_plugin_insn_data().
 *
 * What to watch is in the file `orders`, written by tardy: addresses of the kernel's symbols and offsets in its structures. What was
 * seen goes to the file `observed`; tardy-microscope/src/observed.rs reads it and describes its format.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef API_VERSION
#define API_VERSION 1
#endif

#define EXPORT __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* ---- QEMU's interface ---- */

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*on_translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*on_executed_t)(unsigned int cpu, void *userdata);
typedef void (*on_end_t)(qemu_plugin_id_t, void *userdata);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translated_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, on_executed_t, int flags, void *userdata);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, on_end_t, void *userdata);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
#if API_VERSION < 3
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
#else
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *to, size_t length);
#endif

EXPORT int qemu_plugin_version = API_VERSION;

/* ---- Orders ---- */

enum { CLOCK_BASES = 8, RANGES_MAX = 256, TARGETS_MAX = 32 };

/* Each is a line "name value" of the orders, the value in hexadecimal. */
static struct orders {
	uint64_t ram_bytes;		/* the guest's memory */
	uint64_t page_tables;		/* physical address of init_top_pgt */
	uint64_t direct_map;		/* virtual address of physical address 0 */
	uint64_t cpu_offset;		/* virtual address of __per_cpu_offset[0] */
	uint64_t current;		/* per-CPU: the running task */
	uint64_t rq_clock;		/* per-CPU: runqueues.clock */
	uint64_t cyc2ns;		/* per-CPU: cyc2ns.data[0] */
	uint64_t sched_clock_offset;	/* virtual address */
	uint64_t hrtimer_bases;		/* per-CPU: hrtimer_bases.clock_base */
	uint64_t clock_base_size;
	uint64_t clock_base_running;	/* in struct hrtimer_clock_base */
	uint64_t timer_expires;		/* in struct hrtimer */
	uint64_t timer_function;	/* in struct hrtimer */
	uint64_t sleeper_task;		/* in struct hrtimer_sleeper */
	uint64_t task_name;		/* in struct task_struct: comm */
	uint64_t task_pid;		/* in struct task_struct */
	uint64_t timekeeper;		/* virtual address of tk_core.timekeeper.tkr_mono */
	uint64_t tk_cycle_last, tk_mult, tk_shift, tk_xtime_nsec, tk_base;	/* in struct tk_read_base */
	uint64_t hrtimer_wakeup;	/* the function */
	uint64_t switch_to;		/* __switch_to_asm */
	uint64_t program_timer;		/* lapic_next_event */
	uint64_t before;		/* instructions to keep from before a timer was due */
} orders;

/* Only threads whose name begins so are observed. */
static char thread_prefix[16];

/* Latencies in ns of which the nearest wake-up is kept, of every thread. */
static uint64_t targets[TARGETS_MAX];
static unsigned int target_count;

/* Wake-ups that are kept, by their number among those of their thread. */
static uint64_t ordinals[TARGETS_MAX];
static unsigned int ordinal_count;

static const struct { const char *name; uint64_t *value; } order_names[] = {
#define ORDER(field) { #field, &orders.field }
	ORDER(ram_bytes), ORDER(page_tables), ORDER(direct_map), ORDER(cpu_offset), ORDER(current), ORDER(rq_clock), ORDER(cyc2ns),
	ORDER(sched_clock_offset), ORDER(hrtimer_bases), ORDER(clock_base_size), ORDER(clock_base_running), ORDER(timer_expires), ORDER(timer_function),
	ORDER(sleeper_task), ORDER(task_name), ORDER(task_pid), ORDER(timekeeper), ORDER(tk_cycle_last), ORDER(tk_mult),
	ORDER(tk_shift), ORDER(tk_xtime_nsec), ORDER(tk_base), ORDER(hrtimer_wakeup), ORDER(switch_to),
	ORDER(program_timer), ORDER(before),
#undef ORDER
};

/* First instructions of interrupts and exceptions: blocks that begin there do not follow from the block before. */
static struct { uint64_t from, to; bool is_exception; } entries[RANGES_MAX];
static unsigned int entry_count;

static FILE *out;

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "tardy's observer: %s %s\n", what, which);
	exit(1);
}

static void add_wanted(const char *name, uint64_t *list, unsigned int *count, uint64_t value)
{
	if (*count == TARGETS_MAX)
		fail("too many orders", name);
	list[(*count)++] = value;
}

static void read_orders(const char *path)
{
	FILE *file = fopen(path, "re");
	char name[64];
	uint64_t value, to;

	if (!file)
		fail("cannot open", path);
	while (fscanf(file, "%63s", name) == 1) {
		bool known = false;

		if (!strcmp(name, "thread")) {
			if (fscanf(file, "%15s", thread_prefix) != 1)
				fail("bad order", name);
			continue;
		}
		if (fscanf(file, "%" SCNx64, &value) != 1)
			fail("bad order", name);
		if (!strcmp(name, "target")) {
			add_wanted(name, targets, &target_count, value);
			continue;
		}
		if (!strcmp(name, "ordinal")) {
			add_wanted(name, ordinals, &ordinal_count, value);
			continue;
		}
		if (!strcmp(name, "interrupt") || !strcmp(name, "exception")) {
			if (fscanf(file, "%" SCNx64, &to) != 1 || entry_count == RANGES_MAX)
				fail("bad order", name);
			entries[entry_count].is_exception = *name == 'e';
			entries[entry_count].from = value;
			entries[entry_count++].to = to;
			continue;
		}
		for (size_t i = 0; i < sizeof(order_names) / sizeof(*order_names); i++) {
			if (!strcmp(name, order_names[i].name)) {
				*order_names[i].value = value;
				known = true;
			}
		}
		if (!known)
			fail("unknown order", name);
	}
	fclose(file);
}

/* ---- The guest's memory ---- */

static const uint8_t *ram;

/* QEMU holds the guest's memory in a file, whose descriptor is the only one of that length. */
static void map_ram(void)
{
	for (int fd = 3; fd < 256 && !ram; fd++) {
		struct stat about;
		void *map;

		if (fstat(fd, &about) || !S_ISREG(about.st_mode) || (uint64_t)about.st_size != orders.ram_bytes)
			continue;
		map = mmap(NULL, orders.ram_bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			ram = map;
	}
	if (!ram)
		fail("cannot find", "the guest's memory");
}

static bool physical(uint64_t address, void *to, size_t length)
{
	if (address >= orders.ram_bytes || length > orders.ram_bytes - address)
		return false;
	memcpy(to, ram + address, length);
	return true;
}

/* Walks the kernel's page tables, four levels, with pages of 4 KiB, 2 MiB and 1 GiB (Intel SDM volume 3, 4.5). */
static bool translate(uint64_t address, uint64_t *to)
{
	uint64_t table = orders.page_tables, entry;

	if (address - orders.direct_map < orders.ram_bytes) {
		*to = address - orders.direct_map;
		return true;
	}
	for (int shift = 39; shift >= 12; shift -= 9) {
		if (!physical(table + ((address >> shift) & 511) * 8, &entry, 8) || !(entry & 1))
			return false;
		table = entry & 0x000ffffffffff000;
		if (shift == 12 || (shift < 39 && (entry & 0x80))) {
			uint64_t inside = (1ull << shift) - 1;

			*to = (table & ~inside) | (address & inside);
			return true;
		}
	}
	return false;
}

/* 0 if the address is not mapped: callers treat that as unknown. */
static uint64_t load(uint64_t address, size_t length)
{
	uint64_t at, value = 0;

	if (translate(address, &at))
		physical(at, &value, length);
	return value;
}

static uint64_t load64(uint64_t address) { return load(address, 8); }

/* Moves early in the boot, and stays from the first program on. */
static bool has_programs;

static uint64_t cpu_base(void)
{
	static uint64_t base;

	if (!base && has_programs)
		base = load64(orders.cpu_offset);
	return base;
}

static uint64_t current_task(void) { return load64(cpu_base() + orders.current); }

/* ---- Blocks ---- */

enum block_flags {
	LEAVES = 1 << 0,	/* ends with a jump whose target is not in the instruction */
	READS_CLOCK = 1 << 1,	/* ends with rdtsc or rdtscp */
	RETURNS = 1 << 2,	/* ends with iretq */
	TO_USER = 1 << 3,	/* ends with iretq or sysretq */
	ENTRY = 1 << 4,		/* begins an interrupt or an exception */
	EXCEPTION = 1 << 5,	/* begins an exception */
	WAKES = 1 << 6,		/* begins hrtimer_wakeup() */
	SWITCHES = 1 << 7,	/* begins __switch_to_asm() */
	PROGRAMS = 1 << 8,	/* begins lapic_next_event() */
};

/* A block of instructions, as QEMU translated it. Blocks of the same bytes at the same address are one. */
struct block {
	uint64_t start, end;
	uint64_t target;	/* of the jump or call at its end, else its end */
	uint64_t again;		/* of the repeated instruction at its end, else its end */
	uint32_t id, count, flags, length;
	uint8_t *sizes;		/* of the instructions */
	uint8_t *bytes;
	struct block *next;
} __attribute__((aligned(64)));

enum { BUCKETS = 1 << 16 };
static struct block *buckets[BUCKETS];
static struct block **by_id;
static uint32_t block_count, block_room;

static bool is_user(uint64_t address) { return address < (1ull << 47); }

static void classify(struct block *block)
{
	const uint8_t *last = block->bytes + block->length - block->sizes[block->count - 1];
	size_t size = block->sizes[block->count - 1];
	const uint8_t *opcode = last;
	bool repeats = false;

	block->target = block->again = block->end;
	while (size > 1 && (*opcode == 0x66 || *opcode == 0x2e || *opcode == 0x3e || *opcode == 0x65 || *opcode == 0xf2 ||
			    *opcode == 0xf3 || (*opcode & 0xf0) == 0x40)) {
		repeats |= *opcode == 0xf3 || *opcode == 0xf2;
		opcode++, size--;
	}
	switch (*opcode) {
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3: case 0xeb:
		block->target = block->end + (int8_t)opcode[1];
		break;
	case 0xe8: case 0xe9: {
		int32_t distance;

		memcpy(&distance, opcode + 1, 4);
		block->target = block->end + distance;
		break;
	}
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
	case 0x0f:
		if (size > 1 && (opcode[1] & 0xf0) == 0x80) {
			int32_t distance;

			memcpy(&distance, opcode + 2, 4);
			block->target = block->end + distance;
		} else if (opcode[1] == 0x05 || opcode[1] == 0x07 || opcode[1] == 0x0b) {
			block->flags |= LEAVES | (opcode[1] == 0x07 ? TO_USER : 0);
		} else if (opcode[1] == 0x31 || (size > 2 && opcode[1] == 0x01 && opcode[2] == 0xf9)) {
			block->flags |= READS_CLOCK;
		}
		break;
	}
	for (unsigned int i = 0; i < entry_count; i++)
		if (block->start >= entries[i].from && block->start < entries[i].to)
			block->flags |= ENTRY | (entries[i].is_exception ? EXCEPTION : 0);
	if (block->start == orders.hrtimer_wakeup)
		block->flags |= WAKES;
	if (block->start == orders.program_timer)
		block->flags |= PROGRAMS;
	if (block->start == orders.switch_to)
		block->flags |= SWITCHES;
}

static void *must(void *memory)
{
	if (!memory)
		fail("out of", "memory");
	return memory;
}

static struct block *find_or_add(struct qemu_plugin_tb *tb)
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

/* Instructions of the block from `address` on. */
static uint32_t count_from(const struct block *block, uint64_t address)
{
	uint64_t at = block->start;
	uint32_t done = 0;

	while (done < block->count && at < address)
		at += block->sizes[done++];
	return block->count - done;
}

/* ---- What was executed ---- */

enum { RING = 1 << 19, WATCHED_BLOCKS = 16, PENDING = 64 };

static struct {
	uint64_t blocks;		/* executed */
	uint64_t instructions;
	uint64_t watched_until;		/* in blocks */
	const struct block *previous;
} now;
static uint32_t ring[RING];
static uint64_t strange;		/* blocks that do not follow from the block before */

/* Blocks that an interrupt or exception followed. How much of them was executed shows when it returns. */
static struct interrupted { const struct block *block; bool by_exception; } pending[PENDING];
static unsigned int pending_at;

static bool leads_to(const struct block *block, uint64_t address)
{
	return (block->flags & LEAVES) || address == block->end || address == block->target || address == block->again;
}

/* An interrupt comes between blocks. An exception comes within one, and returns to the instruction that caused it. Either can also
 * return to where a block was split (see below). */
static void returned_to(uint64_t address)
{
	for (unsigned int i = 1; i <= PENDING; i++) {
		struct interrupted *one = &pending[(pending_at - i) % PENDING];
		const struct block *block = one->block;
		bool is_inside = block && address >= block->start && address < block->end;

		if (!block || (!is_inside && !leads_to(block, address)))
			continue;
		if (is_inside && (one->by_exception || !leads_to(block, address)))
			now.instructions -= count_from(block, address);
		one->block = NULL;
		return;
	}
}

static void timer_programmed(void);

/* QEMU splits a block after an access to a device (cpu_io_recompile() in accel/tcg/translate-all.c). */
static void device_accessed(const struct block *block)
{
	now.instructions -= count_from(now.previous, block->start);
	timer_programmed();
}

static void follows_strangely(const struct block *block)
{
	const struct block *previous = now.previous;

	if (block->flags & ENTRY)
		pending[pending_at++ % PENDING] = (struct interrupted){ previous, block->flags & EXCEPTION };
	else if (previous->flags & RETURNS)
		returned_to(block->start);
	else if (block->start > previous->start && block->start < previous->end)
		device_accessed(block);
	else if (!(previous->flags & LEAVES))
		strange++;
}

/* ---- Clocks ---- */

static struct {
	uint64_t at;			/* instructions at the last reading of the clock in the kernel */
	uint64_t rq_clock;		/* the last value seen */
	uint64_t anchor_at;		/* instructions at the reading that gave rq_clock */
	uint64_t anchor_tsc;		/* its value */
	bool has_anchor;
} clocks;

/* The kernel computes the timer's distance from a reading of the clock, and writes it into the timer a little later: the interrupt
 * comes that much later than it should. In instructions. */
static uint64_t programming_lag;

static bool is_programming;

/* The first access to a device after the beginning of the function that writes the timer. */
static void timer_programmed(void)
{
	if (is_programming)
		programming_lag = now.instructions - clocks.at;
	is_programming = false;
}

static const uint8_t *rq_clock_in_ram(void)
{
	static const uint8_t *at;
	uint64_t address;

	if (!at && has_programs && translate(cpu_base() + orders.rq_clock, &address) && address + 8 <= orders.ram_bytes)
		at = ram + address;
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

static void look_for_anchor(void)
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
	}
}

/* The monotonic clock at this count of instructions, from the last anchor: an instruction takes 2 ns, a tick of the counter 1 ns. */
static uint64_t time_at(uint64_t instructions)
{
	return monotonic_at(clocks.anchor_tsc + 2 * (instructions - clocks.anchor_at));
}

/* ---- Tasks ---- */

struct task {
	uint64_t address;
	uint32_t pid;
	char name[16];
};

static struct task task_at(uint64_t address)
{
	struct task task = { .address = address, .pid = load(address + orders.task_pid, 4) };
	uint64_t at;

	if (translate(address + orders.task_name, &at))
		physical(at, task.name, sizeof(task.name));
	task.name[sizeof(task.name) - 1] = 0;
	return task;
}

/* The last switches between tasks: where in the ring, and from which task. */
enum { SWITCHES_KEPT = 1 << 14 };
static struct switched { uint64_t block; struct task from; } switches[SWITCHES_KEPT];
static uint64_t switch_count;

static void switching(void)
{
	switches[switch_count++ % SWITCHES_KEPT] = (struct switched){ now.blocks, task_at(current_task()) };
}

/* ---- Wake-ups ---- */

/* Tasks that a timer woke and that have not read the clock since. */
enum { WOKEN = 64 };
static struct woken { uint64_t task, expires, lag; } woken[WOKEN];
static unsigned int woken_at;

/* A wake-up whose blocks are kept. */
struct kept {
	struct task task;
	uint64_t expires, latency, lag, read_at, first_block, block_total, switch_total;
	uint32_t *blocks;
	struct switched *switches;
};

/* Of each thread: the latest wake-ups, those nearest to each target, and those with the wanted numbers. More than one, because only
 * tardy knows which of them belong to the warm-up. */
enum { THREADS = 64, LATEST = 8, NEAREST = 4 };
static struct thread {
	uint64_t task, count;
	uint32_t pid;		/* the kernel uses a task's memory again for another */
	struct kept latest[LATEST], nearest[TARGETS_MAX][NEAREST], numbered[TARGETS_MAX];
} threads[THREADS];
static unsigned int thread_count;
static uint64_t wakeups, readings, lost_threads;

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

/* Copies the blocks since `before` instructions before the timer was due, as far as the ring has them. */
static void keep(struct kept *kept, const struct kept *wakeup)
{
	uint64_t wanted = wakeup->latency / 2 + orders.before, have = 0, first = now.blocks, from;

	while (first > 0 && now.blocks - first < RING - 1 && have < wanted)
		have += by_id[ring[--first % RING]]->count;
	free(kept->blocks);
	free(kept->switches);
	*kept = *wakeup;
	kept->first_block = first;
	kept->block_total = now.blocks - first;
	kept->blocks = must(malloc(kept->block_total * sizeof(*kept->blocks) + 1));
	for (uint64_t i = 0; i < kept->block_total; i++)
		kept->blocks[i] = ring[(first + i) % RING];
	from = switch_count;
	while (from > 0 && switch_count - from < SWITCHES_KEPT && switches[(from - 1) % SWITCHES_KEPT].block >= first)
		from--;
	kept->switch_total = switch_count - from;
	kept->switches = must(malloc(kept->switch_total * sizeof(*kept->switches) + 1));
	for (uint64_t i = 0; i < kept->switch_total; i++)
		kept->switches[i] = switches[(from + i) % SWITCHES_KEPT];
}

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* Of equally near ones, the earlier stays. */
static void keep_if_nearer(struct kept *nearest, uint64_t target, const struct kept *wakeup)
{
	struct kept *farthest = nearest;

	for (unsigned int i = 0; i < NEAREST; i++) {
		if (!nearest[i].blocks) {
			keep(&nearest[i], wakeup);
			return;
		}
		if (distance(nearest[i].latency, target) > distance(farthest->latency, target))
			farthest = &nearest[i];
	}
	if (distance(wakeup->latency, target) < distance(farthest->latency, target))
		keep(farthest, wakeup);
}

static void consider(struct thread *thread, const struct kept *wakeup)
{
	struct kept *least = &thread->latest[0];

	for (unsigned int i = 1; i < LATEST; i++)
		if (thread->latest[i].latency < least->latency)
			least = &thread->latest[i];
	if (wakeup->latency > least->latency)
		keep(least, wakeup);
	for (unsigned int i = 0; i < target_count; i++)
		keep_if_nearer(thread->nearest[i], targets[i], wakeup);
	for (unsigned int i = 0; i < ordinal_count; i++)
		if (ordinals[i] == thread->count)
			keep(&thread->numbered[i], wakeup);
}

static void timer_fired(void)
{
	for (int i = 0; i < CLOCK_BASES; i++) {
		uint64_t base = cpu_base() + orders.hrtimer_bases + i * orders.clock_base_size;
		uint64_t timer = load64(base + orders.clock_base_running);

		if (!timer || load64(timer + orders.timer_function) != orders.hrtimer_wakeup)
			continue;
		wakeups++;
		woken[woken_at++ % WOKEN] = (struct woken){
			.task = load64(timer + orders.sleeper_task),
			.expires = load64(timer + orders.timer_expires),
			.lag = programming_lag,
		};
	}
}

static void write_reading(const struct kept *wakeup);

/* A thread reads the clock in user mode, at the end of this block: which is the end of its wake-up. */
static void clock_read(const struct block *block)
{
	uint64_t task = current_task();

	for (unsigned int i = 0; i < WOKEN; i++) {
		struct kept wakeup = { .expires = woken[i].expires, .lag = woken[i].lag, .read_at = now.instructions + block->count };
		struct thread *thread;

		if (!woken[i].task || woken[i].task != task)
			continue;
		woken[i].task = 0;
		wakeup.task = task_at(task);
		if (strncmp(wakeup.task.name, thread_prefix, strlen(thread_prefix)) || !clocks.has_anchor)
			continue;
		readings++;
		wakeup.latency = time_at(wakeup.read_at) - wakeup.expires;
		write_reading(&wakeup);
		thread = thread_of(&wakeup.task);
		if (!thread)
			continue;
		if ((int64_t)wakeup.latency > 0)
			consider(thread, &wakeup);
		thread->count++;
	}
}

/* ---- The file ---- */

enum { HAS_READING = 1, HAS_BLOCK = 2, HAS_WAKEUP = 3, HAS_SUMMARY = 4 };

static void put(uint64_t value, size_t bytes) { fwrite(&value, bytes, 1, out); }

static void put_task(const struct task *task)
{
	put(task->address, 8);
	put(task->pid, 4);
	fwrite(task->name, sizeof(task->name), 1, out);
}

static void write_reading(const struct kept *wakeup)
{
	put(HAS_READING, 1);
	put(wakeup->task.pid, 4);
	put(wakeup->expires, 8);
	put(wakeup->latency, 8);
}

static void write_block(const struct block *block)
{
	put(HAS_BLOCK, 1);
	put(block->start, 8);
	put(block->count, 4);
	put(block->length, 4);
	fwrite(block->sizes, block->count, 1, out);
	fwrite(block->bytes, block->length, 1, out);
}

static void write_wakeup(const struct kept *kept)
{
	if (!kept->blocks)
		return;
	put(HAS_WAKEUP, 1);
	put_task(&kept->task);
	put(kept->expires, 8);
	put(kept->latency, 8);
	put(kept->lag, 4);
	put(kept->block_total, 4);
	fwrite(kept->blocks, sizeof(*kept->blocks), kept->block_total, out);
	put(kept->switch_total, 4);
	for (uint64_t i = 0; i < kept->switch_total; i++) {
		put(kept->switches[i].block - kept->first_block, 4);
		put_task(&kept->switches[i].from);
	}
}

static void write_all(void)
{
	for (uint32_t i = 0; i < block_count; i++)
		write_block(by_id[i]);
	for (unsigned int i = 0; i < thread_count; i++) {
		for (unsigned int j = 0; j < LATEST; j++)
			write_wakeup(&threads[i].latest[j]);
		for (unsigned int j = 0; j < target_count; j++)
			for (unsigned int k = 0; k < NEAREST; k++)
				write_wakeup(&threads[i].nearest[j][k]);
		for (unsigned int j = 0; j < ordinal_count; j++)
			write_wakeup(&threads[i].numbered[j]);
	}
	put(HAS_SUMMARY, 1);
	put(now.blocks, 8);
	put(now.instructions, 8);
	put(strange, 8);
	put(wakeups, 8);
	put(readings, 8);
	put(lost_threads, 8);
	if (fclose(out))
		fail("cannot write", "what was observed");
}

static void watch(const struct block *block)
{
	if (block->flags & WAKES)
		timer_fired();
	if (block->flags & SWITCHES)
		switching();
	if (block->flags & PROGRAMS)
		is_programming = true;
	if (!(block->flags & READS_CLOCK))
		return;
	if (is_user(block->start)) {
		clock_read(block);
	} else {
		clocks.at = now.instructions + block->count;
		now.watched_until = now.blocks + WATCHED_BLOCKS;
	}
}

static void on_block(unsigned int cpu, void *userdata)
{
	const struct block *block = userdata, *previous = now.previous;

	(void)cpu;
	if (UNLIKELY(block->start != previous->end && block->start != previous->target && block->start != previous->again))
		follows_strangely(block);
	else if (UNLIKELY(block->flags & ENTRY))
		follows_strangely(block);
	if (UNLIKELY(now.blocks < now.watched_until))
		look_for_anchor();
	if (UNLIKELY(!has_programs) && (previous->flags & TO_USER) && is_user(block->start) && !is_user(previous->start))
		has_programs = true, strange = 0;
	ring[now.blocks++ % RING] = block->id;
	if (UNLIKELY(block->flags & (READS_CLOCK | WAKES | SWITCHES | PROGRAMS)) && has_programs)
		watch(block);
	now.instructions += block->count;
	now.previous = block;
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	if (!ram)
		map_ram();
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, 0, find_or_add(tb));
}

static void on_end(qemu_plugin_id_t id, void *userdata)
{
	(void)id, (void)userdata;
	write_all();
}

/* QEMU calls it once, before the machine exists. */
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	static const struct block nothing = { .flags = LEAVES };

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "orders=", 7))
			read_orders(argv[i] + 7);
		else if (!strncmp(argv[i], "observed=", 9))
			out = fopen(argv[i] + 9, "we");
	}
	if (!out || !orders.ram_bytes)
		fail("expected", "orders=FILE and observed=FILE");
	now.previous = &nothing;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
