/* Preprocesses the pictures in a file of cases with a library for this machine. replay.py writes the cases on another
 * machine: the C structures byte by byte (both machines are 64-bit and little-endian), and the memory that their
 * pointers refer to. The outputs are written to standard output. Usage: replay LIBRARY CASES > RESULTS */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_host.h"

static FILE *cases;

/* Reads a number from the file of cases. */
static uint32_t read_number(void)
{
    uint32_t value;
    if (fread(&value, sizeof value, 1, cases) != 1) {
        exit(3);
    }
    return value;
}

/* Reads a size and as many bytes, into memory of exactly that size, so that the sanitizers detect accesses outside
 * it. */
static uint8_t *read_block(uint32_t *size)
{
    *size = read_number();
    uint8_t *data = malloc(*size ? *size : 1);
    if (!data || fread(data, 1, *size, cases) != *size) {
        exit(3);
    }
    return data;
}

/* Reads the name of a function, and returns its address in the library. */
static void *read_function(void *library)
{
    char name[64];
    if (fread(name, sizeof name, 1, cases) != 1) {
        exit(3);
    }
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "The library has no function %s.\n", name);
        exit(4);
    }
    return address;
}

int main(int argc, char **argv)
{
    uint32_t size;
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : 0;
    cases = argc == 3 ? fopen(argv[2], "rb") : 0;
    if (!library || !cases) {
        return 2;
    }
    void (*run)(const ar_host_image *, const ar_picture *, void *, void *);
    *(void **)&run = dlsym(library, "ar_host_run");
    for (uint32_t left = read_number(); left > 0; left--) {
        ar_picture picture = {{0}, {0}};
        uint8_t *raw = read_block(&size);
        /* The structure has no valid pointers yet. The case lists the pointers to functions, then those to tables:
         * each has its offset in the structure, and the function's name or the table's bytes. */
        for (uint32_t k = read_number(); k > 0; k--) {
            const uint32_t at = read_number();
            void *called = read_function(library);
            memcpy(raw + at, &called, sizeof called);
        }
        for (uint32_t k = read_number(); k > 0; k--) {
            const uint32_t at = read_number();
            uint8_t *target = read_block(&size);
            memcpy(raw + at, &target, sizeof target);
        }
        const uint32_t planes = read_number();
        for (uint32_t k = 0; k < planes; k++) {
            picture.stride[k] = read_number();
            picture.plane[k] = read_block(&size);
        }
        void *scratch = malloc(read_number());
        const uint32_t nbytes = read_number();
        uint8_t *out = malloc(nbytes);
        run((const ar_host_image *)(const void *)raw, &picture, out, scratch);
        fwrite(out, 1, nbytes, stdout);
        free(out);
        free(scratch);
    }
    return 0;
}
