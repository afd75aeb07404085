/* Files of the computer that runs the emulator, for the fuzzer's firmware: by semihosting on Arm and RISC-V, and by the
 * simulator's calls on Xtensa. */
#ifndef HOST_FILES_H
#define HOST_FILES_H

#include <stdint.h>

#if defined(__XTENSA__)

enum { READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6 };
enum { FOR_READING = 0, TO_CREATE = 0x241 }; /* O_RDONLY; O_WRONLY, O_CREAT and O_TRUNC of Linux */

static inline uint32_t host_call(uint32_t operation, uint32_t first, uint32_t second, uint32_t third)
{
    register uint32_t a2 __asm__("a2") = operation;
    register uint32_t a3 __asm__("a3") = first;
    register uint32_t a4 __asm__("a4") = second;
    register uint32_t a5 __asm__("a5") = third;
    __asm__ volatile("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
    return a2;
}

/* Opens a file of the emulator's folder. `length` is that of the name. */
static inline uint32_t open_file(const char *name, uint32_t length, uint32_t mode)
{
    (void)length;
    return host_call(OPEN, (uint32_t)name, mode, 0644);
}

/* Reads from a file. Returns the number of bytes that are missing. */
static inline uint32_t read_file(uint32_t file, void *to, uint32_t bytes)
{
    return bytes - host_call(READ, file, (uint32_t)to, bytes);
}

/* Writes to a file. Returns the number of bytes that were not written. */
static inline uint32_t write_file(uint32_t file, const void *from, uint32_t bytes)
{
    return bytes - host_call(WRITE, file, (uint32_t)from, bytes);
}

static inline void close_file(uint32_t file) { host_call(CLOSE, file, 0, 0); }

#else

enum { OPEN = 1, CLOSE = 2, WRITE = 5, READ = 6 };
enum { FOR_READING = 1, TO_CREATE = 5 }; /* "rb" and "wb" */

static inline uint32_t host_call(uint32_t operation, const void *argument)
{
#if defined(__riscv)
    register uint32_t result __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n" /* the three instructions must be in one page */
                     ".option push\n"
                     ".option norvc\n"
                     "slli zero, zero, 0x1f\n"
                     "ebreak\n"
                     "srai zero, zero, 7\n"
                     ".option pop\n"
                     : "+r"(result)
                     : "r"(a1)
                     : "memory");
#else
    register uint32_t result __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(result) : "r"(r1) : "memory");
#endif
    return result;
}

/* Opens a file of the emulator's folder. `length` is that of the name. */
static inline uint32_t open_file(const char *name, uint32_t length, uint32_t mode)
{
    const struct {
        const char *name;
        uint32_t mode, length;
    } argument = {name, mode, length};
    return host_call(OPEN, &argument);
}

/* Transfers bytes. Returns the number of bytes that are missing. */
static inline uint32_t transfer(uint32_t operation, uint32_t file, const void *address, uint32_t bytes)
{
    const struct {
        uint32_t file;
        const void *address;
        uint32_t bytes;
    } argument = {file, address, bytes};
    return host_call(operation, &argument);
}

/* Reads from a file. Returns the number of bytes that are missing. */
static inline uint32_t read_file(uint32_t file, void *to, uint32_t bytes)
{
    return transfer(READ, file, to, bytes);
}

/* Writes to a file. Returns the number of bytes that were not written. */
static inline uint32_t write_file(uint32_t file, const void *from, uint32_t bytes)
{
    return transfer(WRITE, file, from, bytes);
}

static inline void close_file(uint32_t file) { host_call(CLOSE, &file); }

#endif

#endif
