/* Fuzz target: pre- and postprocessing of pictures, sounds and outputs with hostile values. The first byte of the input
 * chooses one of the functions in the generated file processing_calls.h. Each function runs the steps of one model. */
#include <string.h>

#include "target.h"

typedef struct {
    const uint8_t *data;
    size_t size;
    size_t at;
} fuzz_input;

/* Copies the next bytes of the input, which begins again at its end. */
static inline void take(fuzz_input *input, void *to, size_t bytes)
{
    uint8_t *byte = to;
    while (bytes--) {
        *byte++ = input->data[input->at++ % input->size];
    }
}

/* Returns the next four bytes of the input as a number. */
static inline uint32_t number(fuzz_input *input)
{
    uint32_t value;
    take(input, &value, sizeof value);
    return value;
}

/* Returns new memory of exactly this size, so that a sanitizer sees an access beyond it. */
static inline void *room(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    EXPECT(memory != 0);
    return memory;
}

/* Returns new memory of exactly this size with the next bytes of the input. */
static inline void *copy(fuzz_input *input, size_t bytes)
{
    void *memory = room(bytes);
    take(input, memory, bytes);
    return memory;
}

#include "processing_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1) {
        const fuzz_input input = {data + 1, size - 1, 0};
        calls[data[0] % (sizeof calls / sizeof calls[0])](input);
    }
    return 0;
}
