/* Serial port and timer of the boot loader on Nordic's nRF52, on which nothing else has touched clocks and pins. It sends
 * with UARTE0 and receives nothing. TIMER0 runs at 16 MHz. Without PORT_TX_PIN, the loader is silent. */
#include "port.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define TIMER(offset) REGISTER(0x40008000u + (offset))

#ifdef PORT_TX_PIN
#define UART(offset) REGISTER(0x40002000u + (offset))
#define GPIO(offset) REGISTER(0x50000000u + PORT_TX_PIN / 32u * 0x300u + (offset))

/* The controller reads what it sends from RAM. */
static volatile uint8_t sent;

static void serial_init(void)
{
    GPIO(0x508u) = 1u << PORT_TX_PIN % 32u;     /* OUTSET: an idle line is high */
    GPIO(0x700u + PORT_TX_PIN % 32u * 4u) = 3u; /* PIN_CNF: output, input disconnected */
    UART(0x50Cu) = PORT_TX_PIN; /* PSEL.TXD; bit 5 is the port, and bit 31 is 0 for a pin that is connected */
    UART(0x524u) = 0x01D60000u; /* BAUDRATE: 115200 */
    UART(0x500u) = 8u;          /* ENABLE */
}

void port_putc(uint8_t byte)
{
    sent = byte;
    UART(0x544u) = (uint32_t)(uintptr_t)&sent; /* TXD.PTR */
    UART(0x548u) = 1u;                         /* TXD.MAXCNT */
    UART(0x120u) = 0u;                         /* ENDTX */
    UART(0x008u) = 1u;                         /* STARTTX */
    while (UART(0x120u) == 0u) {
    }
}
#else
static void serial_init(void) {}
void port_putc(uint8_t byte) { (void)byte; }
#endif

void port_init(void)
{
    serial_init();
    TIMER(0x508u) = 3u; /* BITMODE: 32 bits */
    TIMER(0x510u) = 0u; /* PRESCALER */
    TIMER(0x000u) = 1u; /* START */
}

uint32_t port_ticks(void)
{
    TIMER(0x040u) = 1u; /* CAPTURE[0] */
    return TIMER(0x540u);
}
