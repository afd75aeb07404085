/* Runs cases that the host wrote: the structures byte by byte (both machines are 64-bit, little-endian), with the memory
 * that their pointers refer to. Usage: replay LIBRARY CASES > RESULTS */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_host.h"

static FILE *cases;

static uint32_t number(void)
{
    uint32_t value;
    if (fread(&value, sizeof value, 1, cases) != 1) {
        exit(3);
    }
    return value;
}

/* Reads a block into memory of exactly its size, so that the sanitizers detect accesses beside it. */
static uint8_t *block(uint32_t *size)
{
    *size = number();
    uint8_t *data = malloc(*size ? *size : 1);
    if (!data || fread(data, 1, *size, cases) != *size) {
        exit(3);
    }
    return data;
}

static void *function(void *library)
{
    char name[64];
    if (fread(name, sizeof name, 1, cases) != 1) {
        exit(3);
    }
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "no %s\n", name);
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
    for (uint32_t left = number(); left > 0; left--) {
        ar_picture picture = {{0}, {0}};
        uint8_t *raw = block(&size);
        for (uint32_t k = number(); k > 0; k--) {
            const uint32_t at = number();
            void *called = function(library);
            memcpy(raw + at, &called, sizeof called);
        }
        for (uint32_t k = number(); k > 0; k--) {
            const uint32_t at = number();
            uint8_t *target = block(&size);
            memcpy(raw + at, &target, sizeof target);
        }
        const uint32_t planes = number();
        for (uint32_t k = 0; k < planes; k++) {
            picture.stride[k] = number();
            picture.plane[k] = block(&size);
        }
        void *scratch = malloc(number());
        const uint32_t nbytes = number();
        uint8_t *out = malloc(nbytes);
        run((const ar_host_image *)(const void *)raw, &picture, out, scratch);
        fwrite(out, 1, nbytes, stdout);
        free(out);
        free(scratch);
    }
    return 0;
}
