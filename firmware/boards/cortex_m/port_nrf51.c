/* Port for Nordic's nRF51 (BBC micro:bit). It uses UART0 on the pins that lead to the board's USB interface chip, and
 * TIMER0 at 16 MHz. */
#include "health.h"
#include "port.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART(offset) REGISTER(0x40002000u + (offset))
#define GPIO(offset) REGISTER(0x50000000u + (offset))
#define TIMER(offset) REGISTER(0x40008000u + (offset))

void port_init(void)
{
    UART(0x50C) = 24;                                           /* PSELTXD */
    UART(0x514) = 25;                                           /* PSELRXD */
    UART(0x524) = PORT_BAUD == 9600u ? 0x00275000 : 0x01D7E000; /* BAUDRATE: 9600 or 115200 */
    UART(0x500) = 4;                                            /* ENABLE */
    UART(0x000) = 1;                                            /* STARTRX */
    UART(0x008) = 1;                                            /* STARTTX */
    TIMER(0x508) = 3;                                           /* BITMODE: 32 bits; only TIMER0 has them */
    TIMER(0x510) = 0;                                           /* PRESCALER */
    TIMER(0x000) = 1;                                           /* START */
#ifdef AR_MARK
    GPIO(0x518) = 1u << ar_mark_pin; /* DIRSET */
#endif
}

#ifdef AR_MARK
void port_mark(uint32_t on) { GPIO(on ? 0x508u : 0x50Cu) = 1u << ar_mark_pin; /* OUTSET, OUTCLR */ }
#endif

uint8_t port_getc(void)
{
    while (UART(0x108) == 0) { /* RXDRDY */
        health_alive();
    }
    UART(0x108) = 0;
    return (uint8_t)UART(0x518);
}

void port_putc(uint8_t byte)
{
    UART(0x11C) = 0; /* TXDRDY */
    UART(0x51C) = byte;
    while (UART(0x11C) == 0) {
        health_alive();
    }
}

uint32_t port_ticks(void)
{
    TIMER(0x040) = 1; /* CAPTURE[0] */
    return TIMER(0x540);
}
