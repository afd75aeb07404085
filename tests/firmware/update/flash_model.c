#include "flash_model.h"

#include <stdlib.h>
#include <string.h>

uint32_t model_random(model *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 17;
    m->random ^= m->random << 5;
    return m->random;
}

static void allocate(model *m)
{
    const uint32_t units = m->bytes / m->geometry.unit_bytes;
    m->content = malloc(2 * m->bytes + 2 * units);
    if (m->content == 0) {
        abort();
    }
    m->wanted = m->content + m->bytes;
    m->units = m->wanted + m->bytes;
    m->unreadable = m->units + units;
}

/* Returns the offset of `at` in the model, or marks a violation if it is outside or not aligned. */
static int place(model_memory *memory, uint32_t at, uint32_t bytes, uint32_t align, uint32_t *offset)
{
    const uint32_t size = memory->pages * memory->model->geometry.page_bytes;
    if (at > size || bytes > size - at || at % align != 0 || bytes % align != 0) {
        memory->model->violation = "an operation outside a memory, or not aligned";
        return 1;
    }
    *offset = memory->start + at;
    return 0;
}

static void before(model *m, const model_memory *memory, int erases, uint32_t at, const void *data)
{
    m->operations++;
    if (m->before != 0) {
        m->before(m, (uint32_t)(memory - m->memories), erases, at, data);
    }
}

static int erase(void *context, uint32_t page)
{
    model_memory *memory = context;
    model *m = memory->model;
    const uint32_t bytes = m->geometry.page_bytes, unit = m->geometry.unit_bytes;
    uint32_t offset;
    if (page >= memory->pages || place(memory, page * bytes, bytes, bytes, &offset) != 0) {
        m->violation = "an erasure outside a memory";
        return 1;
    }
    before(m, memory, 1, page * bytes, 0);
    memset(m->content + offset, 0xFF, bytes);
    memset(m->units + offset / unit, UNIT_ERASED, bytes / unit);
    memset(m->unreadable + offset / unit, 0, bytes / unit);
    return 0;
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    model_memory *memory = context;
    model *m = memory->model;
    const uint32_t unit = m->geometry.unit_bytes;
    uint32_t offset;
    if (place(memory, at, bytes, unit, &offset) != 0) {
        return 1;
    }
    for (uint32_t done = 0; done < bytes; done += unit) {
        const uint8_t *from = (const uint8_t *)data + done;
        uint8_t *to = m->content + offset + done, *state = &m->units[(offset + done) / unit];
        if (*state != UNIT_ERASED) {
            m->violation = "a unit was programmed twice";
            return 1;
        }
        before(m, memory, 0, at + done, from);
        memcpy(to, from, unit);
        *state = UNIT_PROGRAMMED;
    }
    return 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    model_memory *memory = context;
    model *m = memory->model;
    const uint32_t unit = m->geometry.unit_bytes;
    uint32_t offset;
    if (place(memory, at, bytes, 1, &offset) != 0) {
        return 1;
    }
    memcpy(data, m->content + offset, bytes);
    for (uint32_t i = offset / unit; bytes != 0 && i <= (offset + bytes - 1) / unit; i++) {
        if (m->unreadable[i]) {
            return 1;
        }
    }
    return 0;
}

static void connect(model *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        m->memories[i].model = m;
        m->flashes[i] = (ar_flash){
            m->geometry.page_bytes, m->memories[i].pages, m->geometry.unit_bytes, erase, program, read, 0,
            &m->memories[i]};
    }
}

void model_create(model *m, const model_geometry *geometry, const uint32_t *pages, uint32_t count)
{
    memset(m, 0, sizeof *m);
    m->geometry = *geometry;
    m->count = count;
    m->random = 1;
    for (uint32_t i = 0; i < count; i++) {
        m->memories[i].pages = pages[i];
        m->memories[i].start = m->bytes;
        m->bytes += pages[i] * geometry->page_bytes;
    }
    allocate(m);
    memset(m->content, 0xFF, 2 * m->bytes);
    memset(m->units, 0, 2 * (m->bytes / geometry->unit_bytes));
    connect(m);
}

void model_destroy(model *m) { free(m->content); }

void model_copy(model *to, const model *from)
{
    *to = *from;
    allocate(to);
    memcpy(to->content, from->content, 2 * from->bytes + 2 * (from->bytes / from->geometry.unit_bytes));
    connect(to);
}

void model_restart(model *m)
{
    const uint32_t unit = m->geometry.unit_bytes, units = m->bytes / unit;
    for (uint32_t i = 0; i < units; i++) {
        if (m->units[i] != UNIT_UNSTABLE) {
            continue;
        }
        /* Any of the bits that were to become 0 are 0: all, none, or some. */
        const uint32_t kind = model_random(m) % 3;
        for (uint32_t k = 0; k < unit; k++) {
            const uint8_t wanted = m->wanted[i * unit + k];
            const uint8_t mask = kind == 0 ? 0xFF : kind == 1 ? 0 : (uint8_t)model_random(m);
            m->content[i * unit + k] = wanted | mask;
        }
        m->unreadable[i] = m->geometry.check_bits && model_random(m) % 2;
    }
}

void model_interrupt(model *m, uint32_t memory, int erases, uint32_t at, const void *data)
{
    const uint32_t unit = m->geometry.unit_bytes, offset = m->memories[memory].start + at;
    if (!erases) {
        memcpy(m->wanted + offset, data, unit);
        m->units[offset / unit] = UNIT_UNSTABLE;
        return;
    }
    /* The page keeps its content, or some of it. Even if a unit looks erased, it may not be programmed. */
    const uint32_t kind = model_random(m) % 3;
    for (uint32_t i = 0; i < m->geometry.page_bytes / unit; i++) {
        const uint32_t number = offset / unit + i;
        if (kind == 0 || (kind == 1 && i % 2)) {
            m->units[number] = m->units[number] == UNIT_UNSTABLE ? UNIT_UNSTABLE : UNIT_PROGRAMMED;
            continue;
        }
        for (uint32_t k = 0; k < unit; k++) {
            m->wanted[number * unit + k] = kind == 1 ? 0xFF : m->content[number * unit + k];
        }
        m->units[number] = UNIT_UNSTABLE;
    }
}
