#include "update_board.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flash_model.h"
#include "image.h"

enum { STATE, SCRATCH, FIRMWARE, MODEL = FIRMWARE + 2, MEMORIES = MODEL + 2 };
enum { LINE_BYTES = 1 << 16, TRIALS = 2, REASON_OF_TEST = 200 };
static const double tick_us = 1e7 / 115200;

typedef struct {
    uint8_t data[LINE_BYTES];
    uint32_t head, tail;
} queue;

struct board {
    ar_update update;
    ar_update_board parts;
    model flash;
    ar_flash slow[MEMORIES]; /* the memories of the model, with the times of real ones */
    board_geometry geometry;
    char name[65];
    uint8_t key[AR_IMAGE_KEY_BYTES];
    uint32_t pair_count;
    uint32_t cut_after; /* operations */
    uint32_t operations, resets;
    jmp_buf power;
    int is_erasing;
    double now_us, busy_until_us;
    queue in, out;
    int out_byte; /* that the port sends, or -1 */
    int is_unlimited;
};

static board *board_of(void *context)
{
    const model_memory *memory = context;
    return memory->model->context;
}

static const ar_flash *flash_of(void *context)
{
    const model_memory *memory = context;
    return &memory->model->flashes[memory - memory->model->memories];
}

static void work(board *b, double us)
{
    b->busy_until_us = (b->busy_until_us > b->now_us ? b->busy_until_us : b->now_us) + us;
}

static int slow_erase(void *context, uint32_t page)
{
    board *b = board_of(context);
    work(b, b->geometry.erase_us);
    b->is_erasing = 1;
    return flash_of(context)->erase(context, page);
}

static int slow_program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    board *b = board_of(context);
    work(b, (double)b->geometry.program_us * bytes / b->geometry.unit_bytes);
    return flash_of(context)->program(context, at, data, bytes);
}

static int slow_read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    return flash_of(context)->read(context, at, data, bytes);
}

static void count_operation(model *m, uint32_t memory, int erases, uint32_t at, const void *data)
{
    board *b = m->context;
    b->operations++;
    if (b->cut_after != 0 && --b->cut_after == 0) {
        model_interrupt(m, memory, erases, at, data);
        longjmp(b->power, 1);
    }
}

static int put(void *context, uint8_t byte)
{
    board *b = context;
    if (b->is_unlimited) {
        b->out.data[b->out.head++ % LINE_BYTES] = byte;
        return 1;
    }
    if (b->out_byte >= 0) {
        return 0;
    }
    b->out_byte = byte;
    return 1;
}

static int check(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *image)
{
    board *b = context;
    ar_image found;
    const ar_image_rules rules = {.public_key = b->key,
                                  .board = b->name,
                                  .min_counter = minimum,
                                  .kind = pair ? AR_IMAGE_MODEL : AR_IMAGE_FIRMWARE};
    const int result = ar_image_check(b->parts.pairs[pair].slots[slot], &rules, &found);
    image->bytes = found.bytes;
    image->counter = found.counter;
    memcpy(image->abi, found.abi, sizeof image->abi);
    return result;
}

board *board_create(const board_geometry *geometry, const char *name, const uint8_t *public_key)
{
    board *b = calloc(1, sizeof *b);
    if (b == 0) {
        abort();
    }
    const model_geometry g = {geometry->page_bytes, geometry->unit_bytes, (int)geometry->check_bits};
    const uint32_t pages[MEMORIES] = {2,
                                      1,
                                      geometry->firmware_pages,
                                      geometry->firmware_pages,
                                      geometry->model_pages,
                                      geometry->model_pages};
    b->geometry = *geometry;
    b->pair_count = geometry->model_pages ? 2 : 1;
    model_create(&b->flash, &g, pages, b->pair_count == 2 ? MEMORIES : MODEL);
    b->flash.context = b;
    b->flash.before = count_operation;
    for (uint32_t i = 0; i < b->flash.count; i++) {
        b->slow[i] = b->flash.flashes[i];
        b->slow[i].erase = slow_erase;
        b->slow[i].program = slow_program;
        b->slow[i].read = slow_read;
    }
    snprintf(b->name, sizeof b->name, "%s", name);
    memcpy(b->key, public_key, sizeof b->key);
    b->parts = (ar_update_board){
        .board = b->name, .pair_count = b->pair_count, .state = &b->slow[STATE], .context = b, .put = put};
    for (uint32_t i = 0; i < b->pair_count; i++) {
        const ar_flash *slots = &b->slow[i ? MODEL : FIRMWARE];
        b->parts.pairs[i] = (ar_boot_pair){{&slots[0], &slots[1]}, &b->slow[SCRATCH]};
    }
    b->out_byte = -1;
    return b;
}

void board_destroy(board *b)
{
    model_destroy(&b->flash);
    free(b);
}

