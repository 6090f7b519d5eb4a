/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches an emulated PC from inside QEMU, and writes down how each late wake-up came about, and which sections had interrupts or
 * preemption off.
 *
 * QEMU calls on_block() (observer.c) before every translated block of instructions. The observer adds up the instructions, keeps the
 * last blocks in a ring, and follows from the guest's memory when timers expire and which thread reads the clock. It never writes to
 * the guest: a run with it is the run without it.
 *
 * What to watch is in the file `orders`, written by tardy: addresses of the kernel's symbols and offsets in its structures. What was
 * seen goes to the file `observed`; tardy-microscope/src/observed.rs reads it and describes its format.
 */
#ifndef OBSERVER_H
#define OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

_Noreturn void fail(const char *what, const char *which);
void *must(void *memory);

/* ---- orders.c ---- */

enum { CLOCK_BASES = 8, RANGES_MAX = 256, TARGETS_MAX = 256, ORDINALS_MAX = 4096, DUES_MAX = 1 << 16 };

/* Each is a line "name value" of the orders, the value in hexadecimal. */
struct orders {
	uint64_t ram_bytes;		/* the guest's memory */
	uint64_t page_tables;		/* physical address of init_top_pgt */
	uint64_t direct_map;		/* virtual address of physical address 0 */
	uint64_t cpu_offset;		/* virtual address of __per_cpu_offset[0] */
	uint64_t current;		/* per-CPU: the running task */
	uint64_t preempt_count;		/* per-CPU */
	uint64_t scheduler_wanted;	/* per-CPU: the word with that bit of the preemption count */
	uint64_t hard_interrupt;	/* the bits of the preemption count that are set in interrupts */
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
	uint64_t task_state;		/* in struct task_struct: 0 if the task is ready to run */
	uint64_t timekeeper;		/* virtual address of tk_core.timekeeper.tkr_mono */
	uint64_t tk_cycle_last, tk_mult, tk_shift, tk_xtime_nsec, tk_base;	/* in struct tk_read_base */
	uint64_t hrtimer_wakeup;	/* the function */
	/* Functions of timers that a program waits for otherwise; 0 if they are not observed. The offsets are in bytes, but for deadline_yielded. */
	uint64_t timerfd_function, signal_function, deadline_function;
	uint64_t timerfd_timer, timerfd_waiters;		/* in struct timerfd_ctx: its timer, the list of its wait queue */
	uint64_t waiter_task, waiter_entry, waiter_function;	/* in struct wait_queue_entry */
	/* What wakes a thread in poll(2) and in epoll_wait(2); 0 if that is not observed. */
	uint64_t poll_function, epoll_function;
	uint64_t poll_task;					/* in struct poll_wqueues */
	uint64_t epoll_entry, epoll_item;			/* in struct eppoll_entry: the wait_queue_entry, a pointer to the item */
	uint64_t epoll_of_item;					/* in struct epitem: a pointer to the struct eventpoll */
	uint64_t epoll_waiters;					/* in struct eventpoll: the list of its wait queue */
	uint64_t timerfd_poll;					/* the function that poll and epoll ask */
	uint64_t signal_timer, signal_process;			/* in struct k_itimer: its timer, the struct signal_struct */
	uint64_t process_threads;				/* in struct signal_struct: the list of threads */
	uint64_t signal_pending;				/* in struct k_itimer: the struct sigqueue, or a pointer to it */
	uint64_t signal_is_apart;				/* whether it is a pointer */
	uint64_t signal_number;					/* in struct sigqueue */
	uint64_t thread_node, thread_blocked, thread_real_blocked;	/* in struct task_struct */
	uint64_t deadline_timer, deadline_yielded;		/* in struct task_struct; of the second, bits */
	uint64_t hrtimer_interrupt;	/* the function */
	uint64_t switch_to;		/* __switch_to_asm */
	uint64_t system_call;		/* entry_SYSCALL_64 */
	uint64_t program_timer;		/* lapic_next_event */
	uint64_t before;		/* instructions to keep from before a timer was due */
	uint64_t census;		/* whether to count sections with interrupts or preemption off */
	uint64_t to_user;		/* whether a wake-up ends when the thread reaches its program, instead of when it reads the clock there */
	uint64_t memory;		/* whether to copy the guest's memory at the end */
};
extern struct orders orders;

