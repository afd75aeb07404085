/* The analog-to-digital converter ADC1 of an ESP32 with DMA, by ESP-IDF's driver adc_continuous. ADC_INPUTS in app_pins.h
 * lists the channels. A value has 12 bits, 0 to 4095, without calibration. The converter has a least rate, so a value is
 * the mean of several conversions.
 *
 * sensor_start() returns 2 if the converter has no such rate, and 3 if it does not start.
 *
 * Compiled with ESP-IDF's headers; never run on a board. */
#include "app_pins.h"
#include "app_settings.h"
#include "sensor.h"
#include <esp_adc/adc_continuous.h>
#include <soc/soc_caps.h>

enum { WIDTH = 12, FRAME_RESULTS = 64 * SENSOR_CHANNELS };
enum { MIN_HZ = 20000, MAX_HZ = 83333 }; /* conversions per second that every ESP32 with this driver has */

static const uint8_t inputs[] = {ADC_INPUTS};
typedef char adc_has_enough_inputs[sizeof inputs >= SENSOR_CHANNELS ? 1 : -1];
static uint32_t sums[SENSOR_CHANNELS], counts[SENSOR_CHANNELS], average;

/* Adds a conversion. When all channels have enough of them, their means are a sample. */
static void add(uint32_t channel, uint32_t value)
{
    uint32_t c = 0;
    while (c < SENSOR_CHANNELS && inputs[c] != channel) {
        c++;
    }
    if (c == SENSOR_CHANNELS) {
        return;
    }
    sums[c] += value;
    counts[c]++;
    if (c != SENSOR_CHANNELS - 1u || counts[c] < average) {
        return;
    }
    int16_t sample[SENSOR_CHANNELS];
    for (uint32_t k = 0; k < SENSOR_CHANNELS; k++) {
        sample[k] = (int16_t)(counts[k] ? sums[k] / counts[k] : 0);
        sums[k] = counts[k] = 0;
    }
    sensor_write(sample, 1, 0);
}

static bool receive(adc_continuous_handle_t handle, const adc_continuous_evt_data_t *event, void *context)
{
    (void)handle;
    (void)context;
    for (uint32_t at = 0; at + SOC_ADC_DIGI_RESULT_BYTES <= event->size; at += SOC_ADC_DIGI_RESULT_BYTES) {
        const adc_digi_output_data_t *result =
            (const adc_digi_output_data_t *)(const void *)(event->conv_frame_buffer + at);
#if CONFIG_IDF_TARGET_ESP32 || CONFIG_IDF_TARGET_ESP32S2
        add(result->type1.channel, result->type1.data);
#else
        add(result->type2.channel, result->type2.data);
#endif
    }
    return false;
}

uint32_t sensor_start(uint32_t rate)
{
    average = 1;
    while (rate * SENSOR_CHANNELS * average < MIN_HZ) {
        average *= 2u;
    }
    if (rate * SENSOR_CHANNELS * average > MAX_HZ) {
        return 2;
    }
    const adc_continuous_handle_cfg_t memory = {
        .max_store_buf_size = 2 * FRAME_RESULTS * SOC_ADC_DIGI_RESULT_BYTES,
        .conv_frame_size = FRAME_RESULTS * SOC_ADC_DIGI_RESULT_BYTES,
        .flags.flush_pool = 1, /* samples are taken in the interrupt, not from the pool */
    };
    adc_digi_pattern_config_t pattern[SENSOR_CHANNELS];
    for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
        pattern[c].atten = ADC_ATTEN_DB_12;
        pattern[c].channel = inputs[c];
        pattern[c].unit = ADC_UNIT_1;
        pattern[c].bit_width = WIDTH;
    }
    const adc_continuous_config_t settings = {
        .pattern_num = SENSOR_CHANNELS,
        .adc_pattern = pattern,
        .sample_freq_hz = rate * SENSOR_CHANNELS * average,
        .conv_mode = ADC_CONV_SINGLE_UNIT_1,
#if CONFIG_IDF_TARGET_ESP32 || CONFIG_IDF_TARGET_ESP32S2
        .format = ADC_DIGI_OUTPUT_FORMAT_TYPE1,
#else
        .format = ADC_DIGI_OUTPUT_FORMAT_TYPE2,
#endif
    };
    const adc_continuous_evt_cbs_t callbacks = {.on_conv_done = receive};
    adc_continuous_handle_t handle = 0;
    return adc_continuous_new_handle(&memory, &handle) == ESP_OK &&
                   adc_continuous_config(handle, &settings) == ESP_OK &&
                   adc_continuous_register_event_callbacks(handle, &callbacks, 0) == ESP_OK &&
                   adc_continuous_start(handle) == ESP_OK
               ? 0
               : 3;
}

void sensor_poll(void) {}
