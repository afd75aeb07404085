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

#endif
