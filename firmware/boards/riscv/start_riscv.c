/* Start-up of a bare RV32 core in machine mode: stack, initialization of memory, and restart after a trap. */
#include "health.h"
#include "second_core.h"
#include "start_memory.h"

int main(void);
void ar_start(void) __attribute__((noreturn, naked, section(".vectors")));
void ar_start_c(void) __attribute__((noreturn));

/* The core starts here, at the first address of the program memory. */
void ar_start(void)
{
#ifdef PORT_HARTS
    /* All harts start here. */
    __asm__ volatile(PORT_CSR("csrr t0, mhartid") "bnez t0, ar_start_second\n");
#endif
    __asm__ volatile("la sp, ar_stack_top\n"
                     "j ar_start_c\n");
}

#if defined(PORT_HARTS) && defined(AR_SECOND_STACK)
static uint32_t hart(void)
{
    uint32_t number;
    __asm__ volatile(PORT_CSR("csrr %0, mhartid") : "=r"(number));
    return number;
}
#endif

void port_restart(uint32_t reason)
{
#if defined(PORT_HARTS) && defined(AR_SECOND_STACK)
    if (hart() != 0) {
        ar_second_failed();
        ar_start();
    }
    ar_second_settle();
#endif
    /* Volatile, because nothing here reads it and the compiler could remove a plain store. */
    *(volatile uint32_t *)&port_reason = PORT_REASON_MAGIC | reason;
    ar_start();
}

/* The trap handler `fault` is aligned to four bytes, as mtvec requires. Every trap is a fault, because interrupts stay
 * off. */
#ifdef AR_HEALTH
static void __attribute__((noreturn, used)) trapped(void)
{
    uint32_t trap, pc, address;
    __asm__ volatile(PORT_CSR("csrr %0, mcause") : "=r"(trap));
    __asm__ volatile(PORT_CSR("csrr %0, mepc") : "=r"(pc));
    __asm__ volatile(PORT_CSR("csrr %0, mtval") : "=r"(address));
    health_trapped(LOG_FAULT, pc, address, trap); /* if this is the second hart, the first one waits for it */
    port_restart(PORT_FAULT);
}

/* The stack may be damaged, so continue on an empty one. */
__attribute__((aligned(4), naked, noreturn)) static void fault(void)
{
#if defined(PORT_HARTS) && defined(AR_SECOND_STACK)
    __asm__ volatile(PORT_CSR("csrr t0, mhartid") "beqz t0, 1f\n"
                                                  "la sp, ar_second_stack + %0\n"
                                                  "andi sp, sp, -16\n"
                                                  "j trapped\n"
                                                  "1:\n" ::"i"(AR_SECOND_STACK));
#endif
    __asm__ volatile("la sp, ar_stack_top\n"
                     "j trapped\n");
}
#else
__attribute__((aligned(4), noreturn)) static void fault(void) { port_restart(PORT_FAULT); }
#endif

void ar_start_c(void)
{
    __asm__ volatile(PORT_CSR("csrw mtvec, %0")::"r"(fault));
    prepare_memory();
    main();
    fault();
}

#ifdef PORT_HARTS
void ar_start_second(void) __attribute__((noreturn, naked));

#ifdef AR_SECOND_STACK
void ar_start_second_c(void) __attribute__((noreturn));

void ar_start_second_c(void)
{
    __asm__ volatile(PORT_CSR("csrw mtvec, %0")::"r"(fault));
    ar_second_core();
}

void ar_start_second(void)
{
    __asm__ volatile("la sp, ar_second_stack + %0\n"
                     "andi sp, sp, -16\n"
                     "j ar_start_second_c\n" ::"i"(AR_SECOND_STACK));
}
#else
/* The other harts have nothing to do. */
void ar_start_second(void)
{
    __asm__ volatile("1: wfi\n"
                     "j 1b\n");
}
#endif
#endif
