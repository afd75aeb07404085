/* The microphone of a board whose Arduino core has the library PDM: one channel, blocks of 16-bit samples.
 *
 * sensor_start() returns 1 if the library does not start at this rate.
 *
 * Compiled with the library's header; never run on a board. */
#include <Arduino.h>
#include <PDM.h>

extern "C" {
#include "sensor.h"
}

enum { BLOCK_SAMPLES = 256 };

/* Called in the interrupt of each block. */
static void receive()
{
    static int16_t block[BLOCK_SAMPLES];
    const int bytes = PDM.read(block, sizeof block);
    sensor_write(block, bytes > 0 ? static_cast<uint32_t>(bytes) / 2u : 0, 0);
}

uint32_t sensor_start(uint32_t rate)
{
    PDM.onReceive(receive);
    PDM.setBufferSize(2 * BLOCK_SAMPLES);
    return PDM.begin(1, static_cast<int>(rate)) ? 0 : 1;
}

void sensor_poll(void) {}
