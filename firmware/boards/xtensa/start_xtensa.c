/* Start-up of an Xtensa core, called by start_xtensa.S once there is a stack. */
#include "health.h"
#include "start_memory.h"

int main(void);
void ar_start(void) __attribute__((noreturn));
void ar_start_c(void) __attribute__((noreturn));
void ar_fault(void) __attribute__((noreturn));

void port_restart(uint32_t reason)
{
    /* Volatile, because nothing here reads it and the compiler could remove a plain store. */
    *(volatile uint32_t *)&port_reason = PORT_REASON_MAGIC | reason;
    ar_start();
}

/* Runs on an empty stack, see start_xtensa.S. */
void ar_fault(void)
{
#ifdef AR_HEALTH
    uint32_t trap, pc, address;
    __asm__ volatile("rsr %0, exccause" : "=r"(trap));
    __asm__ volatile("rsr %0, epc1" : "=r"(pc));
    __asm__ volatile("rsr %0, excvaddr" : "=r"(address));
    if (pc == 0) { /* not an exception but a BREAK instruction, which has its own registers */
        trap = 64; /* codes of exceptions are below 64 */
        address = 0;
        __asm__ volatile("rsr %0, epc2" : "=r"(pc));
    }
    health_trapped(LOG_FAULT, pc, address, trap);
#endif
    port_restart(PORT_FAULT);
}

void ar_start_c(void)
{
#ifdef AR_HEALTH
    /* If epc1 is still 0 in ar_fault, there was no exception. */
    __asm__ volatile("wsr %0, epc1\n"
                     "wsr %0, epc2\n"
                     "wsr %0, excvaddr" ::"r"(0));
#endif
    prepare_memory();
    main();
    ar_fault();
}
