/* Arm MPS2 and MPS3 FPGA images: CMSDK APB UART, and a CMSDK APB timer or the SSE-300 system counter. */
#include "port.h"

#if defined(PORT_AN505)
#define UART_BASE 0x50200000u
#define TIMER_BASE 0x50000000u
#elif defined(PORT_AN547)
#define UART_BASE 0x59303000u
#define COUNTER_BASE 0x58100000u
#else
#define UART_BASE 0x40004000u
#define TIMER_BASE 0x40000000u
#endif

typedef struct {
    volatile uint32_t data, state, ctrl, intstatus, bauddiv;
} cmsdk_uart;
#define UART ((cmsdk_uart *)UART_BASE)

void port_init(void)
{
    UART->bauddiv = 217; /* 25 MHz / 115200; the emulator only asks for 16 or more */
    UART->ctrl = 3;      /* transmit and receive */
    (void)UART->data;    /* drop a stale byte; it also makes the emulator look for input at once */
#if defined(COUNTER_BASE)
    *(volatile uint32_t *)COUNTER_BASE = 1; /* CNTCR.EN */
#else
    *(volatile uint32_t *)(TIMER_BASE + 8) = 0xFFFFFFFFu; /* reload */
    *(volatile uint32_t *)TIMER_BASE = 1;                 /* enable */
#endif
}

uint8_t port_getc(void)
{
    while ((UART->state & 2u) == 0) {
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
    return ~*(volatile uint32_t *)(TIMER_BASE + 4); /* counts down */
#endif
}
