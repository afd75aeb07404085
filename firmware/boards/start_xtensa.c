/* Start-up of an Xtensa core, called by start_xtensa.S once there is a stack. */
#include "start_memory.h"

int main(void);
void ar_start(void) __attribute__((noreturn));
void ar_start_c(void) __attribute__((noreturn));
void ar_fault(void) __attribute__((noreturn));

void port_restart(uint32_t reason)
{
    port_reason = PORT_REASON_MAGIC | reason;
    ar_start();
}

void ar_fault(void) { port_restart(PORT_FAULT); }

void ar_start_c(void)
{
    prepare_memory();
    main();
    ar_fault();
}
