/* Port for QEMU's RISC-V machine "virt". It uses the 16550 UART, and the core's counter of retired instructions. */
#include "health.h"
#include "port.h"

#define UART(offset) (*(volatile uint8_t *)(0x10000000u + (offset)))

void port_init(void)
{
    UART(2) = 0xC1; /* FCR: FIFO on with a high trigger level, up to which the emulator fills it at once */
    (void)UART(0);  /* drop a stale byte; this read also makes the emulator look for input at once */
}

uint8_t port_getc(void)
{
    while ((UART(5) & 1u) == 0) { /* LSR.DR */
        health_alive();
    }
    return UART(0);
}

void port_putc(uint8_t byte)
{
    while ((UART(5) & 0x20u) == 0) { /* LSR.THRE */
    }
    UART(0) = byte;
}

uint32_t port_ticks(void)
{
    uint32_t count;
    __asm__ volatile(PORT_CSR("csrr %0, minstret") : "=r"(count));
    return count;
}
