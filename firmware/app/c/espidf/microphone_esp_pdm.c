/* A PDM microphone at an ESP32 or ESP32-S3, which decimates in hardware.
 *
 * sensor_start() returns 1 if there is no I2S port left, 2 if the port refuses the rate or the pins, and 3 if it does
 * not start.
 *
 * Compiled with ESP-IDF's headers; never run on a board. */
#include "app_pins.h"
#include "esp_i2s_receiver.h"
#include "sensor.h"
#include <driver/i2s_pdm.h>

static bool receive(i2s_chan_handle_t channel, i2s_event_data_t *event, void *context)
{
    (void)channel;
    (void)context;
    sensor_write(event->dma_buf, event->size / 2u, 0);
    return false;
}

uint32_t sensor_start(uint32_t rate)
{
    const i2s_chan_handle_t channel = new_receiver();
    if (!channel) {
        return 1;
    }
    const i2s_pdm_rx_config_t settings = {
        .clk_cfg = I2S_PDM_RX_CLK_DEFAULT_CONFIG(rate),
        .slot_cfg = I2S_PDM_RX_SLOT_PCM_FMT_DEFAULT_CONFIG(I2S_DATA_BIT_WIDTH_16BIT, I2S_SLOT_MODE_MONO),
        .gpio_cfg = {.clk = APP_PDM_CLOCK_PIN, .din = APP_PDM_DATA_PIN},
    };
    if (i2s_channel_init_pdm_rx_mode(channel, &settings) != ESP_OK) {
        return 2;
    }
    return start_receiver(channel, receive) ? 0 : 3;
}

void sensor_poll(void) {}
