/* Hart 1 is the second core of a RISC-V machine with a CLINT (QEMU's "virt"). Each of the two harts sleeps until the
 * other one sets its software interrupt, which is called the bell here.
 *
 * The interrupt is enabled in mie but not globally, so the bell ends the WFI and causes no trap. A hart clears its bell
 * before it reads the mailbox, so that a bell in between is not lost.
 */
#include "mailbox.h"
#include "port.h"
#include "second_core.h"

#ifdef AR_SECOND_STACK
#define BELL(hart) (*(volatile uint32_t *)(0x02000000u + 4u * (hart)))
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define LISTEN() __asm__ volatile(PORT_CSR("csrsi mie, 8")) /* MSIE: the bell ends a WFI */
#define SLEEP() __asm__ volatile("wfi" ::: "memory")

uint32_t ar_second_stack[AR_SECOND_STACK / 4]
    __attribute__((aligned(16), section(".noinit.ar_second_stack")));
static volatile uint32_t failed;

void ar_fork(ar_layer_fn work)
{
    mailbox_put(work);
    FENCE(); /* the mailbox must be written before the bell */
    BELL(1) = 1;
}

void ar_join(void)
{
    LISTEN();
    for (;;) {
        BELL(0) = 0;
        FENCE();
        if (mailbox_empty()) {
            return;
        }
        if (failed) {
            port_restart(PORT_FAULT);
        }
        SLEEP();
    }
}

void ar_second_failed(void)
{
    failed = 1;
    FENCE();
    BELL(0) = 1;
}

void ar_second_settle(void)
{
    while (!mailbox_empty() && !failed) {
    }
}

void ar_second_core(void)
{
    uint32_t *const frame = (uint32_t *)__builtin_frame_address(0) - 16;
    for (uint32_t *word = ar_second_stack; word < frame; word++) {
        *word = PORT_STACK_PAINT;
    }
    LISTEN();
    for (;;) {
        /* Wait for the first bell: before it, hart 0 may not have cleared the mailbox. */
        while ((BELL(1) & 1u) == 0) {
            SLEEP();
        }
        BELL(1) = 0;
        FENCE();
        if (mailbox_serve()) {
            FENCE();
            BELL(0) = 1;
        }
    }
}

uint32_t ar_second_stack_used(void)
{
    uint32_t left = 0;
    while (left < AR_SECOND_STACK / 4 && ar_second_stack[left] == PORT_STACK_PAINT) {
        left++;
    }
    return AR_SECOND_STACK - 4 * left;
}
#endif
