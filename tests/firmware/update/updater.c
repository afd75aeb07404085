/* Runs the parts of an updater on an emulated core: the boot loader with the check of an image (PARTS is 1), the
 * application's part with a request of a client (2), both (3), or the application's part with device.h (4). Reports results,
 * bytes of stack and ticks of the check. If PARTS is 0, there is only the scaffold, whose size is subtracted.
 *
 * If TWO_PROGRAMS is defined, the boot loader has its table of functions. The application calls these functions, and is at
 * another address; interrupts would be the loader's, so it measures no time. */
#include "boot.h"
#include "device.h"
#include "flash_nrf.h"
#include "image.h"
#include "loader_functions.h"
#include "smp.h"
#include <stddef.h>

extern const uint8_t image_start[], image_end[], key_start[], abi_start[], request_start[], request_end[];
extern uint32_t stack_bottom[], stack_top[];
void reset(void);
void tick(void);

#if defined(TWO_PROGRAMS) && PARTS == 1
#define TABLE ((void *)&LOADER_FUNCTIONS)
#else
#define TABLE ((void *)0)
#endif
__attribute__((section(".vectors"), used)) static void *const VECTORS[16] = {
    stack_top, (void *)reset, [LOADER_TABLE_WORD] = TABLE, [15] = (void *)tick};

enum { PAINT = 0x5a5a5a5a, PAGE = 1024, STATE_PAGES = 4, LOOPS = 1000000 };

/* The host reads these numbers. `done` has a breakpoint. */
enum { LOADER_RESULT, LOADER_STACK, SERVER_RESULT, SERVER_STACK, CHECK_TICKS, LOOP_TICKS, RESULTS };
volatile uint32_t reported[RESULTS];
void __attribute__((noinline, noclone)) done(void) { __asm__ volatile("nop"); }
/* The compiler must not know these two. */
static volatile uint32_t is_nrf;
static volatile uint32_t overflows;
static uint8_t state_pages[STATE_PAGES * PAGE];
static uint32_t answer_bytes;

#if defined(TWO_PROGRAMS) && PARTS != 1
enum { MEASURES_TIME = 0 };
#else
enum { MEASURES_TIME = 1 };
#endif

#define SYSTICK ((volatile uint32_t *)0xe000e010)
void tick(void) { overflows++; }

static uint32_t ticks(void)
{
    uint32_t high, low;
    do {
        high = overflows;
        low = 0xffffff - SYSTICK[2];
    } while (high != overflows);
    return high * 0x1000000 + low;
}

void *memset(void *to, int value, size_t bytes);
void *memset(void *to, int value, size_t bytes)
{
    uint8_t *at = to;
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)value;
    }
    return to;
}
void *memcpy(void *to, const void *from, size_t bytes);
void *memcpy(void *to, const void *from, size_t bytes)
{
    uint8_t *at = to;
    for (size_t i = 0; i < bytes; i++) {
        at[i] = ((const uint8_t *)from)[i];
    }
    return to;
}

/* A slot with the image, or an empty one, whose context is 0. */
static int read_slot(void *context, uint32_t at, void *data, uint32_t bytes)
{
    uint8_t *to = data;
    uint32_t size = context != 0 ? (uint32_t)(image_end - image_start) : 0;
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = at + i < size ? image_start[at + i] : 0xff;
    }
    return 0;
}
static int no_write(void *context, uint32_t page) { return context == 0 && page == 0; }
static int no_program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    return context == 0 && at + bytes + (data != 0) == 0;
}

static int erase_state(void *context, uint32_t page)
{
    memset((uint8_t *)context + page * PAGE, 0xff, PAGE);
    return 0;
}
static int program_state(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    memcpy((uint8_t *)context + at, data, bytes);
    return 0;
}
static int read_state(void *context, uint32_t at, void *data, uint32_t bytes)
{
    memcpy(data, (const uint8_t *)context + at, bytes);
    return 0;
}

