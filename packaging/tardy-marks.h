/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Marks for `tardy attach` (docs/marks.md): where a stretch of a program begins and where it ends. Nothing is linked.
 * TARDY_BEGIN(control) and TARDY_END(control) are USDT probes: an instruction that does nothing until it is watched.
 * tardy_mark('B', "control") and tardy_mark('E', "control") write to the kernel's trace_marker, which trace viewers show. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8
#define TARDY_WORD ".8byte "
#else
#define TARDY_WORD ".4byte "
#endif
#define TARDY_PROBE(name) \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n993: " TARDY_WORD "990b\n" TARDY_WORD "0\n" TARDY_WORD "0\n" \
		".asciz \"tardy\"\n.asciz \"" name "\"\n.asciz \"\"\n994: .balign 4\n.popsection" ::: "memory")
#define TARDY_BEGIN(name) TARDY_PROBE(#name "__begin")
#define TARDY_END(name) TARDY_PROBE(#name "__end")

static inline void tardy_mark(char kind, const char *name)
{
	static int file = -2; /* opened by the first mark, which takes longer */
	const char *path = getenv("TARDY_TRACE_MARKER");
	char text[128];
	if (file == -2)
		file = open(path ? path : "/sys/kernel/tracing/trace_marker", O_WRONLY | O_CLOEXEC);
	int length = snprintf(text, sizeof(text), "%c|%d|%s", kind, (int)getpid(), name);
	if (file >= 0 && length < (int)sizeof(text) && write(file, text, (size_t)length) < 0)
		return; /* tracing is off */
}
