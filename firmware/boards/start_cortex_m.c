/* Start-up of every Cortex-M: vector table, memory, and restart after a fault. */
#include "port.h"

extern uint32_t ar_stack_low[], ar_stack_top[];
extern uint32_t ar_data_start[], ar_data_end[], ar_data_load[];
extern uint32_t ar_bss_start[], ar_bss_end[];
int main(void);
void ar_start(void) __attribute__((noreturn));

#define SCB_AIRCR (*(volatile uint32_t *)0xE000ED0Cu)
#define SCB_CCR (*(volatile uint32_t *)0xE000ED14u)
#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88u)

uint32_t port_reason __attribute__((section(".noinit.port_reason")));

void port_restart(uint32_t reason)
{
    port_reason = PORT_REASON_MAGIC | reason;
    SCB_AIRCR = 0x05FA0004u; /* VECTKEY, SYSRESETREQ */
    for (;;) {
    }
}

/* Every fault of an engine without interrupts: configurable faults are not enabled, so all arrive here. */
static void fault(void) { port_restart(PORT_FAULT); }

/* Runs before .data and .bss exist. The linker puts the stack below everything else, so that an overflow
 * leaves the RAM and faults instead of reaching the arena. */
void ar_start(void)
{
    uint32_t *word, *from;
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    SCB_CPACR |= 0xFu << 20; /* full access to CP10 and CP11: FPU and MVE */
#endif
#if defined(__ARM_FEATURE_MVE)
    SCB_CCR |= 1u << 19; /* LOB: cached low-overhead loops */
#endif
    __asm__ volatile("dsb\n isb" ::: "memory");
    for (word = ar_stack_low; word < (uint32_t *)__builtin_frame_address(0) - 16; word++) {
        *word = PORT_STACK_PAINT;
    }
    for (word = ar_data_start, from = ar_data_load; word < ar_data_end;) {
        *word++ = *from++;
    }
    for (word = ar_bss_start; word < ar_bss_end;) {
        *word++ = 0;
    }
    main();
    port_restart(PORT_FAULT); /* main() serves for ever */
}

/* No interrupt is ever enabled: only the entries that a core can take by itself. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
} vectors = {ar_stack_top, {ar_start, fault, fault}};
