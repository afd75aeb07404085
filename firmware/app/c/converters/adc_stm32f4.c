/* The analog-to-digital converter ADC1 of an STM32F4 with DMA. Timer 3 starts a round of conversions; DMA2 stream 0 fills
 * a ring of two blocks. ADC_INPUTS in app_pins.h lists the inputs: their port, pin and channel. A value has 12 bits, 0 to
 * 4095.
 *
 * sensor_start() returns 2 if the rate is too low or too high for the timer.
 *
 * Compiled with ST's device headers; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "sensor.h"
#include <stm32f4xx.h>

#ifdef ADC123_COMMON /* a chip with three converters */
#define COMMON ADC123_COMMON
#else
#define COMMON ADC1_COMMON
#endif

enum {
    ROUNDS = 4,
    TIMER_HZ = 100000,
    MIN_TICKS = 10,
    SLOW_SAMPLE = 4
}; /* 84 periods of the converter's clock */

typedef struct {
    char port;
    uint8_t pin, channel;
} input;

static const input inputs[] = {ADC_INPUTS};
typedef char
    adc_has_enough_inputs[sizeof inputs / sizeof *inputs >= SENSOR_CHANNELS && SENSOR_CHANNELS <= 6 ? 1 : -1];
static volatile uint16_t ring[2][ROUNDS * SENSOR_CHANNELS];

static void hand_over(uint32_t half)
{
    int16_t samples[ROUNDS * SENSOR_CHANNELS];
    for (uint32_t k = 0; k < ROUNDS * SENSOR_CHANNELS; k++) {
        samples[k] = (int16_t)ring[half][k];
    }
    sensor_write(samples, ROUNDS, 0);
}

void DMA2_Stream0_IRQHandler(void)
{
    const uint32_t flags = DMA2->LISR;
    DMA2->LIFCR = DMA_LIFCR_CHTIF0 | DMA_LIFCR_CTCIF0;
    if (flags & DMA_LISR_HTIF0) {
        hand_over(0);
    }
    if (flags & DMA_LISR_TCIF0) {
        hand_over(1);
    }
}

/* Returns the frequency of timer 3: that of APB1, or twice that if APB1 is divided. */
static uint32_t timer_hz(void)
{
    const uint32_t divider = RCC->CFGR >> RCC_CFGR_PPRE1_Pos & 7u;
    return divider < 5u ? SystemCoreClock : SystemCoreClock >> (divider - 4u);
}

static void start_stream(void)
{
    DMA2_Stream0->CR = 0;
    while (DMA2_Stream0->CR & DMA_SxCR_EN) {
    }
    DMA2->LIFCR =
        DMA_LIFCR_CHTIF0 | DMA_LIFCR_CTCIF0 | DMA_LIFCR_CTEIF0 | DMA_LIFCR_CDMEIF0 | DMA_LIFCR_CFEIF0;
    DMA2_Stream0->PAR = (uint32_t)(uintptr_t)&ADC1->DR;
    DMA2_Stream0->M0AR = (uint32_t)(uintptr_t)ring;
    DMA2_Stream0->NDTR = sizeof ring / 2u;
    DMA2_Stream0->CR = DMA_SxCR_MSIZE_0 | DMA_SxCR_PSIZE_0 | DMA_SxCR_MINC | DMA_SxCR_CIRC | DMA_SxCR_PL_1 |
                       DMA_SxCR_HTIE | DMA_SxCR_TCIE; /* channel 0 of the stream is ADC1 */
    NVIC_EnableIRQ(DMA2_Stream0_IRQn);
    DMA2_Stream0->CR |= DMA_SxCR_EN;
}

/* Makes a pin an analog input, and puts its channel at place `rank` of the round. */
static void connect(const input *at, uint32_t rank)
{
    GPIO_TypeDef *port = (GPIO_TypeDef *)(GPIOA_BASE + 0x400u * (uint32_t)(at->port - 'A'));
    RCC->AHB1ENR |= 1u << (at->port - 'A');
    (void)RCC->AHB1ENR; /* the clock runs after this read */
    port->MODER |= 3u << 2 * at->pin;
    if (at->channel < 10) {
        ADC1->SMPR2 |= (uint32_t)SLOW_SAMPLE << 3 * at->channel;
    } else {
        ADC1->SMPR1 |= (uint32_t)SLOW_SAMPLE << 3 * (at->channel - 10);
    }
    ADC1->SQR3 |= (uint32_t)at->channel << 5 * rank; /* up to 6 inputs */
}

uint32_t sensor_start(uint32_t rate)
{
    const uint32_t ticks = TIMER_HZ / rate;
    if (ticks < MIN_TICKS || ticks > 65536u) {
        return 2;
    }
    RCC->AHB1ENR |= RCC_AHB1ENR_DMA2EN;
    RCC->APB1ENR |= RCC_APB1ENR_TIM3EN;
    RCC->APB2ENR |= RCC_APB2ENR_ADC1EN;
    (void)RCC->APB2ENR;
    ADC1->CR1 = ADC_CR1_SCAN;
    ADC1->SQR1 = (SENSOR_CHANNELS - 1u) << ADC_SQR1_L_Pos;
    ADC1->SQR3 = 0;
    for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
        connect(&inputs[c], c);
    }
    COMMON->CCR = ADC_CCR_ADCPRE_0; /* the clock of APB2 divided by 4 */
    start_stream();
    ADC1->CR2 = ADC_CR2_ADON | ADC_CR2_DMA | ADC_CR2_DDS | ADC_CR2_EXTEN_0 |
                8u << ADC_CR2_EXTSEL_Pos; /* the rising edge of timer 3 */
    TIM3->CR1 = 0;
    TIM3->PSC = (uint16_t)(timer_hz() / TIMER_HZ - 1u);
    TIM3->ARR = ticks - 1u;
    TIM3->CR2 = TIM_CR2_MMS_1; /* an overflow is the timer's output */
    TIM3->EGR = TIM_EGR_UG;
    TIM3->CR1 = TIM_CR1_CEN;
    return 0;
}

void sensor_poll(void) {}
