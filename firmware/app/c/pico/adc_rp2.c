/* The analog-to-digital converter of an RP2040 or RP2350 with DMA. It converts the inputs from ADC_FIRST on, one after the
 * other, SENSOR_CHANNELS of them. A value has 12 bits, 0 to 4095. Below 1000 conversions per second, which the
 * converter's clock cannot divide down to, a value is the mean of several conversions.
 *
 * sensor_start() returns 2 if the converter is too slow for the rate, and 3 if there are no four DMA channels left.
 *
 * Compiled and linked with the Pico SDK; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "rp2_blocks.h"
#include "sensor.h"
#include <hardware/adc.h>
#include <hardware/clocks.h>

enum { INPUTS = 4, ROUNDS = 16, MIN_RATE = 1000, CONVERSION_CLOCKS = 96, FIRST_PIN = 26 };

typedef char adc_has_enough_inputs[ADC_FIRST + SENSOR_CHANNELS <= INPUTS ? 1 : -1];

static uint16_t blocks[2][ROUNDS][SENSOR_CHANNELS];
static uint32_t sums[SENSOR_CHANNELS], summed, average, missed_rounds;

/* Takes a block, before which `missed` blocks were lost. */
static void take(uint16_t rounds[ROUNDS][SENSOR_CHANNELS], uint32_t missed)
{
    missed_rounds += missed * ROUNDS;
    for (uint32_t k = 0; k < ROUNDS; k++) {
        for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
            sums[c] += rounds[k][c];
        }
        if (++summed == average) {
            int16_t sample[SENSOR_CHANNELS];
            for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
                sample[c] = (int16_t)(sums[c] / average);
                sums[c] = 0;
            }
            summed = 0;
            sensor_write(sample, 1, missed_rounds / average);
            missed_rounds %= average;
        }
    }
}

static void receive(void)
{
    for (uint32_t k = 0, missed; k < 2; k++) {
        if (rp2_took_block(k, &missed)) {
            take(blocks[k], missed);
        }
    }
}

uint32_t sensor_start(uint32_t rate)
{
    average = 1;
    while (rate * SENSOR_CHANNELS * average < MIN_RATE) {
        average *= 2u;
    }
    /* Clocks from one conversion to the next, with 8 fractional bits. */
    const uint32_t clocks =
        (uint32_t)(((uint64_t)clock_get_hz(clk_adc) << 8) / (rate * SENSOR_CHANNELS * average));
    if (clocks < CONVERSION_CLOCKS << 8) {
        return 2;
    }
    if (!rp2_claim_channels()) {
        return 3;
    }
    adc_init();
    for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
        adc_gpio_init(FIRST_PIN + ADC_FIRST + c);
    }
    adc_select_input(ADC_FIRST);
    adc_set_round_robin(SENSOR_CHANNELS > 1 ? ((1u << SENSOR_CHANNELS) - 1u) << ADC_FIRST : 0);
    adc_fifo_setup(true, true, 1, false, false);
    adc_hw->div = clocks - 256u; /* the period is one clock more */
    const rp2_source source = {&adc_hw->fifo, DMA_SIZE_16, ROUNDS * SENSOR_CHANNELS, DREQ_ADC,
                               ROUNDS * 1000000u / (rate * average)};
    rp2_start_blocks(&source, blocks[0], blocks[1], receive);
    adc_run(true);
    return 0;
}

void sensor_poll(void) {}
