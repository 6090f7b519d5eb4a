// SPDX-License-Identifier: GPL-2.0-or-later
/* The guest's memory, which QEMU holds in a file. It is only read. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observer.h"

enum { PAGE = 4096 };

static const uint8_t *ram;

/* The descriptor of the guest's memory is the only one of a file of that length. */
void map_ram(void)
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

static const uint8_t *physical(uint64_t address, size_t length)
{
	if (!ram || address >= orders.ram_bytes || length > orders.ram_bytes - address)
		return NULL;
	return ram + address;
}

/* Walks the kernel's page tables, four levels, with pages of 4 KiB, 2 MiB and 1 GiB (Intel SDM volume 3, 4.5). */
const uint8_t *in_ram(uint64_t address, size_t length)
{
	uint64_t table = orders.page_tables, entry;

	if (address - orders.direct_map < orders.ram_bytes)
		return physical(address - orders.direct_map, length);
	for (int shift = 39; shift >= 12; shift -= 9) {
		const uint8_t *at = physical(table + ((address >> shift) & 511) * 8, 8);

		if (!at)
			return NULL;
		memcpy(&entry, at, 8);
		if (!(entry & 1))
			return NULL;
		table = entry & 0x000ffffffffff000;
		if (shift == 12 || (shift < 39 && (entry & 0x80))) {
			uint64_t inside = (1ull << shift) - 1;

			return physical((table & ~inside) | (address & inside), length);
		}
	}
	return NULL;
}

uint64_t load(uint64_t address, size_t length)
{
	const uint8_t *at = in_ram(address, length);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, length);
	return value;
}

uint64_t load64(uint64_t address) { return load(address, 8); }

uint64_t cpu_base(void)
{
	static uint64_t base;

	if (!base && now.has_programs)
		base = load64(orders.cpu_offset);
	return base;
}

/* The file has holes where the memory is zero. */
void copy_memory(const char *path)
{
	static const uint8_t zeros[PAGE];
	int file = open(path, O_WRONLY | O_CLOEXEC);

	if (file < 0 || ftruncate(file, orders.ram_bytes))
		fail("cannot write", path);
	for (uint64_t at = 0; at < orders.ram_bytes; at += PAGE)
		if (memcmp(ram + at, zeros, PAGE) && pwrite(file, ram + at, PAGE, at) != PAGE)
			fail("cannot write", path);
	if (close(file))
		fail("cannot write", path);
}
