/* A PDM microphone at DFSDM1 of an STM32L475, as on the Discovery kit for IoT nodes: clock PE9, data PE7 (channel 2).
 * The filter decimates in hardware: the clock is 2 MHz, and a sinc filter of third order takes 125 bits per sample,
 * which are 16,000 samples per second. Full scale is 125^3 / 2^6 = 30,517. DMA1 channel 4 fills a ring of two blocks.
 *
 * sensor_start() returns 1 for another rate, and 2 if 2 MHz is not a fraction of the core's clock.
 *
 * Compiled with ST's device headers; never run on a board. */
#include "sensor.h"
#include <stm32l4xx.h>

enum { BLOCK_SAMPLES = 160, DECIMATION = 125, SHIFT = 6, CLOCK_HZ = 2000000 }; /* a block takes 10 ms */

static volatile uint32_t ring[2][BLOCK_SAMPLES];

static void hand_over(uint32_t half)
{
    static int16_t samples[BLOCK_SAMPLES];
    for (uint32_t k = 0; k < BLOCK_SAMPLES; k++) {
        samples[k] = (int16_t)(ring[half][k] >> 8); /* the lower byte is the channel's number */
    }
    sensor_write(samples, BLOCK_SAMPLES, 0);
}

void DMA1_Channel4_IRQHandler(void)
{
    const uint32_t flags = DMA1->ISR;
    DMA1->IFCR = DMA_IFCR_CHTIF4 | DMA_IFCR_CTCIF4;
    if (flags & DMA_ISR_HTIF4) {
        hand_over(0);
    }
    if (flags & DMA_ISR_TCIF4) {
        hand_over(1);
    }
}

/* Gives a pin of port E to DFSDM1, which is alternate function 6. */
static void connect(uint32_t pin)
{
    GPIOE->MODER = (GPIOE->MODER & ~(3u << 2 * pin)) | (2u << 2 * pin);
    GPIOE->AFR[pin / 8u] = (GPIOE->AFR[pin / 8u] & ~(15u << 4 * (pin % 8u))) | (6u << 4 * (pin % 8u));
}

uint32_t sensor_start(uint32_t rate)
{
    if (rate != 16000u) {
        return 1;
    }
    const uint32_t divider = SystemCoreClock / CLOCK_HZ;
    if (divider * CLOCK_HZ != SystemCoreClock || divider < 2 || divider > 256) {
        return 2;
    }
    RCC->AHB1ENR |= RCC_AHB1ENR_DMA1EN;
    RCC->AHB2ENR |= RCC_AHB2ENR_GPIOEEN;
    RCC->APB2ENR |= RCC_APB2ENR_DFSDM1EN;
    (void)RCC->APB2ENR; /* the clock runs after this read */
    connect(9);
    connect(7);
    DMA1_Channel4->CCR = 0;
    DMA1_CSELR->CSELR &= ~DMA_CSELR_C4S; /* request 0 is filter 0 of DFSDM1 */
    DMA1_Channel4->CPAR = (uint32_t)(uintptr_t)&DFSDM1_Filter0->FLTRDATAR;
    DMA1_Channel4->CMAR = (uint32_t)(uintptr_t)ring;
    DMA1_Channel4->CNDTR = sizeof ring / 4u;
    DMA1_Channel4->CCR = DMA_CCR_MSIZE_1 | DMA_CCR_PSIZE_1 | DMA_CCR_MINC | DMA_CCR_CIRC | DMA_CCR_PL_1 |
                         DMA_CCR_HTIE | DMA_CCR_TCIE | DMA_CCR_EN;
    NVIC_EnableIRQ(DMA1_Channel4_IRQn);
    /* Channel 0 has the output clock of all channels. */
    DFSDM1_Channel0->CHCFGR1 = (divider - 1u) << DFSDM_CHCFGR1_CKOUTDIV_Pos;
    DFSDM1_Channel0->CHCFGR1 |= DFSDM_CHCFGR1_DFSDMEN;
    DFSDM1_Channel2->CHCFGR2 = (uint32_t)SHIFT << DFSDM_CHCFGR2_DTRBS_Pos;
    DFSDM1_Channel2->CHCFGR1 =
        DFSDM_CHCFGR1_SPICKSEL_0 | DFSDM_CHCFGR1_CHEN;                   /* rising edge of the output clock */
    DFSDM1_Filter0->FLTFCR = DFSDM_FLTFCR_FORD_1 | DFSDM_FLTFCR_FORD_0 | /* sinc of third order */
                             (DECIMATION - 1u) << DFSDM_FLTFCR_FOSR_Pos;
    DFSDM1_Filter0->FLTCR1 =
        (2u << DFSDM_FLTCR1_RCH_Pos) | DFSDM_FLTCR1_RCONT | DFSDM_FLTCR1_RDMAEN | DFSDM_FLTCR1_FAST;
    DFSDM1_Filter0->FLTCR1 |= DFSDM_FLTCR1_DFEN;
    DFSDM1_Filter0->FLTCR1 |= DFSDM_FLTCR1_RSWSTART;
    return 0;
}

void sensor_poll(void) {}
