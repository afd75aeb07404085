/* Checks an image on an emulated core, and reports the result and the bytes of stack that the check used. */
#include "image.h"
#include <stddef.h>

extern const uint8_t image_start[], image_end[], key_start[], abi_start[];
extern uint32_t stack_bottom[], stack_top[];
void reset(void);

__attribute__((section(".vectors"), used)) static void *const VECTORS[16] = {stack_top, (void *)reset};

enum { PAINT = 0x5a5a5a5a };

/* The host reads these two numbers. `done` has a breakpoint. */
volatile uint32_t reported[2];
void __attribute__((noinline, noclone)) done(void) { __asm__ volatile("nop"); }

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

static int read_image(void *context, uint32_t at, void *data, uint32_t bytes)
{
    uint8_t *to = data;
    (void)context;
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = image_start[at + i];
    }
    return 0;
}

/* The bytes that the check returned remain in this variable, outside the stack. */
static ar_image image;

static int __attribute__((noinline)) run_check(void)
{
#ifdef WITHOUT_CHECK
    (void)read_image;
    return (int)image.bytes;
#else
    static ar_flash flash;
    static ar_image_rules rules;
    flash.page_bytes = 1;
    flash.pages = (uint32_t)(image_end - image_start);
    flash.unit_bytes = 1;
    flash.read = read_image;
    rules.public_key = key_start;
    rules.board = DEVICE_BOARD;
    rules.abi = abi_start;
    rules.min_counter = 1;
    rules.kind = AR_IMAGE_MODEL;
    return ar_image_check(&flash, &rules, &image);
#endif
}

void reset(void)
{
    uint32_t *here = __builtin_frame_address(0);
    volatile uint32_t *at = stack_bottom;
    while (at < here - 16) {
        *at++ = PAINT;
    }
    reported[0] = (uint32_t)run_check();
    at = stack_bottom;
    while (*at == PAINT) {
        at++;
    }
    reported[1] = (uint32_t)((uintptr_t)here - (uintptr_t)at);
    for (;;) {
        done();
    }
}
