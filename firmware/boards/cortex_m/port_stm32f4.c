/* Port for the STM32F405 as QEMU emulates it (machine netduinoplus2). It uses USART1 and TIM2.
 *
 * QEMU has no clocks and no pins, so those of the serial port are not initialized. The pin of AR_MARK is: QEMU logs the
 * writes to its registers, and Arenite reads that log. On a real board the Arduino core does all this.
 * TIM2_PRESCALER is a macro that the build sets, so that TIM2 counts 50 ticks per microsecond.
 */
#include "health.h"
#include "port.h"

typedef struct {
    volatile uint32_t sr, dr, brr, cr1;
} usart;
#define USART1 ((usart *)0x40011000u)
#define TIM2(offset) (*(volatile uint32_t *)(0x40000000u + (offset)))

#ifdef AR_MARK
/* Pins are numbered across all ports: PA0 is 0, PB0 is 16. */
#define RCC_AHB1ENR (*(volatile uint32_t *)0x40023830u)
#define GPIO(offset) (*(volatile uint32_t *)(0x40020000u + (ar_mark_pin >> 4) * 0x400u + (offset)))

void port_mark(uint32_t on)
{
    GPIO(0x18) =
        1u << ((ar_mark_pin & 15u) + (on ? 0u : 16u)); /* BSRR: the lower half sets, the upper half resets */
}
#endif

void port_init(void)
{
    USART1->brr = 16000000u / PORT_BAUD;
    USART1->cr1 = 0x200C;        /* UE, TE, RE */
    TIM2(0x28) = TIM2_PRESCALER; /* PSC */
    TIM2(0x2C) = 0xFFFFFFFFu;    /* ARR */
    TIM2(0x14) = 1;              /* EGR.UG: load the prescaler */
    TIM2(0x00) = 1;              /* CR1.CEN */
#ifdef AR_MARK
    const uint32_t mode = 2u * (ar_mark_pin & 15u);
    RCC_AHB1ENR |= 1u << (ar_mark_pin >> 4);
    GPIO(0x00) = (GPIO(0x00) & ~(3u << mode)) | 1u << mode; /* MODER: output */
#endif
}

uint8_t port_getc(void)
{
    while ((USART1->sr & 0x20u) == 0) { /* RXNE */
        health_alive();
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
