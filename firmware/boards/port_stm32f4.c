/* STM32F405 as QEMU has it (netduinoplus2): USART1 and TIM2.
 *
 * Clocks and pins are not set up: the emulator has none. On a real board the Arduino core does that.
 */
#include "port.h"

typedef struct {
    volatile uint32_t sr, dr, brr, cr1;
} usart;
#define USART1 ((usart *)0x40011000u)
#define TIM2(offset) (*(volatile uint32_t *)(0x40000000u + (offset)))

void port_init(void)
{
    USART1->brr = 16000000u / 115200u;
    USART1->cr1 = 0x200C;        /* UE, TE, RE */
    TIM2(0x28) = TIM2_PRESCALER; /* PSC */
    TIM2(0x2C) = 0xFFFFFFFFu;    /* ARR */
    TIM2(0x14) = 1;              /* EGR.UG: take the prescaler over */
    TIM2(0x00) = 1;              /* CR1.CEN */
}

uint8_t port_getc(void)
{
    while ((USART1->sr & 0x20u) == 0) { /* RXNE */
    }
    return (uint8_t)USART1->dr;
}

void port_putc(uint8_t byte)
{
    while ((USART1->sr & 0x80u) == 0) { /* TXE */
    }
    USART1->dr = byte;
}

uint32_t port_ticks(void) { return TIM2(0x24); }
