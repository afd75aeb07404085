#include "model_data.h"

enum { KIND_SHIFT = 30, ADDRESS_BYTES = 4 };

/* Returns whether `count` bytes from `at` are inside of `bytes` bytes. */
static int is_inside(uint32_t at, uint32_t count, uint32_t bytes)
{
    return at % ADDRESS_BYTES == 0 && at <= bytes && count <= bytes - at;
}

/* Returns the address that a word of the block stands for, or 0 if there is none. */
static uintptr_t resolve(uint32_t kind, uint32_t value, const uint8_t *payload, uint32_t bytes,
                         const model_data_target *target)
{
    switch (kind) {
    case MODEL_DATA_IN_PAYLOAD:
        return value < bytes ? (uintptr_t)payload + value : 0;
    case MODEL_DATA_IN_BLOCK:
        return value < target->block_bytes ? (uintptr_t)target->block + value : 0;
    case MODEL_DATA_IN_ARENA:
        return value < target->arena_bytes ? (uintptr_t)target->arena + value : 0;
    default:
        return value < target->function_count ? (uintptr_t)target->functions[value] : 0;
    }
}

int model_data_load(const void *payload, uint32_t bytes, const model_data_target *target, model_data *data)
{
    const uint32_t *header = payload;
    uint32_t *block = target->block;
    if (bytes < MODEL_DATA_WORDS * sizeof *header || header[MODEL_DATA_WORD_MAGIC] != MODEL_DATA_MAGIC ||
        header[MODEL_DATA_WORD_VERSION] != MODEL_DATA_VERSION || header[MODEL_DATA_WORD_BYTES] != bytes) {
        return 1;
    }
    const uint32_t block_bytes = header[MODEL_DATA_WORD_BLOCK_BYTES];
    const uint32_t fixups = header[MODEL_DATA_WORD_FIXUPS], count = header[MODEL_DATA_WORD_FIXUP_COUNT];
    const uint32_t model = header[MODEL_DATA_WORD_MODEL], golden = header[MODEL_DATA_WORD_GOLDEN];
    if (block_bytes > target->block_bytes || !is_inside(header[MODEL_DATA_WORD_BLOCK], block_bytes, bytes) ||
        count > bytes / ADDRESS_BYTES || !is_inside(fixups, count * ADDRESS_BYTES, bytes) ||
        !is_inside(model, sizeof(ar_model), block_bytes) ||
        !is_inside(golden, sizeof(ar_golden), block_bytes)) {
        return 1;
    }
    const uint32_t *from = header + header[MODEL_DATA_WORD_BLOCK] / ADDRESS_BYTES;
    for (uint32_t i = 0; i < (block_bytes + ADDRESS_BYTES - 1) / ADDRESS_BYTES; i++) {
        block[i] = from[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t fixup = header[fixups / ADDRESS_BYTES + i];
        const uint32_t at = fixup & ((1u << KIND_SHIFT) - 1);
        if (!is_inside(at, ADDRESS_BYTES, block_bytes)) {
            return 1;
        }
        const uintptr_t address =
            resolve(fixup >> KIND_SHIFT, block[at / ADDRESS_BYTES], payload, bytes, target);
        if (address == 0) {
            return 1;
        }
        block[at / ADDRESS_BYTES] = (uint32_t)address;
    }
    data->model = (const ar_model *)(const void *)((const uint8_t *)target->block + model);
    data->golden = (const ar_golden *)(const void *)((const uint8_t *)target->block + golden);
    return 0;
}
