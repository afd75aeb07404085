/* Calls of the emulator or debugger by Arm's semihosting. */
#ifndef ARENITE_SEMIHOSTING_H
#define ARENITE_SEMIHOSTING_H

#include <stdint.h>

enum { SYS_OPEN = 1, SYS_WRITE = 5, SYS_READ = 6, SYS_SEEK = 10 };

static inline uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* Opens a file of the emulator's folder for reading. Returns UINT32_MAX if there is none. `length` is that of the name. */
static inline uint32_t semihosting_open(const char *name, uint32_t length)
{
    const struct {
        const char *name;
        uint32_t mode, length;
    } argument = {name, 1, length}; /* mode 1: read binary */
    return semihosting(SYS_OPEN, &argument);
}

/* Reads from a file. Returns the number of bytes that are missing. */
static inline uint32_t semihosting_read(uint32_t file, void *to, uint32_t bytes)
{
    const struct {
        uint32_t file;
        void *to;
        uint32_t bytes;
    } argument = {file, to, bytes};
    return semihosting(SYS_READ, &argument);
}

#endif
