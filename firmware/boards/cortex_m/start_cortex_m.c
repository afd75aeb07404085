/* Start-up of every Cortex-M: the vector table, the initialization of memory, and the restart after a fault. */
#include "health.h"
#include "start_memory.h"

int main(void);
void ar_start(void) __attribute__((noreturn));

#define SCB_AIRCR (*(volatile uint32_t *)0xE000ED0Cu)
#define SCB_CCR (*(volatile uint32_t *)0xE000ED14u)
#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88u)

void port_restart(uint32_t reason)
{
    /* Volatile, because nothing here reads it and the compiler could remove a plain store. */
    *(volatile uint32_t *)&port_reason = PORT_REASON_MAGIC | reason;
    SCB_AIRCR = 0x05FA0004u; /* VECTKEY, SYSRESETREQ */
    for (;;) {
    }
}

/* The configurable faults are not enabled, so every fault arrives as a HardFault. */
#ifdef AR_HEALTH
#define SCB_CFSR (*(volatile uint32_t *)0xE000ED28u)
#define SCB_MMFAR (*(volatile uint32_t *)0xE000ED34u)
#define SCB_BFAR (*(volatile uint32_t *)0xE000ED38u)

static void __attribute__((noreturn, used)) trapped(uint32_t pc)
{
    uint32_t exception, trap = 0, address = 0;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    if (exception == 2) { /* the NMI of the watchdog */
        health_trapped(LOG_WATCHDOG, pc, 0, 0);
        port_restart(PORT_WATCHDOG);
    }
#if !defined(__ARM_ARCH_6M__) && !defined(__ARM_ARCH_8M_BASE__)
    const uint32_t status = SCB_CFSR;
    while (trap < 32 && (status >> trap & 1u) == 0) {
        trap++;
    }
    address = status & 1u << 15 ? SCB_BFAR : status & 1u << 7 ? SCB_MMFAR : 0;
    trap++; /* 1 + the number of the lowest bit that is set in the status; 33 if none is set */
#endif
    health_trapped(LOG_FAULT, pc, address, trap);
    port_restart(PORT_FAULT);
}

/* Handles every exception. The stack may be damaged, so this reads the address of the fault from the exception frame
 * only if the stack pointer is within the stack. Then it calls `trapped` with that address (or 0) on an empty stack. */
static void __attribute__((naked, noreturn)) fault(void)
{
    __asm__ volatile(".syntax unified\n"
                     "mrs r1, msp\n"
                     "movs r0, #0\n"
                     "ldr r2, 2f\n"
                     "cmp r1, r2\n"
                     "blo 1f\n"
                     "ldr r2, 3f\n"
                     "subs r2, #32\n"
                     "cmp r1, r2\n"
                     "bhi 1f\n"
                     "ldr r0, [r1, #24]\n"
                     "1: ldr r2, 3f\n"
                     "msr msp, r2\n"
                     "ldr r2, 4f\n"
                     "bx r2\n"
                     ".align 2\n"
                     "2: .word ar_stack_low\n"
                     "3: .word ar_stack_top\n"
                     "4: .word trapped\n");
}
#else
static void __attribute__((noreturn)) fault(void) { port_restart(PORT_FAULT); }
#endif

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
    fault(); /* main() never returns */
}

/* No interrupt is ever enabled, so there are only the entries that cannot be disabled: reset, NMI and HardFault. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[3])(void);
} vectors = {ar_stack_top, {ar_start, fault, fault}};
