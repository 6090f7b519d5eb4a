// SPDX-License-Identifier: GPL-2.0-only
/*
 * tardy_pins: a GPIO chip driven by a timer, with a log of the edges as an oscilloscope would show them. For a lab
 * without real pins.
 *
 *	insmod tardy_pins.ko period_us=1000 dither_us=200 seed=1
 *
 * Line 0, "stimulus", is an input. A timer, whose function runs in hard interrupt context, raises it once per period and
 * lowers it half a period later. Line 1, "answer", can be an output; as with most chips it remains an output until it is
 * made an input again. Line 2, "echo", is an input that is wired to line 1.
 *
 * With period_us=0 the timer does not drive line 0 by itself. Line 0 is then driven by line 3, "drive", an output that is
 * wired to it, or by a PWM controller with one channel, which uses the same timer (Linux 6.9 and newer). An edge over a
 * wire causes an interrupt like an external edge: immediately, or as soon as interrupts are enabled.
 *
 * /dev/tardy_pins is the log. It has one record of four 64-bit words for each rising edge of line 0, in the processor's
 * byte order. Times are in ns on CLOCK_MONOTONIC:
 *
 *	0	the number of the edge, from 0 since the log was opened
 *	1	when the timer was programmed to raise line 0; if line 3 drives it, when line 3 was written
 *	2	when the timer's function raised line 0; if line 3 drives it, the same as word 1
 *	3	when line 1 was raised next; 0 if line 0 was raised again first
 *
 * Opening the device clears the log. If the log was full, the numbers of its records have a gap. The time from word 1 to
 * word 2 is the latency of the interrupt, including the time in which interrupts were disabled. gpiolib's time stamps do
 * not include that time, because they are taken in the interrupt handler.
 */
#include <linux/gpio/driver.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/kfifo.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/prandom.h>
#include <linux/pwm.h>
#include <linux/random.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#define STIMULUS	0
#define ANSWER		1
#define ECHO		2
#define DRIVE		3
#define LINES		4
#define RECORDS		8192

static unsigned int period_us = 1000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "period of line 0, in us; 0: line 3 or the PWM drives it");

static unsigned int dither_us;
module_param(dither_us, uint, 0444);
MODULE_PARM_DESC(dither_us, "maximum random delay of each rising edge, in us; less than half a period");

static unsigned int seed = 1;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "seed of the random delays");

struct tardy_pins_record {
	u64 number;
	u64 due_ns;
	u64 raised_ns;
	u64 answered_ns;
};

static struct {
	struct platform_device *device;
	struct gpio_chip chip;
	struct hrtimer timer;
	struct irq_work wires;
	struct rnd_state random;
	/* Protects the fields below. Raw, because the timer's function runs in hard interrupt context on every kernel. */
	raw_spinlock_t lock;
	ktime_t grid;
	bool high[LINES];
	bool is_output[LINES];
	/* The period of line 0, and how long it is high in each period. */
	u64 period_ns;
	u64 high_ns;
	/* The edges of each line that cause an interrupt: IRQ_TYPE_EDGE_*. */
	unsigned int wanted[LINES];
	/* Edges that came over a wire and have not caused an interrupt yet. */
	unsigned int came[LINES];
	bool pending;
	u64 number;
	struct tardy_pins_record rise;
	DECLARE_KFIFO(log, struct tardy_pins_record, RECORDS);
} pins;

static const char *const line_names[LINES] = { "stimulus", "answer", "echo", "drive" };

/* Called with the lock held: the pending rise is over. */
static void log_rise(u64 answered_ns)
{
	pins.rise.answered_ns = answered_ns;
	pins.pending = false;
	/* A full log drops the record, so its number is missing. */
	kfifo_put(&pins.log, pins.rise);
}

/* Called with the lock held: line 0 rises. */
static void begin_rise(u64 due_ns, u64 raised_ns)
{
	if (pins.pending)
		log_rise(0);
	pins.rise.number = pins.number++;
	pins.rise.due_ns = due_ns;
	pins.rise.raised_ns = raised_ns;
	pins.pending = true;
}

/* The interrupt of an edge on a wire. */
static void interrupt_by_wires(struct irq_work *work)
{
	unsigned int offset, edge;

	for (offset = 0; offset < LINES; offset++) {
		unsigned long flags;
		unsigned int edges;

		raw_spin_lock_irqsave(&pins.lock, flags);
		edges = pins.came[offset] & pins.wanted[offset];
		pins.came[offset] = 0;
		raw_spin_unlock_irqrestore(&pins.lock, flags);
		for (edge = IRQ_TYPE_EDGE_RISING; edge <= IRQ_TYPE_EDGE_FALLING; edge <<= 1)
			if (edges & edge)
				generic_handle_domain_irq(pins.chip.irq.domain, offset);
	}
}

