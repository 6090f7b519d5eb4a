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
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/version.h>

static char *how = "irqsoff";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "how the CPU is occupied: irqsoff, preemptoff, spinlock, hog, hardirq or softirq");

static unsigned int hold_us = 300;
module_param(hold_us, uint, 0444);
MODULE_PARM_DESC(hold_us, "how long the CPU is occupied each time, in us");

static unsigned int every_us = 20000;
module_param(every_us, uint, 0444);
MODULE_PARM_DESC(every_us, "time from the end of one disturbance to the beginning of the next, in us");

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "the CPU that is occupied");

static struct task_struct *task;
static struct hrtimer timer;
static bool has_timer;
static DEFINE_SPINLOCK(lock);

static void spin(void)
{
	u64 end = ktime_get_ns() + (u64)hold_us * NSEC_PER_USEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static void take_the_cpu(void)
{
	unsigned long flags;

	if (!strcmp(how, "irqsoff")) {
		local_irq_save(flags);
		spin();
		local_irq_restore(flags);
	} else if (!strcmp(how, "preemptoff")) {
		preempt_disable();
		spin();
		preempt_enable();
	} else if (!strcmp(how, "spinlock")) {
		spin_lock(&lock);
		spin();
		spin_unlock(&lock);
	} else {
		spin();
	}
}

static int disturb(void *unused)
{
	while (!kthread_should_stop()) {
		ktime_t wait = ns_to_ktime((u64)every_us * NSEC_PER_USEC);

		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&wait, HRTIMER_MODE_REL);
		if (!kthread_should_stop())
			take_the_cpu();
	}
	return 0;
}

static enum hrtimer_restart tardy_disturb_spin(struct hrtimer *of)
{
	spin();
	hrtimer_forward_now(of, ns_to_ktime((u64)every_us * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

/* The function of a thread that is bound to the timer's CPU. */
static int start_timer(void *unused)
{
	enum hrtimer_mode mode = HRTIMER_MODE_REL_PINNED_HARD;

	if (!strcmp(how, "softirq"))
		mode = HRTIMER_MODE_REL_PINNED_SOFT;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&timer, tardy_disturb_spin, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, mode);
	timer.function = tardy_disturb_spin;
#endif
	hrtimer_start(&timer, ns_to_ktime((u64)every_us * NSEC_PER_USEC), mode);
	has_timer = true;
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static int __init tardy_disturb_init(void)
{
	static const char * const known[] = { "irqsoff", "preemptoff", "spinlock", "hog", "hardirq", "softirq" };
	bool by_timer = !strcmp(how, "hardirq") || !strcmp(how, "softirq");

	if (match_string(known, ARRAY_SIZE(known), how) < 0 || !cpu_online(cpu) || !every_us)
		return -EINVAL;
	task = kthread_create(by_timer ? start_timer : disturb, NULL, "disturb-%s", how);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	if (!strcmp(how, "hog"))
		sched_set_fifo(task);
	wake_up_process(task);
	return 0;
}

static void __exit tardy_disturb_exit(void)
{
	kthread_stop(task);
	if (has_timer)
		hrtimer_cancel(&timer);
}

module_init(tardy_disturb_init);
module_exit(tardy_disturb_exit);
MODULE_DESCRIPTION("Occupies a CPU in a chosen way");
MODULE_LICENSE("GPL");