static int put(void *context, uint8_t byte)
{
    (void)context;
    (void)byte;
    answer_bytes++;
    return 1;
}
static int describe_slot(void *context, uint32_t index, ar_smp_slot *slot)
{
    (void)context;
    slot->flags = AR_SMP_BOOTABLE | AR_SMP_CONFIRMED | AR_SMP_ACTIVE;
    memset(slot->hash, 7, sizeof slot->hash);
    return index < 2;
}
static int on_upload(void *context, const ar_smp_upload *upload) { return context != 0 && upload != 0; }
static int on_chunk(void *context, uint32_t at, const uint8_t *data, uint32_t bytes)
{
    return context != 0 && at + bytes + (data != 0) != 0;
}
static int on_hash(void *context, const uint8_t *hash) { return context != 0 && hash != 0; }
static int on_number(void *context, uint32_t number) { return context != 0 && number != 0; }
static int on_reset(void *context, int is_forced) { return context != 0 && is_forced; }
static const char *stat_group(void *context, uint32_t group)
{
    (void)context;
    return group == 0 ? "device" : 0;
}
static const char *stat(void *context, uint32_t group, uint32_t field, uint32_t *value)
{
    (void)context;
    *value = field;
    return group == 0 && field == 0 ? "frames" : 0;
}
const ar_smp_actions ACTIONS __attribute__((used)) = {
    .put = put,
    .slot = describe_slot,
    .upload_begin = on_upload,
    .upload_chunk = on_chunk,
    .upload_end = on_upload,
    .test = on_hash,
    .confirm = on_hash,
    .erase = on_number,
    .reset_request = on_reset,
    .stat_group = stat_group,
    .stat = stat,
    .unit_bytes = 4,
};
const ar_flash SLOTS[4] __attribute__((used)) = {
    {PAGE, 8, 4, no_write, no_program, read_slot, 0, (void *)image_start},
    {PAGE, 8, 4, no_write, no_program, read_slot, 0, 0},
    {PAGE, 1, 4, no_write, no_program, read_slot, 0, 0},
    {PAGE, STATE_PAGES, 4, erase_state, program_state, read_state, 0, state_pages},
};

#if PARTS != 0
static void prepare_boot(ar_boot *boot)
{
    boot->pairs[0].slots[0] = &SLOTS[0];
    boot->pairs[0].slots[1] = &SLOTS[1];
    boot->pairs[0].scratch = &SLOTS[2];
    boot->pair_count = 1;
    boot->state = &SLOTS[3];
    boot->trials = 1;
#ifdef TWO_PROGRAMS
    if (is_nrf) {
        static ar_slots slots;
        ar_slots_start(&slots, boot);
    }
#else
    if (is_nrf) {
        static ar_flash flash;
        ar_flash_nrf(&flash, 0x20000, PAGE, STATE_PAGES);
        boot->state = &flash;
    }
#endif
}
#endif

#if (PARTS & 3) != 0
static ar_boot boot;
#endif

#if (PARTS & 1) != 0
static int check(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *found)
{
    ar_boot *self = context;
    ar_image image;
    const ar_image_rules rules = {key_start, DEVICE_BOARD, 0, 0, minimum, AR_IMAGE_MODEL};
    uint32_t before = ticks();
    int result = ar_image_check(self->pairs[pair].slots[slot], &rules, &image);
    reported[CHECK_TICKS] += ticks() - before;
    found->bytes = image.bytes;
    found->counter = image.counter;
    memcpy(found->abi, image.abi, sizeof found->abi);
    return result;
}

static int __attribute__((noinline)) run_loader(void)
{
    prepare_boot(&boot);
    boot.check = check;
    boot.context = &boot;
    return ar_boot_start(&boot) != 0 ? -1 : ar_boot_choose(&boot);
}
#else
static int run_loader(void)
{
    return is_nrf ? (int)(key_start[0] + abi_start[0] + (uint32_t)DEVICE_BOARD[0] + SLOTS[0].pages) : 0;
}
#endif

