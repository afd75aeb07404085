/* The part that both kinds of microphones at an ESP32's I2S share: a channel that calls receive() in the interrupt of
 * each block. */
#ifndef ARENITE_ESP_I2S_RECEIVER_H
#define ARENITE_ESP_I2S_RECEIVER_H

#include <driver/i2s_common.h>
#include <stdbool.h>

enum { BLOCK_SAMPLES = 160, BLOCKS = 4 }; /* 10 ms at 16 kHz */

/* Returns a new receiver of I2S port 0, or 0. */
static inline i2s_chan_handle_t new_receiver(void)
{
    i2s_chan_config_t settings = I2S_CHANNEL_DEFAULT_CONFIG(I2S_NUM_0, I2S_ROLE_MASTER);
    settings.dma_desc_num = BLOCKS;
    settings.dma_frame_num = BLOCK_SAMPLES;
    i2s_chan_handle_t channel = 0;
    return i2s_new_channel(&settings, 0, &channel) == ESP_OK ? channel : 0;
}

/* Starts a receiver that has been set up. Returns 1 if that worked. */
static inline uint32_t start_receiver(i2s_chan_handle_t channel, i2s_isr_callback_t receive)
{
    const i2s_event_callbacks_t callbacks = {.on_recv = receive};
    return i2s_channel_register_event_callback(channel, &callbacks, 0) == ESP_OK &&
           i2s_channel_enable(channel) == ESP_OK;
}

#endif
