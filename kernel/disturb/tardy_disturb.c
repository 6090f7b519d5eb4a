// SPDX-License-Identifier: GPL-2.0-only
/*
 * tardy_disturb: occupies a CPU periodically in chosen ways, to test programs that report what delayed a task. It
 * disturbs the machine on purpose: use it only in a lab.
 *
 *	insmod tardy_disturb.ko how=irqsoff,hog hold_us=300 every_us=20000
 *
 * how=irqsoff		a kernel thread spins with interrupts off
 * how=preemptoff	a kernel thread spins with preemption off
 * how=spinlock		a kernel thread without a real-time priority spins with a spinlock held; on PREEMPT_RT that is a mutex
 * how=hog		a kernel thread of SCHED_FIFO priority 50 (sched_set_fifo()) spins
 * how=hardirq		a timer's function spins in its hard interrupt
 * how=softirq		a timer's function spins in the soft interrupt HRTIMER
 *
 * Several ways share the period: each begins a part of it after the one before.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/version.h>

static const char * const known[] = { "irqsoff", "preemptoff", "spinlock", "hog", "hardirq", "softirq" };

static char *how[ARRAY_SIZE(known)] = { "irqsoff" };
static unsigned int ways_count = 1;
module_param_array(how, charp, &ways_count, 0444);
MODULE_PARM_DESC(how, "how the CPU is occupied: irqsoff, preemptoff, spinlock, hog, hardirq or softirq; or several of them");

static unsigned int hold_us = 300;
module_param(hold_us, uint, 0444);
MODULE_PARM_DESC(hold_us, "how long the CPU is occupied each time, in us");

static unsigned int every_us = 20000;
module_param(every_us, uint, 0444);
MODULE_PARM_DESC(every_us, "time from the beginning of one disturbance to that of the next of the same way, in us");

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "the CPU that is occupied");

/* One way of occupying the CPU: a thread and, where a timer's function does it, the timer that the thread starts. */
struct way {
	const char *how;
	struct task_struct *task;
	struct hrtimer timer;
	bool has_timer;
	ktime_t first;
};

static struct way ways[ARRAY_SIZE(known)];
static DEFINE_SPINLOCK(lock);

static ktime_t period(void)
{
	return ns_to_ktime((u64)every_us * NSEC_PER_USEC);
}

static void spin(void)
{
	u64 end = ktime_get_ns() + (u64)hold_us * NSEC_PER_USEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

/* Each way has a function with a name of its own: reports name functions. */
static noinline void spin_with_interrupts_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	spin();
	local_irq_restore(flags);
}

static noinline void spin_with_preemption_off(void)
{
	preempt_disable();
	spin();
	preempt_enable();
}

static noinline void spin_with_a_lock(void)
{
	spin_lock(&lock);
	spin();
	spin_unlock(&lock);
}

static noinline void spin_in_a_thread(void)
{
	spin();
}

static void take_the_cpu(const char *in_this_way)
{
	if (!strcmp(in_this_way, "irqsoff"))
		spin_with_interrupts_off();
	else if (!strcmp(in_this_way, "preemptoff"))
		spin_with_preemption_off();
	else if (!strcmp(in_this_way, "spinlock"))
		spin_with_a_lock();
	else
		spin_in_a_thread();
}

static int disturb(void *of)
{
	struct way *way = of;
	ktime_t next = way->first;

	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
		if (!kthread_should_stop())
			take_the_cpu(way->how);
		/* Without this, a thread that had to wait for long would make up for what it missed. */
		while (ktime_before(next, ktime_get()))
			next = ktime_add(next, period());
	}
	return 0;
}

static enum hrtimer_restart tardy_disturb_spin(struct hrtimer *of)
{
	spin();
	hrtimer_forward_now(of, period());
	return HRTIMER_RESTART;
}

/* The function of a thread that is bound to the timer's CPU. */
static int start_timer(void *of)
{
	struct way *way = of;
	enum hrtimer_mode mode = HRTIMER_MODE_ABS_PINNED_HARD;

	if (!strcmp(way->how, "softirq"))
		mode = HRTIMER_MODE_ABS_PINNED_SOFT;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&way->timer, tardy_disturb_spin, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(&way->timer, CLOCK_MONOTONIC, mode);
	way->timer.function = tardy_disturb_spin;
#endif
	hrtimer_start(&way->timer, way->first, mode);
	way->has_timer = true;
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static int start(struct way *way)
{
	bool by_timer = !strcmp(way->how, "hardirq") || !strcmp(way->how, "softirq");

	way->task = kthread_create(by_timer ? start_timer : disturb, way, "disturb-%s", way->how);
	if (IS_ERR(way->task))
		return PTR_ERR(way->task);
	kthread_bind(way->task, cpu);
	if (!strcmp(way->how, "hog"))
		sched_set_fifo(way->task);
	wake_up_process(way->task);
	return 0;
}

static void stop(struct way *way)
{
	kthread_stop(way->task);
	if (way->has_timer)
		hrtimer_cancel(&way->timer);
}

static int __init tardy_disturb_init(void)
{
	ktime_t now = ktime_get();
	unsigned int number;

	for (number = 0; number < ways_count; number++)
		if (match_string(known, ARRAY_SIZE(known), how[number]) < 0)
			return -EINVAL;
	if (!cpu_online(cpu) || !every_us || !ways_count)
		return -EINVAL;
	for (number = 0; number < ways_count; number++) {
		struct way *way = &ways[number];
		u64 after_us = every_us + (u64)every_us * number / ways_count;
		int error;

		way->how = how[number];
		way->first = ktime_add_us(now, after_us);
		error = start(way);
		if (error) {
			while (number--)
				stop(&ways[number]);
			return error;
		}
	}
	return 0;
}

static void __exit tardy_disturb_exit(void)
{
	unsigned int number;

	for (number = 0; number < ways_count; number++)
		stop(&ways[number]);
}

module_init(tardy_disturb_init);
module_exit(tardy_disturb_exit);
MODULE_DESCRIPTION("Occupies a CPU in chosen ways");
MODULE_LICENSE("GPL");
