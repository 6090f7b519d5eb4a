// SPDX-License-Identifier: GPL-2.0-or-later
/* Which task is running, and the last switches between tasks. */
#include <string.h>

#include "observer.h"

struct switched switches[SWITCHES_KEPT];
uint64_t switch_count, last_switch_at;

uint64_t current_task(void) { return load64(cpu_base() + orders.current); }

struct task task_at(uint64_t address)
{
	struct task task = { .address = address, .pid = load(address + orders.task_pid, 4) };
	const uint8_t *name = in_ram(address + orders.task_name, sizeof(task.name));

	if (name)
		memcpy(task.name, name, sizeof(task.name));
	task.name[sizeof(task.name) - 1] = 0;
	return task;
}

void switching(void)
{
	uint64_t task = current_task();
	bool is_blocked = orders.task_state && load(task + orders.task_state, 4);

	switches[switch_count++ % SWITCHES_KEPT] = (struct switched){ now.blocks, task_at(task), is_blocked };
	last_switch_at = now.instructions;
}
