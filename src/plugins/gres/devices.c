/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of gres_device_t made from paths; see devices.h. */
#define _GNU_SOURCE
#include "plugins/gres/devices.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "plugins/gres/records.h"

#define DEVICES_MAX 1024

static gs_list devices;

static void add(const char *path)
{
	int digits = (int)strlen(path);
	gres_device_t *device;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode)) {
		error("gpushare: %s is no device file", path);
		return;
	}
	if (!devices)
		devices = list_create(destroy_gres_device);
	while (digits > 0 && path[digits - 1] >= '0' && path[digits - 1] <= '9')
		digits--;
	device = xmalloc(sizeof(*device));
	device->index = list_count(devices);
	device->dev_num = path[digits] ? atoi(path + digits) : device->index;
	device->path = xstrdup(path);
	device->dev_desc.type = DEV_TYPE_CHAR;
	device->dev_desc.major = major(st.st_rdev);
	device->dev_desc.minor = minor(st.st_rdev);
	list_append(devices, device);
}

static void forget(void)
{
	if (devices)
		list_destroy(devices);
	devices = NULL;
}

static int add_record(void *x, void *arg)
{
	const gres_slurmd_conf_t *record = x;

	(void)arg;
	if (record->file && strcmp(record->name, GS_GRES_NAME) == 0)
		add(record->file);
	return 0;
}

void gs_devices_load(gs_list conf_list)
{
	forget();
	list_for_each (conf_list, add_record, NULL)
		;
}

static int send_one(void *x, void *arg)
{
	packstr(((const gres_device_t *)x)->path, arg);
	return 0;
}

void gs_devices_send(buf_t *buffer)
{
	pack32(devices ? (uint32_t)list_count(devices) : 0, buffer);
	if (devices)
		list_for_each (devices, send_one, buffer)
			;
}

void gs_devices_receive(buf_t *buffer)
{
	uint32_t count, length;
	char *path = NULL;

	forget();
	safe_unpack32(&count, buffer);
	for (uint32_t i = 0; i < count && i < DEVICES_MAX; i++) {
		safe_unpackstr_xmalloc(&path, &length, buffer);
		if (path)
			add(path);
		xfree(path);
	}
	return;
unpack_error:
	error("gpushare: slurmd's list of devices is cut short");
}

gs_list gs_devices(void)
{
	return devices;
}
