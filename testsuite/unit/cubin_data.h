/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cubins of the tests, and their parts as another reader sees them. */
#ifndef TESTSUITE_CUBIN_DATA_H
#define TESTSUITE_CUBIN_DATA_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* A file of data/cubin in memory of exactly its size, the caller's to free. */
uint8_t *cubin_data_read(const char *name, size_t *size);

/* The contents of the section of that name, and its header; NULL: there is none. */
const uint8_t *cubin_data_section(const uint8_t *image, const char *name, Elf64_Shdr *header);
/* The symbol of that name and type, and its number; 0: there is none. */
uint32_t cubin_data_symbol(const uint8_t *image, const char *name, int type, Elf64_Sym *symbol);
/* The place in constant bank 4 that is filled with the address of that symbol; -1: none is. */
long cubin_data_address(const uint8_t *image, const char *name, int type);
/* Attribute `number` of a section of attributes: its value; NULL: it is not there. */
const uint8_t *cubin_data_attribute(const uint8_t *image, const char *section, uint8_t number,
				    size_t *size);

#endif
