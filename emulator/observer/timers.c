// SPDX-License-Identifier: GPL-2.0-or-later
/* Which thread waits for an expiring timer. A timer of a sleep names its thread. Of the others it is found in what contains the timer. */
#include "observer.h"

/* The threads of a process are not more, nor are those that wait for a timerfd. */
enum { THREADS_MAX = 4096, WAITERS_MAX = 64 };

/* The first thread that waits for an epoll (ep_poll() in fs/eventpoll.c). */
static uint64_t waiter_of_epoll(uint64_t epoll)
{
	uint64_t head = epoll + orders.epoll_waiters, first = load64(head);

	return first && first != head ? load64(first - orders.waiter_entry + orders.waiter_task) : 0;
}

/* The thread of an entry in a wait queue: that of poll(2) and select(2) (__pollwait() in fs/select.c), one that waits for an epoll
 * (ep_ptable_queue_proc() in fs/eventpoll.c), or one that reads. */
static uint64_t thread_of_entry(uint64_t entry)
{
	uint64_t function = load64(entry + orders.waiter_function), task = load64(entry + orders.waiter_task);

	if (orders.epoll_function && function == orders.epoll_function)
		return waiter_of_epoll(load64(load64(entry - orders.epoll_entry + orders.epoll_item) + orders.epoll_of_item));
	if (orders.poll_function && function == orders.poll_function)
		return load64(task + orders.poll_task);
	return task;
}

/* The first thread that waits for a timerfd (fs/timerfd.c). */
static uint64_t waiter_of_timerfd(uint64_t timer)
{
	uint64_t head = timer - orders.timerfd_timer + orders.timerfd_waiters, node = load64(head), task = 0;

	for (int i = 0; i < WAITERS_MAX && !task && node && node != head; i++, node = load64(node))
		task = thread_of_entry(node - orders.waiter_entry);
	return task;
}

/* The thread of a process that waits for the timer's signal in rt_sigtimedwait(2): there it is not among those that it blocks, but
 * among those that it blocks again afterwards (kernel/signal.c). */
static uint64_t receiver_of(uint64_t timer)
{
	uint64_t pending = timer + orders.signal_pending, process = load64(timer + orders.signal_process);
	uint64_t number = load((orders.signal_is_apart ? load64(pending) : pending) + orders.signal_number, 4);
	uint64_t head = process + orders.process_threads, node = load64(head);

	for (int i = 0; i < THREADS_MAX && node && node != head; i++, node = load64(node))
		if (load64(node - orders.thread_node + orders.thread_real_blocked) &
		    ~load64(node - orders.thread_node + orders.thread_blocked) & 1ull << ((number - 1) & 63))
			return node - orders.thread_node;
	return 0;
}

/* A thread of SCHED_DEADLINE that has yielded. One whose runtime is used up has the same timer, and waits for nothing. */
static uint64_t yielder_of(uint64_t timer)
{
	uint64_t task = timer - orders.deadline_timer, bit = orders.deadline_yielded;

	return load(task + bit / 8, 1) >> bit % 8 & 1 ? task : 0;
}

enum wait_kind waiting_for(uint64_t timer, uint64_t function, uint64_t *task)
{
	enum wait_kind if_none = NO_WAIT;

	*task = 0;
	if (function == orders.hrtimer_wakeup) {
		*task = load64(timer + orders.sleeper_task);
	} else if (function == orders.timerfd_function) {
		*task = waiter_of_timerfd(timer);
		if_none = WAIT_FOLLOWS;
	} else if (function == orders.signal_function) {
		*task = receiver_of(timer - orders.signal_timer);
		if_none = WAIT_FOLLOWS;
	} else if (function == orders.deadline_function) {
		*task = yielder_of(timer);
	}
	return *task ? WAITS : if_none;
}