/* Called with the lock held: the other end of the wire at this line has changed. */
static void come_over_wire(unsigned int offset, bool high)
{
	unsigned int edge = high ? IRQ_TYPE_EDGE_RISING : IRQ_TYPE_EDGE_FALLING;

	if (pins.high[offset] == high)
		return;
	pins.high[offset] = high;
	if (pins.wanted[offset] & edge) {
		pins.came[offset] |= edge;
		irq_work_queue(&pins.wires);
	}
}

static enum hrtimer_restart tardy_pins_drive(struct hrtimer *timer)
{
	bool rises, wanted;
	unsigned long flags;

	raw_spin_lock_irqsave(&pins.lock, flags);
	rises = !pins.high[STIMULUS];
	pins.high[STIMULUS] = rises;
	if (rises) {
		begin_rise(ktime_to_ns(hrtimer_get_expires(timer)), ktime_get_ns());
		hrtimer_set_expires(timer, ktime_add_ns(pins.grid, pins.high_ns));
	} else {
		u64 dither_ns = dither_us ? prandom_u32_state(&pins.random) % (dither_us * NSEC_PER_USEC) : 0;

		/* Periods that passed while interrupts were off are skipped: a line that is high cannot rise. */
		do
			pins.grid = ktime_add_ns(pins.grid, pins.period_ns);
		while (ktime_before(pins.grid, ktime_get()));
		hrtimer_set_expires(timer, ktime_add_ns(pins.grid, dither_ns));
	}
	wanted = pins.wanted[STIMULUS] & (rises ? IRQ_TYPE_EDGE_RISING : IRQ_TYPE_EDGE_FALLING);
	raw_spin_unlock_irqrestore(&pins.lock, flags);

	if (wanted)
		generic_handle_domain_irq(pins.chip.irq.domain, STIMULUS);
	return HRTIMER_RESTART;
}

static int tardy_pins_get(struct gpio_chip *chip, unsigned int offset)
{
	return READ_ONCE(pins.high[offset]);
}

static void write_line(unsigned int offset, int value)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&pins.lock, flags);
	if (offset == ANSWER) {
		if (value && !pins.high[ANSWER] && pins.pending)
			log_rise(ktime_get_ns());
		come_over_wire(ECHO, value);
	} else if (offset == DRIVE) {
		if (value && !pins.high[STIMULUS]) {
			u64 now_ns = ktime_get_ns();

			begin_rise(now_ns, now_ns);
		}
		come_over_wire(STIMULUS, value);
	}
	pins.high[offset] = value;
	raw_spin_unlock_irqrestore(&pins.lock, flags);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static int tardy_pins_set(struct gpio_chip *chip, unsigned int offset, int value)
{
	write_line(offset, value);
	return 0;
}
#else
static void tardy_pins_set(struct gpio_chip *chip, unsigned int offset, int value)
{
	write_line(offset, value);
}
#endif

static int tardy_pins_direction(struct gpio_chip *chip, unsigned int offset)
{
	return READ_ONCE(pins.is_output[offset]) ? GPIO_LINE_DIRECTION_OUT : GPIO_LINE_DIRECTION_IN;
}

static int tardy_pins_input(struct gpio_chip *chip, unsigned int offset)
{
	/* The line has no pull-up. */
	if (READ_ONCE(pins.is_output[offset])) {
		WRITE_ONCE(pins.is_output[offset], false);
		write_line(offset, 0);
	}
	return 0;
}

static int tardy_pins_output(struct gpio_chip *chip, unsigned int offset, int value)
{
	if (offset != ANSWER && (offset != DRIVE || period_us))
		return -EINVAL;
	WRITE_ONCE(pins.is_output[offset], true);
	write_line(offset, value);
	return 0;
}

static void tardy_pins_mask(struct irq_data *data)
{
	gpiochip_disable_irq(&pins.chip, irqd_to_hwirq(data));
}

static void tardy_pins_unmask(struct irq_data *data)
{
	gpiochip_enable_irq(&pins.chip, irqd_to_hwirq(data));
}

static int tardy_pins_set_type(struct irq_data *data, unsigned int type)
{
	if (type & IRQ_TYPE_LEVEL_MASK)
		return -EINVAL;
	WRITE_ONCE(pins.wanted[irqd_to_hwirq(data)], type & IRQ_TYPE_EDGE_BOTH);
	return 0;
}

static const struct irq_chip tardy_pins_irq_chip = {
	.name = "tardy-pins",
	.irq_mask = tardy_pins_mask,
	.irq_unmask = tardy_pins_unmask,
	.irq_set_type = tardy_pins_set_type,
	.flags = IRQCHIP_IMMUTABLE,
	GPIOCHIP_IRQ_RESOURCE_HELPERS,
};

static int tardy_pins_open(struct inode *inode, struct file *file)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&pins.lock, flags);
	kfifo_reset(&pins.log);
	pins.pending = false;
	pins.number = 0;
	raw_spin_unlock_irqrestore(&pins.lock, flags);
	return nonseekable_open(inode, file);
}

