// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile plugin of QEMU for a test: what a guest could do that has taken over the emulator.
 *
 * It runs in the emulator's process before the machine starts, and prints messages as a guest of the lab does: "WHAT 1"
 * if the host refused, else "WHAT 0". Arguments: how=HOW and place=DIRECTORY.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int qemu_plugin_version = PLUGIN_VERSION;

static const char *place = "";

static char *in_place(const char *name)
{
	static char paths[8][512];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", place, name);
	return path;
}

static void result(const char *what, int status)
{
	dprintf(1, "{\"output\":{\"text\":\"%s %d\"}}\n", what, status < 0);
}

static int connected(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	return connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address));
}

static void files(int port)
{
	result("signal", kill(getppid(), 0));
	result("connect", connected(port));
	result("read", open(in_place("secret"), O_RDONLY));
	result("create", open(in_place("new"), O_WRONLY | O_CREAT, 0600));
	result("write", open(in_place("victim"), O_WRONLY | O_TRUNC));
	result("remove", unlink(in_place("victim")));
	result("rename", rename(in_place("secret"), in_place("moved")));
	result("input", open("kernel", O_WRONLY));
	result("link", symlink("/etc/passwd", "planted"));
	result("console", unlink("console.log"));
}

int qemu_plugin_install(unsigned long id, const void *info, int argc, char **argv)
{
	const char *how = "";
	int port = 0;

	(void)id;
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "how=", 4))
			how = argv[i] + 4;
		if (!strncmp(argv[i], "place=", 6))
			place = argv[i] + 6;
		if (!strncmp(argv[i], "port=", 5))
			port = atoi(argv[i] + 5);
	}
	if (!strcmp(how, "system"))
		result("system", system(in_place("command")) ? -1 : 0);
	else if (!strcmp(how, "execve"))
		result("execve", execl(in_place("command"), "command", NULL));
	else if (!strcmp(how, "setuid"))
		result("setuid", setuid(0));
	else if (!strcmp(how, "fill"))
		for (int fd = open("console.log", O_WRONLY); write(fd, argv[0], 1 << 12) > 0;)
			;
	else
		files(port);
	dprintf(1, "{\"end\":{\"status\":0,\"error\":null}}\n");
	_exit(0);
}
