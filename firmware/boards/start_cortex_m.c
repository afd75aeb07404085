/* Start-up of every Cortex-M: vector table, memory, and restart after a fault. */
#include "start_memory.h"

int main(void);
void ar_start(void) __attribute__((noreturn));

#define SCB_AIRCR (*(volatile uint32_t *)0xE000ED0Cu)
#define SCB_CCR (*(volatile uint32_t *)0xE000ED14u)
#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88u)

void port_restart(uint32_t reason)
{
    port_reason = PORT_REASON_MAGIC | reason;
    SCB_AIRCR = 0x05FA0004u; /* VECTKEY, SYSRESETREQ */
    for (;;) {
    }
}

/* The configurable faults are not enabled, so every fault arrives as a HardFault. */
static void __attribute__((noreturn)) fault(void) { port_restart(PORT_FAULT); }

void ar_start(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    SCB_CPACR |= 0xFu << 20; /* full access to CP10 and CP11: FPU and MVE */
#endif
#if defined(__ARM_FEATURE_MVE)
    SCB_CCR |= 1u << 19; /* LOB: cached low-overhead loops */
#endif
    __asm__ volatile("dsb\n isb" ::: "memory");
    prepare_memory();
    main();
    fault(); /* main() serves for ever */
}

/* No interrupt is ever enabled: only what a core takes by itself (reset, NMI, HardFault). */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
} vectors = {ar_stack_top, {ar_start, fault, fault}};
