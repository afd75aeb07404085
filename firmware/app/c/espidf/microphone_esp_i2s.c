/* An I2S microphone at an ESP32, which is the master. A frame has one slot of 32 bits, which holds a sample in its upper
 * bits.
 *
 * sensor_start() returns 1 if there is no I2S port left, 2 if the port refuses the rate or the pins, and 3 if it does
 * not start.
 *
 * Compiled with ESP-IDF's headers; never run on a board. */
#include "app_pins.h"
#include "esp_i2s_receiver.h"
#include "sensor.h"
#include <driver/i2s_std.h>

static bool receive(i2s_chan_handle_t channel, i2s_event_data_t *event, void *context)
{
    static int16_t samples[BLOCK_SAMPLES];
    (void)channel;
    (void)context;
    const int32_t *slots = event->dma_buf;
    const uint32_t count = event->size / 4u < BLOCK_SAMPLES ? event->size / 4u : BLOCK_SAMPLES;
    for (uint32_t k = 0; k < count; k++) {
        samples[k] = (int16_t)(slots[k] >> 16);
    }
    sensor_write(samples, count, 0);
    return false;
}

uint32_t sensor_start(uint32_t rate)
{
    const i2s_chan_handle_t channel = new_receiver();
    if (!channel) {
        return 1;
    }
    const i2s_std_config_t settings = {
        .clk_cfg = I2S_STD_CLK_DEFAULT_CONFIG(rate),
        .slot_cfg = I2S_STD_PHILIPS_SLOT_DEFAULT_CONFIG(I2S_DATA_BIT_WIDTH_32BIT, I2S_SLOT_MODE_MONO),
        .gpio_cfg =
            {
                .mclk = I2S_GPIO_UNUSED,
                .bclk = APP_I2S_CLOCK_PIN,
                .ws = APP_I2S_SELECT_PIN,
                .dout = I2S_GPIO_UNUSED,
                .din = APP_I2S_DATA_PIN,
            },
    };
    if (i2s_channel_init_std_mode(channel, &settings) != ESP_OK) {
        return 2;
    }
    return start_receiver(channel, receive) ? 0 : 3;
}

void sensor_poll(void) {}