/* Only threads whose name begins so are observed; empty: all. */
extern char thread_prefix[16];

/* Latencies in ns of which the nearest wake-up is kept, of every thread; and wake-ups that are kept, by their number among those of their
 * thread. */
struct wanted { uint64_t values[ORDINALS_MAX]; unsigned int count; };
extern struct wanted targets, ordinals;

/* Of a program's threads: wake-ups that are kept, and whole cycles, by their thread and the time at which they were due. */
struct due { uint64_t pid, expires, ends; };
struct wanted_dues { struct due all[DUES_MAX]; unsigned int count; };
extern struct wanted_dues wanted_wakeups, wanted_cycles;

/* Addresses, and the flags of the blocks that begin there (enum block_flags). */
struct range { uint64_t from, to; uint32_t flags; };
extern struct range ranges[RANGES_MAX];
extern unsigned int range_count;

void read_orders(const char *path);

/* ---- guest_memory.c ---- */

void map_ram(void);
/* Where a virtual address of the kernel lies in QEMU's own memory; NULL if it is not mapped. */
const uint8_t *in_ram(uint64_t address, size_t length);
/* 0 if the address is not mapped: callers treat that as unknown. */
uint64_t load(uint64_t address, size_t length);
uint64_t load64(uint64_t address);
/* Where the CPU's variables are. 0 before the first program: they move early in the boot, and stay from then on. */
uint64_t cpu_base(void);
void copy_memory(const char *path);

/* ---- blocks.c ---- */

enum block_flags {
	LEAVES = 1 << 0,	/* ends with a jump whose target is not in the instruction */
	READS_CLOCK = 1 << 1,	/* ends with rdtsc or rdtscp */
	RETURNS = 1 << 2,	/* ends with iretq */
	TO_USER = 1 << 3,	/* ends with iretq or sysretq */
	ENTRY = 1 << 4,		/* begins an interrupt or an exception */
	EXCEPTION = 1 << 5,	/* begins an exception */
	WAKES = 1 << 6,		/* begins a timer's function that wakes threads, such as hrtimer_wakeup() */
	SWITCHES = 1 << 7,	/* begins __switch_to_asm() */
	PROGRAMS = 1 << 8,	/* begins lapic_next_event() */
	SYSTEM_CALL = 1 << 9,	/* begins a system call */
	TURNS_OFF = 1 << 10,	/* contains cli */
	TURNS_ON = 1 << 11,	/* ends with sti */
	RESTORES = 1 << 12,	/* contains popf */
	COUNTS = 1 << 13,	/* contains a write to the preemption count */
	HALTS = 1 << 14,	/* ends with hlt */
	FOR_CALLER = 1 << 15,	/* of a function that turns off or on for its caller, such as _raw_spin_lock_irqsave() */
	FIRES = 1 << 16,	/* begins hrtimer_interrupt() */
	ASKS = 1 << 17,		/* begins timerfd_poll() */
};

/* A block of instructions, as QEMU translated it. Blocks of the same bytes at the same address are one. */
struct block {
	uint64_t start, end;
	uint64_t target;	/* of the jump or call at its end, else its end */
	uint64_t again;		/* of the repeated instruction at its end, else its end */
	uint32_t id, flags;
	uint16_t count;
	uint16_t after_off;	/* instructions after the first cli */
	uint16_t after_count;	/* instructions after the last write to the preemption count */
	uint16_t length;
	uint64_t in_boot;	/* instructions of it that were executed before the first program */
	uint64_t first_period;	/* the period in which it was executed first, see struct now */
	uint8_t *sizes;		/* of the instructions */
	uint8_t *bytes;
	struct block *next;
} __attribute__((aligned(64)));

extern struct block **by_id;
extern uint32_t block_count;

static inline bool is_user(uint64_t address) { return address < (1ull << 47); }

struct qemu_plugin_tb;
struct block *find_or_add(struct qemu_plugin_tb *);
/* Instructions of the block from `address` on. */
uint32_t count_from(const struct block *, uint64_t address);
bool leads_to(const struct block *, uint64_t address);

