/* A PDM microphone at the device of Zephyr's digital microphone interface to which the devicetree's alias dmic_dev leads.
 * A thread takes its blocks.
 *
 * sensor_start() returns 1 if the device is not ready, 2 if it refuses the rate, and 3 if it does not start.
 *
 * Never compiled with Zephyr's headers, never run on a board. */
#include "sensor.h"
#include <zephyr/audio/dmic.h>
#include <zephyr/device.h>
#include <zephyr/kernel.h>

enum {
    BLOCK_BYTES = 320,
    BLOCKS = 4,
    STACK_BYTES = 1024,
    PRIORITY = -1
}; /* 10 ms at 16 kHz; a cooperative thread */

K_MEM_SLAB_DEFINE_STATIC(slab, BLOCK_BYTES, BLOCKS, 4);
K_THREAD_STACK_DEFINE(stack, STACK_BYTES);
static struct k_thread thread;
static const struct device *const microphone = DEVICE_DT_GET(DT_ALIAS(dmic_dev));

static void receive(void *a, void *b, void *c)
{
    (void)a;
    (void)b;
    (void)c;
    for (;;) {
        void *block;
        size_t bytes;
        if (dmic_read(microphone, 0, &block, &bytes, 1000) == 0) {
            sensor_write(block, (uint32_t)bytes / 2u, 0);
            k_mem_slab_free(&slab, block);
        }
    }
}

uint32_t sensor_start(uint32_t rate)
{
    if (!device_is_ready(microphone)) {
        return 1;
    }
    struct pcm_stream_cfg stream = {
        .pcm_rate = rate,
        .pcm_width = 16,
        .block_size = BLOCK_BYTES,
        .mem_slab = &slab,
    };
    struct dmic_cfg settings = {
        .io =
            {
                .min_pdm_clk_freq = 1000000,
                .max_pdm_clk_freq = 3500000,
                .min_pdm_clk_dc = 40,
                .max_pdm_clk_dc = 60,
            },
        .streams = &stream,
        .channel =
            {
                .req_num_streams = 1,
                .req_num_chan = 1,
                .req_chan_map_lo = dmic_build_channel_map(0, 0, PDM_CHAN_LEFT),
            },
    };
    if (dmic_configure(microphone, &settings) != 0) {
        return 2;
    }
    if (dmic_trigger(microphone, DMIC_TRIGGER_START) != 0) {
        return 3;
    }
    k_thread_create(&thread, stack, K_THREAD_STACK_SIZEOF(stack), receive, NULL, NULL, NULL, PRIORITY, 0,
                    K_NO_WAIT);
    return 0;
}

void sensor_poll(void) {}
