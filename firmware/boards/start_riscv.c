/* Start-up of a bare RV32 core in machine mode: stack, memory, and restart after a trap. */
#include "start_memory.h"

int main(void);
void ar_start(void) __attribute__((noreturn, naked, section(".vectors")));
void ar_start_c(void) __attribute__((noreturn));

/* The core starts here, at the first address of the program memory. */
void ar_start(void)
{
    __asm__ volatile("la sp, ar_stack_top\n"
                     "j ar_start_c\n");
}

void port_restart(uint32_t reason)
{
    port_reason = PORT_REASON_MAGIC | reason;
    ar_start();
}

/* mtvec wants four-byte alignment. Every trap is a fault: interrupts stay off. */
__attribute__((aligned(4), noreturn)) static void fault(void) { port_restart(PORT_FAULT); }

void ar_start_c(void)
{
    __asm__ volatile(PORT_CSR("csrw mtvec, %0")::"r"(fault));
    prepare_memory();
    main();
    fault();
}
