/* The analog-to-digital converter of an nRF52 with EasyDMA. Timer 4 starts a round of conversions through the channels 8
 * and 9 of PPI; ADC_INPUTS in app_pins.h lists the numbers of the inputs, AIN0 is 0. A value has 12 bits, 0 to 4095 for 0
 * to 3.6 V.
 *
 * sensor_start() returns 2 if the converter is too slow for the rate.
 *
 * Compiled with Nordic's MDK headers; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "sensor.h"
#include <nrf.h>

enum { ROUNDS = 4, TIMER_HZ = 1000000, CONVERSION_US = 14, SAMPLE_PPI = 8, START_PPI = 9 };

static const uint8_t inputs[] = {ADC_INPUTS};
typedef char adc_has_enough_inputs[sizeof inputs >= SENSOR_CHANNELS && SENSOR_CHANNELS <= 8 ? 1 : -1];
static int16_t blocks[2][ROUNDS * SENSOR_CHANNELS];

static uint32_t address(const volatile void *of) { return (uint32_t)(uintptr_t)of; }

void SAADC_IRQHandler(void)
{
    static uint32_t started, ended;
    if (NRF_SAADC->EVENTS_END) {
        NRF_SAADC->EVENTS_END = 0;
        int16_t *block = blocks[ended++ & 1u];
        for (uint32_t k = 0; k < ROUNDS * SENSOR_CHANNELS; k++) {
            block[k] = block[k] < 0 ? 0 : block[k]; /* noise at 0 V */
        }
        sensor_write(block, ROUNDS, 0);
    }
    if (NRF_SAADC->EVENTS_STARTED) { /* the next block's address can be set now */
        NRF_SAADC->EVENTS_STARTED = 0;
        NRF_SAADC->RESULT.PTR = address(blocks[++started & 1u]);
    }
    (void)NRF_SAADC->EVENTS_STARTED; /* waits until the writes have arrived */
}

uint32_t sensor_start(uint32_t rate)
{
    const uint32_t period = TIMER_HZ / rate;
    if (period < SENSOR_CHANNELS * CONVERSION_US) {
        return 2;
    }
    for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
        NRF_SAADC->CH[c].PSELP = inputs[c] + 1u;
        NRF_SAADC->CH[c].PSELN = 0;
        NRF_SAADC->CH[c].CONFIG = (SAADC_CH_CONFIG_GAIN_Gain1_6 << SAADC_CH_CONFIG_GAIN_Pos) |
                                  (SAADC_CH_CONFIG_TACQ_10us << SAADC_CH_CONFIG_TACQ_Pos);
    }
    NRF_SAADC->RESOLUTION = SAADC_RESOLUTION_VAL_12bit;
    NRF_SAADC->RESULT.PTR = address(blocks[0]);
    NRF_SAADC->RESULT.MAXCNT = ROUNDS * SENSOR_CHANNELS;
    NRF_SAADC->ENABLE = SAADC_ENABLE_ENABLE_Enabled;
    NRF_SAADC->TASKS_CALIBRATEOFFSET = 1;
    while (!NRF_SAADC->EVENTS_CALIBRATEDONE) {
    }
    NRF_SAADC->EVENTS_CALIBRATEDONE = 0;
    NRF_SAADC->EVENTS_STARTED = 0;
    NRF_SAADC->EVENTS_END = 0;
    NRF_SAADC->INTENSET = SAADC_INTENSET_STARTED_Msk | SAADC_INTENSET_END_Msk;
    NVIC_EnableIRQ(SAADC_IRQn);
    NRF_TIMER4->TASKS_STOP = 1;
    NRF_TIMER4->BITMODE = TIMER_BITMODE_BITMODE_32Bit;
    NRF_TIMER4->PRESCALER = 4; /* 16 MHz / 16 */
    NRF_TIMER4->CC[0] = period;
    NRF_TIMER4->SHORTS = TIMER_SHORTS_COMPARE0_CLEAR_Msk;
    NRF_TIMER4->TASKS_CLEAR = 1;
    NRF_PPI->CH[SAMPLE_PPI].EEP = address(&NRF_TIMER4->EVENTS_COMPARE[0]);
    NRF_PPI->CH[SAMPLE_PPI].TEP = address(&NRF_SAADC->TASKS_SAMPLE);
    NRF_PPI->CH[START_PPI].EEP = address(&NRF_SAADC->EVENTS_END);
    NRF_PPI->CH[START_PPI].TEP = address(&NRF_SAADC->TASKS_START);
    NRF_PPI->CHENSET = 1u << SAMPLE_PPI | 1u << START_PPI;
    NRF_SAADC->TASKS_START = 1;
    NRF_TIMER4->TASKS_START = 1;
    return 0;
}

void sensor_poll(void) {}
