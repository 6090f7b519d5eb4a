/*
 * Loaded into a program by LD_PRELOAD: maps files as code, as a library would be, whatever is in them. The tests of
 * `tardy attach` use it. Build: cc -shared -fPIC -pthread -o hostile.so hostile.c
 *
 * It acts in the program `control` only: setpriv(1), which executes it, must not have a second thread when it changes its user.
 *
 * HOSTILE_FILES  the files, separated by colons.
 * HOSTILE_OTHER  if set: whenever the first of them is opened, this file is mapped in its place, and HOSTILE_LOG is created.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Enough for what the files' headers name; no byte of it is used. */
#define LENGTH (1 << 20)

static int watched;
static void *first;

static void *mapped(const char *path, void *at)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	void *code = file < 0 ? MAP_FAILED
			      : mmap(at, LENGTH, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), file, 0);
	if (code == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(file);
	return code;
}

static void *swap(void *other)
{
	char event[4096];
	int log;

	while (read(watched, event, sizeof(event)) > 0) {
		mapped(other, first);
		log = open(getenv("HOSTILE_LOG"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
		if (log >= 0)
			close(log);
	}
	return NULL;
}

__attribute__((constructor)) static void map_files(void)
{
	char *files = getenv("HOSTILE_FILES"), *other = getenv("HOSTILE_OTHER"), *file, *rest;
	pthread_t thread;

	if (!files || strcmp(program_invocation_short_name, "control"))
		return;
	files = strdup(files);
	for (file = strtok_r(files, ":", &rest); file; file = strtok_r(NULL, ":", &rest)) {
		void *code = mapped(file, NULL);

		if (!first) {
			first = code;
			watched = inotify_init1(IN_CLOEXEC);
			inotify_add_watch(watched, file, IN_OPEN);
		}
	}
	if (other)
		pthread_create(&thread, NULL, swap, other);
}
