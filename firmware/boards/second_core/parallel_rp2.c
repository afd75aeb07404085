/* The second core of an RP2040 or RP2350. It is started with functions of the Pico SDK, which every Arduino core for
 * these chips has.
 *
 * It sleeps in WFE until the first core sends an event. The core remembers an event that comes between a look into the
 * mailbox and WFE, and WFE then ends at once. The start uses the FIFOs between the cores; after that they are free.
 *
 * The second core runs from flash: the program must not write to flash while a model runs.
 *
 * This file was compiled and run with a stub of the SDK on a computer, but never on a board. In a build for any other
 * platform the two halves of a layer run one after the other.
 */
#include "mailbox.h"
#include "second_core.h"

#ifdef AR_SECOND_STACK
#if defined(ARDUINO_ARCH_RP2040) || defined(ARDUINO_ARCH_MBED_RP2040) || defined(PICO_ON_DEVICE)
#include "hardware/sync.h"
#include "pico/multicore.h"

#define PAINT 0x5AC3A5E1u

static uint32_t stack[(AR_SECOND_STACK + 7) / 8 * 2] __attribute__((aligned(8)));
static uint32_t started;

static void second_core(void)
{
    for (;;) {
        if (mailbox_serve()) {
            __sev();
        } else {
            __wfe();
        }
    }
}

void ar_fork(ar_layer_fn work)
{
    if (!started) {
        for (uint32_t i = 0; i < sizeof stack / 4; i++) {
            stack[i] = PAINT;
        }
        multicore_reset_core1();
        multicore_launch_core1_with_stack(second_core, stack, sizeof stack);
        started = 1;
    }
    mailbox_put(work);
    __sev();
}

void ar_join(void)
{
    while (!mailbox_empty()) {
        __wfe();
    }
}

uint32_t ar_second_stack_used(void)
{
    uint32_t left = 0;
    /* Until the first call of ar_fork, the stack is not painted but zero. */
    while (left < sizeof stack / 4 && (stack[left] == PAINT || stack[left] == 0)) {
        left++;
    }
    return (uint32_t)sizeof stack - 4 * left;
}
#else
void ar_fork(ar_layer_fn work) { work(); }
void ar_join(void) {}
uint32_t ar_second_stack_used(void) { return 0; }
#endif
#endif
