/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * secure [LIBRARY [FUNCTION]]: for row F8, installed setuid root. Says whose rights it has, whether
 * the dynamic linker took it for secure, and which files it has mapped; before that it opens the
 * library and calls the function, cuInit() or the like.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*function)(unsigned int) =
		library && argc > 2 ? (int (*)(unsigned int))(uintptr_t)dlsym(library, argv[2]) :
				      NULL;
	char line[512];
	FILE *f;

	printf("euid=%u secure=%d open=%d call=%d\n", (unsigned)geteuid(),
	       getauxval(AT_SECURE) != 0, library != NULL, function ? function(0) : -1);
	f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof(line), f))
		fputs(line, stdout);
	if (f)
		fclose(f);
	return 0;
}