/* ---- observer.c ---- */

enum { RING = 1 << 22 };

struct now {
	uint64_t blocks;		/* executed */
	uint64_t instructions;
	uint64_t watched_until;		/* in blocks */
	/* Periods end with the wake-ups of the observed threads. What is executed in period 0, before the first, and in the last, after
	 * all, is not measured. */
	uint64_t period;
	struct block *previous;
	bool has_programs;
};
extern struct now now;
extern uint32_t ring[RING];
extern uint64_t strange;		/* blocks that do not follow from the block before */

/* How a block came to be executed. */
enum arrival {
	FLOW,
	BY_INTERRUPT,
	BY_EXCEPTION,		/* the block before was executed in part */
	RETURNED,		/* from an interrupt or exception of the kernel */
	SPLIT,			/* the block before was executed up to this one */
};

/* A block that an interrupt or exception followed. How much of it was executed shows when it returns. */
struct interrupted {
	const struct block *block;
	bool by_exception, had_interrupts_off;
	uint64_t at;		/* in instructions, with all of the block's */
};
struct interrupted *last_interrupted(void);
/* Of the last arrival that was RETURNED; without a block if it is not known what was interrupted. */
extern struct interrupted returned_from;

/* ---- clocks.c ---- */

extern struct clocks {
	uint64_t at;			/* instructions at the last reading of the clock in the kernel */
	uint64_t rq_clock;		/* the last value seen */
	uint64_t anchor_at;		/* instructions at the reading that gave rq_clock */
	uint64_t anchor_tsc;		/* its value */
	bool has_anchor;
	bool has_slept;			/* since the anchor: time has passed without instructions */
} clocks;

void look_for_anchor(void);
/* The monotonic clock at this count of instructions, from the last anchor: an instruction takes 2 ns, a tick of the counter 1 ns. */
uint64_t time_at(uint64_t instructions);

/* The kernel computes the timer's distance from a reading of the clock, and writes it into the timer a little later: the interrupt
 * comes that much later than it should. */
extern struct programmed {
	uint64_t lag;			/* in instructions */
	uint64_t from;			/* the time of that reading; 0 if it is not known */
} programmed;
void begin_programming(void);
/* The first access to a device after the beginning of the function that writes the timer. */
void timer_programmed(void);
/* The timer's interrupt looks for timers that are due. */
void interrupt_fired(void);
/* The CPU sleeps: time passes without instructions. */
void sleeping(void);
/* Sleeps of the CPU: the block that follows, and how long it slept. Of several without a reading of the clock in between, the first has
 * the time of all. */
struct slept { uint64_t block, ns; };
enum { SLEEPS_KEPT = 1 << 14 };
extern struct slept sleeps[SLEEPS_KEPT];
extern uint64_t sleep_count;
/* How the timer was programmed whose interrupt was the first after this time; `otherwise` if that is not known. */
struct programmed programmed_for(uint64_t expires, struct programmed otherwise);

/* ---- tasks.c ---- */

struct task {
	uint64_t address;
	uint32_t pid;
	char name[16];
};

uint64_t current_task(void);
struct task task_at(uint64_t address);

/* A switch between tasks: where in the ring, from which task, and whether that one waits for something. */
struct switched { uint64_t block; struct task from; bool is_blocked; };
enum { SWITCHES_KEPT = 1 << 14 };
extern struct switched switches[SWITCHES_KEPT];
extern uint64_t switch_count;
extern uint64_t last_switch_at;		/* in instructions */
void switching(void);

/* ---- timers.c ---- */

enum wait_kind {
	NO_WAIT,	/* no thread waits for it */
	WAITS,		/* a thread does */
	WAIT_FOLLOWS,	/* the thread still works, and will wait for it */
};

/* Who waits for the timer, when its function begins. */
enum wait_kind waiting_for(uint64_t timer, uint64_t function, uint64_t *task);

/* ---- wakeups.c ---- */

