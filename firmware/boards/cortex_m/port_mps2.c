/* Port for Arm's MPS2 and MPS3 FPGA images. It uses the CMSDK APB UART, and a CMSDK APB timer or the SSE-300 system
 * counter. */
#include "health.h"
#include "port.h"

#if defined(PORT_AN505)
#define UART_BASE 0x50200000u
#define FPGAIO_BASE 0x50302000u
#define TIMER_BASE 0x50000000u
#elif defined(PORT_AN547)
#define UART_BASE 0x59303000u
#define FPGAIO_BASE 0x59302000u
#define COUNTER_BASE 0x58100000u
#else
#define UART_BASE 0x40004000u
#define FPGAIO_BASE 0x40028000u
#define TIMER_BASE 0x40000000u
#endif

#ifdef PORT_WATCHDOG_MS
/* CMSDK APB watchdog: it raises an NMI after its time, and resets the device after the same time again. */
#if defined(PORT_AN505)
#define WATCHDOG_BASE 0x5002E000u /* the watchdog on the 32 kHz clock */
#define WATCHDOG_PER_MS 32u
#elif defined(PORT_AN547)
#define WATCHDOG_BASE 0x5802E000u
#define WATCHDOG_PER_MS 32u
#else
#define WATCHDOG_BASE 0x40008000u
#define WATCHDOG_PER_MS 25000u
#endif
#define WATCHDOG(offset) (*(volatile uint32_t *)(WATCHDOG_BASE + (offset)))

void port_watchdog_start(void)
{
    WATCHDOG(0xC00) = 0x1ACCE551; /* LOCK: writes are allowed */
    WATCHDOG(0x000) = PORT_WATCHDOG_MS * WATCHDOG_PER_MS;
    WATCHDOG(0x008) = 3; /* CTRL: interrupt and reset */
}

void port_watchdog_feed(void) { WATCHDOG(0x00C) = 1; /* INTCLR: restart the count */ }
#endif

typedef struct {
    volatile uint32_t data, state, ctrl, intstatus, bauddiv;
} cmsdk_uart;
#define UART ((cmsdk_uart *)UART_BASE)

void port_init(void)
{
    UART->bauddiv = 25000000u / PORT_BAUD; /* the emulator only requires 16 or more */
    UART->ctrl = 3;                        /* transmit and receive */
    (void)UART->data; /* drop a stale byte; this read also makes the emulator look for input at once */
#if defined(COUNTER_BASE)
    *(volatile uint32_t *)COUNTER_BASE = 1; /* CNTCR.EN */
#else
    *(volatile uint32_t *)(TIMER_BASE + 8) = 0xFFFFFFFFu; /* reload */
    *(volatile uint32_t *)TIMER_BASE = 1;                 /* enable */
#endif
    port_mark(0); /* a reset switches the LEDs on */
}

#ifdef AR_MARK
void port_mark(uint32_t on)
{
    *(volatile uint32_t *)FPGAIO_BASE = on << ar_mark_pin; /* register LED0 has one bit for each user LED */
}
#endif

uint8_t port_getc(void)
{
    while ((UART->state & 2u) == 0) {
        health_alive();
    }
    return (uint8_t)UART->data;
}

void port_putc(uint8_t byte)
{
    while (UART->state & 1u) {
    }
    UART->data = byte;
}

uint32_t port_ticks(void)
{
#if defined(COUNTER_BASE)
    return *(volatile uint32_t *)(COUNTER_BASE + 8);
#else
    return ~*(volatile uint32_t *)(TIMER_BASE + 4); /* this timer counts down */
#endif
}
