/* Runs a fuzz target without libFuzzer, for compilers that lack it. Usage: program CASES FOLDER-OR-FILE...
 *
 * Runs the target with each file as its input, then with CASES random mutations of the files. */
#include <string.h>

#include "target.h"

#define MAX_FILES 256
#define MAX_BYTES 4096u

/* The contents of the files and their sizes in bytes. */
static uint8_t *texts[MAX_FILES];
static size_t sizes[MAX_FILES];
static uint64_t state = 0x9E3779B97F4A7C15u;

/* Returns a random number below `below` (xorshift). */
static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % (below ? below : 1));
}

/* Runs the target with this input. */
static void run(const uint8_t *text, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees an access beyond the input */
    EXPECT(exact != 0);
    memcpy(exact, text, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int count, char **names)
{
    int files = 0;
    for (int i = 2; i < count && files < MAX_FILES; i++) {
        FILE *file = fopen(names[i], "rb");
        EXPECT(file != 0);
        texts[files] = malloc(MAX_BYTES);
        sizes[files] = fread(texts[files], 1, MAX_BYTES, file);
        fclose(file);
        run(texts[files], sizes[files]);
        files++;
    }
    EXPECT(files > 0);
    for (long left = atol(names[1]); left > 0; left--) {
        uint8_t text[MAX_BYTES];
        const uint32_t k = draw((uint32_t)files);
        size_t size = sizes[k];
        memcpy(text, texts[k], size);
        for (uint32_t changes = 1 + draw(8); changes > 0 && size > 0; changes--) {
            const uint32_t at = draw((uint32_t)size), kind = draw(6);
            if (kind == 0) {
                text[at] = (uint8_t)draw(256);
            } else if (kind == 1) {
                text[at] ^= (uint8_t)(1u << draw(8));
            } else if (kind == 2) { /* a value at a limit of signed or unsigned bytes, or a frequent character */
                text[at] = (uint8_t)"\000\001\177\200\377%0"[draw(7)];
            } else if (kind == 3) {
                size = at + 1;
            } else { /* copy a part of some file to here */
                const uint32_t other = draw((uint32_t)files), from = draw((uint32_t)sizes[other]);
                size_t bytes = draw((uint32_t)(sizes[other] - from)) + 1u;
                bytes = bytes < sizes[other] - from ? bytes : sizes[other] - from;
                bytes = bytes < MAX_BYTES - at ? bytes : MAX_BYTES - at;
                memcpy(text + at, texts[other] + from, bytes);
                size = at + bytes > size ? at + bytes : size;
            }
        }
        run(text, size);
    }
    for (int i = 0; i < files; i++) {
        free(texts[i]);
    }
    return 0;
}