/* A wake-up whose blocks are kept. */
struct kept {
	struct task task;
	uint64_t expires, latency, read_at;
	struct programmed programmed;
	uint64_t switched;		/* ns from the time that it was due to the last switch */
	uint64_t first_block, end_block, block_total, switch_total;	/* end_block follows the last one */
	uint64_t woken;			/* the block that begins the function of this timer */
	uint32_t *blocks;
	struct switched *switches;
};

extern uint64_t wakeups, readings, lost_threads;
/* Copies the blocks of the last instructions before `end`, as far as the ring has them, and the switches among them. */
void keep(struct kept *, const struct kept *wakeup, uint64_t end, uint64_t instructions);
/* A timer's function begins. */
void timer_fired(uint64_t function);
/* The running thread may have taken what a timer left for it that expired before. */
void look_for_taken(void);
/* The running thread asks whether a timer has expired. */
void asks_for_timer(void);
/* The running thread has read the clock in user mode, which is the end of its wake-up. `end_block` follows the last block. */
void wakeup_ended(uint64_t instructions, uint64_t end_block);
/* It has reached user mode, which is that end if orders.to_user. */
void returned_to_program(uint64_t instructions, uint64_t end_block);
/* `block` reads the clock in user mode. */
void clock_read(const struct block *block);
/* A system call or a switch: the clock is not read again. */
void clock_was_read(void);
void for_each_kept(void (*each)(const struct kept *));

/* ---- cycles.c ---- */

/* The beginning of a system call. */
struct call { uint64_t block, instructions, at; };	/* `at` in ns */

/* A wake-up of a program's thread has ended, and its cycle begins. `end_block` follows the wake-up's last block. */
void cycle_began(const struct kept *wakeup);
/* The running thread begins a system call. */
void system_call_began(void);
/* It leaves the CPU. */
void thread_left(void);

/* ---- census.c ---- */

enum section_kind {
	INTERRUPTS_OFF,
	PREEMPTION_OFF,
	INTERRUPT,		/* a device's or the timer's, from its entry to its end */
	/* The terms of de Oliveira's model (docs/explain.md). Without the interrupts in them. */
	POSTPONED,		/* a thread has either off, and does not switch */
	SWITCHING,		/* a thread has either off, and switches */
	TO_SWITCH,		/* the beginning of SWITCHING, up to the switch */
	TO_SCHEDULER,		/* from where a wanted switch is allowed to the beginning of SWITCHING */
	SECTION_KINDS,
};

enum { LENGTHS = 320, DISTANCES = 32, VECTORS = 32 };

/* All sections of a kind that were opened and closed by the same blocks in the same context. */
struct sections {
	uint64_t key, count, total, longest, longest_at;	/* lengths in instructions, the time in ns */
	struct task task;					/* of the longest */
	bool is_used;
};

/* When an interrupt came: distances[n] is the shortest time in ns in which n + 2 of them came. */
struct vector {
	uint64_t entry, count, distances[DISTANCES], recent[DISTANCES];
};

struct census {
	bool is_on;
	const uint32_t *count_at, *wanted_at;	/* words of the preemption count, in QEMU's memory */
	uint32_t count;
	uint64_t contradictions;	/* interrupts that came while they were off */
	uint64_t restored;		/* executions of popf in the kernel */
	uint64_t unplaced;		/* changes of the preemption count by instructions that are not known */
	uint64_t lost;			/* sections that there was no room for */
	uint64_t lengths[SECTION_KINDS][LENGTHS];
	struct vector vectors[VECTORS];
	unsigned int vector_count;
};
extern struct census census;

void begin_census(void);
void count_sections(const struct block *previous, const struct block *block, enum arrival);
/* What came since the last period's end belongs to the measurement. */
void end_period(void);
/* The clock has an anchor again: interrupts since the last sleep get their time. */
void place_arrivals(void);
void for_each_section(void (*each)(const struct sections *));

/* ---- written.c ---- */

void open_written(const char *path);
void write_reading(const struct kept *);
void write_wakeup(const struct kept *);
/* The cycle after a wake-up ended with this call. */
void write_response(const struct kept *, const struct call *);
/* The same with the blocks of both. */
void write_cycle(const struct kept *, const struct call *, uint64_t returned_block);
void write_all(void);

#endif