void board_put_image(board *b, uint32_t pair, uint32_t slot, const uint8_t *data, uint32_t bytes)
{
    const ar_flash *flash = &b->flash.flashes[(pair ? MODEL : FIRMWARE) + slot];
    const uint32_t unit = flash->unit_bytes;
    for (uint32_t page = 0; page < flash->pages; page++) {
        flash->erase(flash->context, page);
    }
    for (uint32_t at = 0; at < bytes; at += unit) {
        uint8_t whole[AR_SMP_MAX_UNIT];
        memset(whole, 0xFF, sizeof whole);
        memcpy(whole, data + at, bytes - at < unit ? bytes - at : unit);
        flash->program(flash->context, at, whole, unit);
    }
}

void board_get_slot(board *b, uint32_t pair, uint32_t slot, uint8_t *data, uint32_t bytes)
{
    const ar_flash *flash = &b->flash.flashes[(pair ? MODEL : FIRMWARE) + slot];
    flash->read(flash->context, 0, data, bytes);
}

/* Runs the boot loader, and starts the firmware. */
static int boot(board *b)
{
    ar_boot loader = {.pair_count = b->pair_count,
                      .state = &b->slow[STATE],
                      .trials = TRIALS,
                      .check = check,
                      .context = b};
    memcpy(loader.pairs, b->parts.pairs, sizeof loader.pairs);
    if (ar_boot_start(&loader) != 0) {
        return AR_BOOT_FAILED;
    }
    const int result = ar_boot_choose(&loader);
    if (result < AR_BOOT_RUN || ar_update_start(&b->update, &b->parts) != 0) {
        return result;
    }
    if (ar_update_is_trial(&b->update)) {
        /* The first byte of the last image that is checked decides the test of the firmware. */
        for (uint32_t i = 0; i < b->pair_count; i++) {
            uint8_t header[32], first;
            const ar_flash *slot = b->parts.pairs[i].slots[0];
            slot->read(slot->context, 0, header, sizeof header);
            slot->read(slot->context, header[8] + 256u * header[9], &first, 1);
            if (first == 'R') {
                return ar_update_reject(&b->update, REASON_OF_TEST) ? AR_BOOT_FAILED : result;
            }
        }
        if (ar_update_confirm(&b->update) != 0) {
            return AR_BOOT_FAILED;
        }
    }
    return result;
}

int board_start(board *b, uint32_t operations)
{
    model_restart(&b->flash);
    b->cut_after = operations;
    b->operations = 0;
    b->out_byte = -1;
    b->is_erasing = 0;
    if (setjmp(b->power) != 0) {
        return -2;
    }
    return boot(b);
}

void board_send(board *b, const uint8_t *data, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        b->in.data[b->in.head++ % LINE_BYTES] = data[i];
    }
    if (b->in.head - b->in.tail > LINE_BYTES) {
        abort();
    }
}

uint32_t board_take(board *b, uint8_t *data, uint32_t bytes)
{
    uint32_t count = 0;
    while (count < bytes && b->out.tail != b->out.head) {
        data[count++] = b->out.data[b->out.tail++ % LINE_BYTES];
    }
    return count;
}

void board_pull(board *b)
{
    b->in.tail = b->in.head;
    b->out.tail = b->out.head;
    b->out_byte = -1;
}

int board_step(board *b)
{
    const int result = ar_update_step(&b->update);
    if (result == AR_SMP_RESET) {
        b->resets++;
        if (boot(b) < AR_BOOT_RUN) {
            abort();
        }
    }
    return result;
}

int board_receive(board *b, uint8_t byte)
{
    b->is_unlimited = 1;
    return ar_update_receive(&b->update, byte);
}

int board_run(board *b, uint32_t ticks)
{
    if (setjmp(b->power) != 0) {
        return 0;
    }
    for (volatile uint32_t i = 0; i < ticks && b->out.tail == b->out.head; i++) {
        b->now_us += tick_us;
        if (b->out_byte >= 0) {
            b->out.data[b->out.head++ % LINE_BYTES] = (uint8_t)b->out_byte;
            b->out_byte = -1;
        }
        const int is_busy = b->now_us < b->busy_until_us;
        b->is_erasing = b->is_erasing && is_busy;
        if (b->in.tail != b->in.head) {
            const uint8_t byte = b->in.data[b->in.tail++ % LINE_BYTES];
            /* The processor stands still while it erases the memory from which it runs, so no interrupt takes the byte. */
            if (!b->is_erasing) {
                ar_update_receive(&b->update, byte);
            }
        }
        int result = AR_SMP_BUSY;
        while (b->now_us >= b->busy_until_us && (result == AR_SMP_BUSY || result == AR_SMP_WAITING)) {
            const double busy_before = b->busy_until_us;
            result = board_step(b);
            if (result == AR_SMP_RESET) {
                result = AR_SMP_BUSY;
            }
            /* A port that is not ready stays so until the next tick. */
            if (result == AR_SMP_WAITING && b->busy_until_us <= busy_before &&
                (b->out_byte >= 0 || ar_update_is_in_line(&b->update))) {
                break;
            }
        }
    }
    return 1;
}

double board_seconds(const board *b) { return b->now_us / 1e6; }

const char *board_violation(const board *b) { return b->flash.violation; }

uint32_t board_operations(const board *b) { return b->operations; }

uint32_t board_phase(const board *b) { return ar_boot_phase(&b->update.boot); }

uint32_t board_resets(const board *b) { return b->resets; }