static ssize_t tardy_pins_read(struct file *file, char __user *to, size_t size, loff_t *unused)
{
	struct tardy_pins_record record;
	size_t done = 0;

	while (done + sizeof(record) <= size) {
		unsigned long flags;
		bool any;

		raw_spin_lock_irqsave(&pins.lock, flags);
		any = kfifo_get(&pins.log, &record);
		raw_spin_unlock_irqrestore(&pins.lock, flags);
		if (!any)
			break;
		if (copy_to_user(to + done, &record, sizeof(record)))
			return -EFAULT;
		done += sizeof(record);
	}
	return done;
}

static const struct file_operations tardy_pins_log = {
	.owner = THIS_MODULE,
	.open = tardy_pins_open,
	.read = tardy_pins_read,
};

static struct miscdevice tardy_pins_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "tardy_pins",
	.fops = &tardy_pins_log,
	.mode = 0400,
};

static void start_timer(u64 period_ns, u64 high_ns)
{
	pins.period_ns = period_ns;
	pins.high_ns = high_ns;
	pins.grid = ktime_add_ns(ktime_get(), period_ns);
	hrtimer_start(&pins.timer, pins.grid, HRTIMER_MODE_ABS_HARD);
}

#if IS_ENABLED(CONFIG_PWM) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
static struct pwm_chip *pwm;

static int tardy_pins_pwm_apply(struct pwm_chip *chip, struct pwm_device *channel, const struct pwm_state *state)
{
	unsigned long flags;

	if (state->enabled && period_us)
		return -EBUSY;
	hrtimer_cancel(&pins.timer);
	raw_spin_lock_irqsave(&pins.lock, flags);
	pins.high[STIMULUS] = false;
	raw_spin_unlock_irqrestore(&pins.lock, flags);
	if (!state->enabled)
		return 0;
	if (state->period < 20 * NSEC_PER_USEC || !state->duty_cycle || state->duty_cycle >= state->period)
		return -EINVAL;
	start_timer(state->period, state->duty_cycle);
	return 0;
}

static const struct pwm_ops tardy_pins_pwm_ops = {
	.apply = tardy_pins_pwm_apply,
};

static int add_pwm(void)
{
	int error;

	pwm = pwmchip_alloc(&pins.device->dev, 1, 0);
	if (IS_ERR(pwm))
		return PTR_ERR(pwm);
	pwm->ops = &tardy_pins_pwm_ops;
	error = pwmchip_add(pwm);
	if (error)
		pwmchip_put(pwm);
	return error;
}

static void remove_pwm(void)
{
	pwmchip_remove(pwm);
	pwmchip_put(pwm);
}
#else
static int add_pwm(void)
{
	return 0;
}

static void remove_pwm(void)
{
}
#endif

static int __init tardy_pins_init(void)
{
	struct gpio_irq_chip *irq = &pins.chip.irq;
	int error;

	if (period_us ? period_us < 20 || dither_us >= period_us / 2 : dither_us)
		return -EINVAL;
	pins.wires = IRQ_WORK_INIT_HARD(interrupt_by_wires);
	raw_spin_lock_init(&pins.lock);
	INIT_KFIFO(pins.log);
	prandom_seed_state(&pins.random, seed);
	pins.device = platform_device_register_simple("tardy-pins", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(pins.device))
		return PTR_ERR(pins.device);

	pins.chip.label = "tardy-pins";
	pins.chip.parent = &pins.device->dev;
	pins.chip.owner = THIS_MODULE;
	pins.chip.base = -1;
	pins.chip.ngpio = LINES;
	pins.chip.names = line_names;
	pins.chip.get = tardy_pins_get;
	pins.chip.set = tardy_pins_set;
	pins.chip.get_direction = tardy_pins_direction;
	pins.chip.direction_input = tardy_pins_input;
	pins.chip.direction_output = tardy_pins_output;
	gpio_irq_chip_set_chip(irq, &tardy_pins_irq_chip);
	irq->handler = handle_simple_irq;
	irq->default_type = IRQ_TYPE_NONE;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&pins.timer, tardy_pins_drive, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(&pins.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	pins.timer.function = tardy_pins_drive;
#endif
	error = gpiochip_add_data(&pins.chip, NULL);
	if (error)
		goto no_chip;
	error = misc_register(&tardy_pins_misc);
	if (error)
		goto no_log;
	error = add_pwm();
	if (error)
		goto no_pwm;
	if (period_us)
		start_timer((u64)period_us * NSEC_PER_USEC, (u64)period_us * NSEC_PER_USEC / 2);
	return 0;

no_pwm:
	misc_deregister(&tardy_pins_misc);
no_log:
	gpiochip_remove(&pins.chip);
no_chip:
	platform_device_unregister(pins.device);
	return error;
}

static void __exit tardy_pins_exit(void)
{
	remove_pwm();
	hrtimer_cancel(&pins.timer);
	misc_deregister(&tardy_pins_misc);
	gpiochip_remove(&pins.chip);
	irq_work_sync(&pins.wires);
	platform_device_unregister(pins.device);
}

module_init(tardy_pins_init);
module_exit(tardy_pins_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A GPIO chip driven by a timer, with a log of what an oscilloscope would have shown");