#if (PARTS & 2) != 0
static ar_smp smp;

/* Answers a request, and changes the state in each way. */
static int __attribute__((noinline)) run_server(void)
{
    prepare_boot(&boot);
#ifdef TWO_PROGRAMS
    if (!loader_has_functions()) {
        return -2;
    }
#endif
    if (ar_boot_start(&boot) != 0) {
        return -1;
    }
    ar_smp_start(&smp, &ACTIONS);
    for (const uint8_t *at = request_start; at < request_end;) {
        at += ar_smp_receive(&smp, *at);
        ar_smp_step(&smp);
    }
    while (ar_smp_step(&smp) != AR_SMP_IDLE) {
    }
    uint32_t refused = (uint32_t)ar_boot_prepare(&boot);
    while (ar_boot_step(&boot) == AR_STORE_BUSY) {
    }
    refused += (uint32_t)ar_boot_request(&boot, 1);
    while (ar_boot_step(&boot) == AR_STORE_BUSY) {
    }
    refused += (uint32_t)ar_boot_confirm(&boot) + (uint32_t)ar_boot_reject(&boot, 1);
    return (int)(answer_bytes + 1000 * refused + 10000 * ar_boot_phase(&boot));
}
#elif (PARTS & 4) != 0
static ar_update update;
static ar_update_board board;

/* A function of its own: the memories are not needed when it returns. */
static int __attribute__((noinline)) start_device(void)
{
    ar_boot memories;
    prepare_boot(&memories);
    board.board = DEVICE_BOARD;
    board.pairs[0] = memories.pairs[0];
    board.pair_count = memories.pair_count;
    board.state = memories.state;
    board.put = put;
    return ar_update_start(&update, &board);
}

/* Answers a request, and changes the state in each way. */
static int __attribute__((noinline)) run_server(void)
{
    if (!loader_has_functions()) {
        return -2;
    }
    if (start_device() != 0) {
        return -1;
    }
    for (const uint8_t *at = request_start; at < request_end;) {
        at += ar_update_receive(&update, *at);
        ar_update_step(&update);
    }
    while (ar_update_step(&update) != AR_SMP_IDLE) {
    }
    const uint32_t refused = (uint32_t)ar_update_confirm(&update) + (uint32_t)ar_update_reject(&update, 1);
    return (int)(answer_bytes + 1000 * refused + 10000 * (uint32_t)ar_update_is_trial(&update));
}
#else
static int run_server(void) { return (int)(request_end - request_start) + (int)ACTIONS.unit_bytes; }
#endif

/* Returns the bytes of stack that `part` uses. */
static uint32_t __attribute__((noinline)) measure(int (*part)(void), volatile uint32_t *result)
{
    uint32_t *here = __builtin_frame_address(0);
    volatile uint32_t *at = stack_bottom;
    while (at < here - 16) {
        *at++ = PAINT;
    }
    *result = (uint32_t)part();
    at = stack_bottom;
    while (*at == PAINT) {
        at++;
    }
    return (uint32_t)((uintptr_t)here - (uintptr_t)at);
}

void reset(void)
{
    SYSTICK[1] = 0xffffff;
    SYSTICK[2] = 0;
    SYSTICK[0] = MEASURES_TIME ? 7 : 0;
    uint32_t before = ticks();
    /* Two instructions each. */
    __asm__ volatile(".syntax unified\n mov r3, %0\n1: subs r3, r3, #1\n bne 1b" : : "r"(LOOPS) : "r3", "cc");
    reported[LOOP_TICKS] = ticks() - before;
    memset(state_pages, 0xff, sizeof state_pages);
    reported[LOADER_STACK] = measure(run_loader, &reported[LOADER_RESULT]);
    reported[SERVER_STACK] = measure(run_server, &reported[SERVER_RESULT]);
    for (;;) {
        done();
    }
}
