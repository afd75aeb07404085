/* An I2S microphone at SPI2 of an STM32F411, which is the master: WS PB12, SCK PB13, SD PB15. A frame has two channels
 * of 32 bits; the left one holds a sample in its upper bits. DMA1 stream 3 fills a ring of two blocks.
 *
 * The PLL of I2S gives 1 MHz * 256 / 5 = 51.2 MHz, and 51.2 MHz / 64 bits / 50 = 16,000 samples per second.
 * sensor_start() returns 1 for another rate.
 *
 * Compiled with ST's device headers; never run on a board. */
#include "sensor.h"
#include <stm32f4xx.h>

#ifndef HSE_VALUE
#define HSE_VALUE 8000000u /* the crystal, if the framework does not say */
#endif

enum {
    BLOCK_SAMPLES = 160,
    WORDS = 4
}; /* 10 ms; a frame has four words of 16 bits, of each channel the upper first */

static volatile uint16_t ring[2][BLOCK_SAMPLES * WORDS];

static void hand_over(uint32_t half)
{
    static int16_t samples[BLOCK_SAMPLES];
    for (uint32_t k = 0; k < BLOCK_SAMPLES; k++) {
        samples[k] = (int16_t)ring[half][k * WORDS];
    }
    sensor_write(samples, BLOCK_SAMPLES, 0);
}

void DMA1_Stream3_IRQHandler(void)
{
    const uint32_t flags = DMA1->LISR;
    DMA1->LIFCR = DMA_LIFCR_CHTIF3 | DMA_LIFCR_CTCIF3;
    if (flags & DMA_LISR_HTIF3) {
        hand_over(0);
    }
    if (flags & DMA_LISR_TCIF3) {
        hand_over(1);
    }
}

static void start_clock(void)
{
    const uint32_t source = RCC->PLLCFGR & RCC_PLLCFGR_PLLSRC ? HSE_VALUE : 16000000u;
    RCC->CR &= ~RCC_CR_PLLI2SON;
    RCC->PLLI2SCFGR = (source / 1000000u << RCC_PLLI2SCFGR_PLLI2SM_Pos) |
                      (256u << RCC_PLLI2SCFGR_PLLI2SN_Pos) | (5u << RCC_PLLI2SCFGR_PLLI2SR_Pos);
    RCC->CFGR &= ~RCC_CFGR_I2SSRC;
    RCC->CR |= RCC_CR_PLLI2SON;
    while (!(RCC->CR & RCC_CR_PLLI2SRDY)) {
    }
}

/* Gives a pin of port B to SPI2, which is alternate function 5. */
static void connect(uint32_t pin)
{
    GPIOB->MODER = (GPIOB->MODER & ~(3u << 2 * pin)) | (2u << 2 * pin);
    GPIOB->AFR[pin / 8u] = (GPIOB->AFR[pin / 8u] & ~(15u << 4 * (pin % 8u))) | (5u << 4 * (pin % 8u));
}

uint32_t sensor_start(uint32_t rate)
{
    if (rate != 16000u) {
        return 1;
    }
    RCC->AHB1ENR |= RCC_AHB1ENR_GPIOBEN | RCC_AHB1ENR_DMA1EN;
    RCC->APB1ENR |= RCC_APB1ENR_SPI2EN;
    (void)RCC->APB1ENR; /* the clock runs after this read */
    start_clock();
    connect(12);
    connect(13);
    connect(15);
    DMA1_Stream3->CR = 0;
    while (DMA1_Stream3->CR & DMA_SxCR_EN) {
    }
    DMA1->LIFCR =
        DMA_LIFCR_CHTIF3 | DMA_LIFCR_CTCIF3 | DMA_LIFCR_CTEIF3 | DMA_LIFCR_CDMEIF3 | DMA_LIFCR_CFEIF3;
    DMA1_Stream3->PAR = (uint32_t)(uintptr_t)&SPI2->DR;
    DMA1_Stream3->M0AR = (uint32_t)(uintptr_t)ring;
    DMA1_Stream3->NDTR = sizeof ring / 2u;
    DMA1_Stream3->CR = DMA_SxCR_MSIZE_0 | DMA_SxCR_PSIZE_0 | DMA_SxCR_MINC | DMA_SxCR_CIRC | DMA_SxCR_PL_1 |
                       DMA_SxCR_HTIE | DMA_SxCR_TCIE; /* channel 0 of the stream is SPI2_RX */
    NVIC_EnableIRQ(DMA1_Stream3_IRQn);
    DMA1_Stream3->CR |= DMA_SxCR_EN;
    SPI2->I2SPR = 25;
    SPI2->I2SCFGR = SPI_I2SCFGR_I2SMOD | SPI_I2SCFGR_I2SCFG | SPI_I2SCFGR_DATLEN_1 |
                    SPI_I2SCFGR_CHLEN; /* master, receive, 32 bits */
    SPI2->CR2 = SPI_CR2_RXDMAEN;
    SPI2->I2SCFGR |= SPI_I2SCFGR_I2SE;
    return 0;
}

void sensor_poll(void) {}
