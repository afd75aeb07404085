/* The serial port and the sleep of Arm's MPS2 and MPS3 boards, for applications. */
#include "console.h"
#include "port.h"
#include "sensor.h"

#if defined(PORT_AN505)
#define UART_BASE 0x50200000u
#elif defined(PORT_AN547)
#define UART_BASE 0x59303000u
#else
#define UART_BASE 0x40004000u
#define TIMER_BASE 0x40001000u /* CMSDK timer 1 */
#define TIMER_IRQ 9u
#endif
#define UART(offset) (*(volatile uint32_t *)(UART_BASE + (offset)))

uint32_t console_port_put(uint8_t byte)
{
    if (UART(4) & 1u) {
        return 0;
    }
    UART(0) = byte;
    return 1;
}

uint32_t console_port_get(uint8_t *byte)
{
    if ((UART(4) & 2u) == 0) {
        return 0;
    }
    *byte = (uint8_t)UART(0);
    return 1;
}

#ifdef TIMER_BASE
#define TIMER(offset) (*(volatile uint32_t *)(TIMER_BASE + (offset)))
#define NVIC(offset) (*(volatile uint32_t *)(0xE000E000u + (offset)))

void console_port_init(void)
{
    port_init();
    /* A pending interrupt ends WFI although interrupts are masked, so no handler is needed. */
    __asm__ volatile("cpsid i");
    TIMER(8) = 25000u - 1u; /* reload: a millisecond at 25 MHz */
    TIMER(0) = 9;           /* enable, with interrupt */
    NVIC(0x100) = 1u << TIMER_IRQ;
}

void sensor_wait(void)
{
    __asm__ volatile("dsb\n wfi" ::: "memory");
    TIMER(0xC) = 1; /* clear the interrupt, in the timer and in the NVIC */
    NVIC(0x280) = 1u << TIMER_IRQ;
}
#else
void console_port_init(void) { port_init(); }
void sensor_wait(void) {}
#endif
