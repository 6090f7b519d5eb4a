// SPDX-License-Identifier: GPL-2.0-only
/*
 * tardy_disturb: occupies a CPU periodically in a chosen way, to test programs that report what delayed a task. It
 * disturbs the machine on purpose: use it only in a lab.
 *
 *	insmod tardy_disturb.ko how=irqsoff hold_us=300 every_us=20000
 *
 * how=irqsoff		a kernel thread spins with interrupts off
 * how=preemptoff	a kernel thread spins with preemption off
 * how=spinlock		a kernel thread without a real-time priority spins with a spinlock held; on PREEMPT_RT that is a mutex
 * how=hog		a kernel thread of SCHED_FIFO priority 50 (sched_set_fifo()) spins
 * how=hardirq		a timer's function spins in its hard interrupt
 * how=softirq		a timer's function spins in the soft interrupt HRTIMER
 *
 * Several, such as how=irqsoff+hog, take turns. With times=N it does so N times, and then prints when the longest spin of each was.
 */
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/version.h>

static char *how = "irqsoff";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "how the CPU is occupied: irqsoff, preemptoff, spinlock, hog, hardirq or softirq, or several with + between");

static unsigned int hold_us = 300;
module_param(hold_us, uint, 0444);
MODULE_PARM_DESC(hold_us, "how long the CPU is occupied each time, in us");

static unsigned int every_us = 20000;
module_param(every_us, uint, 0444);
MODULE_PARM_DESC(every_us, "time from the end of one disturbance to the beginning of the next, in us");

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "the CPU that is occupied");

static unsigned int after_us;
module_param(after_us, uint, 0444);
MODULE_PARM_DESC(after_us, "how much longer it waits before the first disturbance, in us");

static unsigned int times;
module_param(times, uint, 0444);
MODULE_PARM_DESC(times, "after how many turns it stops; 0: never");

static struct task_struct *task;
static struct hrtimer timer;
static DECLARE_COMPLETION(timer_done);
static DEFINE_SPINLOCK(lock);

/* From the first reading of the clock in a spin to the last. */
struct spin { u64 from, to; };
static struct spin last_spin;

static noinline void spin(void)
{
	u64 now = ktime_get_ns(), end = now + (u64)hold_us * NSEC_PER_USEC;

	last_spin.from = now;
	while (now < end) {
		cpu_relax();
		now = ktime_get_ns();
	}
	last_spin.to = now;
}

static noinline void disturb_irqsoff(void)
{
	unsigned long flags;

	local_irq_save(flags);
	spin();
	local_irq_restore(flags);
}

static noinline void disturb_preemptoff(void)
{
	preempt_disable();
	spin();
	preempt_enable();
}

static noinline void disturb_spinlock(void)
{
	spin_lock(&lock);
	spin();
	spin_unlock(&lock);
}

static noinline void disturb_hog(void)
{
	sched_set_fifo(current);
	spin();
	sched_set_normal(current, 0);
}

static enum hrtimer_restart tardy_disturb_spin(struct hrtimer *of)
{
	spin();
	complete(&timer_done);
	return HRTIMER_NORESTART;
}

static void disturb_by_timer(enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&timer, tardy_disturb_spin, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, mode);
	timer.function = tardy_disturb_spin;
#endif
	/* Soon, but when this thread sleeps. */
	hrtimer_start(&timer, ns_to_ktime(50 * NSEC_PER_USEC), mode);
	wait_for_completion(&timer_done);
}

static void disturb_hardirq(void) { disturb_by_timer(HRTIMER_MODE_REL_PINNED_HARD); }
static void disturb_softirq(void) { disturb_by_timer(HRTIMER_MODE_REL_PINNED_SOFT); }

static struct way {
	const char *name;
	void (*disturb)(void);
	bool is_wanted;
	struct spin longest;
} ways[] = {
	{ "irqsoff", disturb_irqsoff },
	{ "preemptoff", disturb_preemptoff },
	{ "spinlock", disturb_spinlock },
	{ "hog", disturb_hog },
	{ "hardirq", disturb_hardirq },
	{ "softirq", disturb_softirq },
};

static bool read_ways(void)
{
	const char *at = how;

	for (;;) {
		size_t length = strcspn(at, "+");
		bool is_known = false;
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(ways); i++) {
			if (strlen(ways[i].name) == length && !strncmp(ways[i].name, at, length))
				is_known = ways[i].is_wanted = true;
		}
		if (!is_known)
			return false;
		if (!at[length])
			return true;
		at += length + 1;
	}
}

static void wait(unsigned int us)
{
	ktime_t time = ns_to_ktime((u64)us * NSEC_PER_USEC);

	set_current_state(TASK_INTERRUPTIBLE);
	schedule_hrtimeout(&time, HRTIMER_MODE_REL);
}

/* Returns false if the thread is to stop. */
static bool take_turns(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		struct way *way = &ways[i];

		if (!way->is_wanted)
			continue;
		wait(every_us);
		if (kthread_should_stop())
			return false;
		way->disturb();
		if (last_spin.to - last_spin.from > way->longest.to - way->longest.from)
			way->longest = last_spin;
	}
	return true;
}

static void print_longest(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		if (ways[i].is_wanted)
			pr_err("tardy_disturb: %s from %llu to %llu ns\n", ways[i].name, ways[i].longest.from, ways[i].longest.to);
}

static int disturb(void *unused)
{
	unsigned int turn;

	if (after_us)
		wait(after_us);
	for (turn = 0; !times || turn < times; turn++)
		if (!take_turns())
			return 0;
	print_longest();
	while (!kthread_should_stop())
		wait(every_us);
	return 0;
}

static int __init tardy_disturb_init(void)
{
	if (!read_ways() || !cpu_online(cpu) || !every_us)
		return -EINVAL;
	task = kthread_create(disturb, NULL, "disturb-%s", how);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	wake_up_process(task);
	return 0;
}

static void __exit tardy_disturb_exit(void)
{
	kthread_stop(task);
}

module_init(tardy_disturb_init);
module_exit(tardy_disturb_exit);
MODULE_DESCRIPTION("Occupies a CPU in a chosen way");
MODULE_LICENSE("GPL");
