/* Loads damaged payloads of a model. model_data_load FILE COUNT: reads the payload in FILE, loads it, and loads COUNT copies
 * with a changed word. Prints how many were loaded. Compiled with sanitizers, which find accesses outside the memories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_data.h"

enum { FUNCTIONS = 64, BLOCK = 8192, ARENA = 1 << 17 };

static void layer(void) {}

int main(int count, char **arguments)
{
    ar_layer_fn functions[FUNCTIONS];
    FILE *file = count == 3 ? fopen(arguments[1], "rb") : 0;
    static uint8_t content[1 << 20] __attribute__((aligned(4)));
    if (file == 0) {
        return 2;
    }
    const size_t bytes = fread(content, 1, sizeof content, file);
    (void)fclose(file);
    for (int i = 0; i < FUNCTIONS; i++) {
        functions[i] = layer;
    }
    /* The structures at the end of the block are longer here than on a 32-bit core. */
    ((uint32_t *)(void *)content)[MODEL_DATA_WORD_BLOCK_BYTES] += 64;
    uint32_t random = 1, loaded = 0;
    const uint32_t copies = (uint32_t)strtoul(arguments[2], 0, 10);
    for (uint32_t i = 0; i <= copies; i++) {
        uint32_t *payload = malloc(bytes), *block = malloc(BLOCK);
        uint8_t *arena = malloc(ARENA);
        const model_data_target target = {block, BLOCK, arena, ARENA, functions, FUNCTIONS};
        model_data data;
        memcpy(payload, content, bytes);
        if (i != 0) {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            /* Half of the changes are in the header. */
            const size_t word = random % (random & 1u ? MODEL_DATA_WORDS : bytes / 4);
            payload[word] ^= random & 2u ? 1u << (random >> 27) : random * 2654435761u;
        }
        loaded += model_data_load(payload, (uint32_t)bytes, &target, &data) == 0;
        if (i == 0 && loaded == 0) {
            return 1;
        }
        free(arena);
        free(block);
        free(payload);
    }
    printf("%u\n", (unsigned)loaded);
    return 0;
}
