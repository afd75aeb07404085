/* The driver of a motion sensor: it reads the chip's FIFO once per sample. The chip's file, and the bus with
 * sensor_wait(), belong to it. With SENSOR_CHANNELS of 3, only the acceleration is used. */
#include "app_settings.h"
#include "imu_bus.h"
#include "imu_chip.h"
#include "port.h"
#include "sensor.h"

enum { BLOCK = 8 }; /* samples that are read at once */
typedef char imu_has_enough_axes[SENSOR_CHANNELS <= IMU_AXES ? 1 : -1];

static uint32_t rate_hz, last_poll, last_sample, last_start, missing;
static uint8_t is_gone;

/* Returns the number of sample periods in `ticks`. */
static uint32_t periods(uint32_t ticks)
{
    return (uint32_t)((uint64_t)ticks * rate_hz / (PORT_TICKS_PER_US * UINT64_C(1000000)));
}

uint32_t sensor_start(uint32_t rate)
{
    rate_hz = rate;
    const uint32_t problem = imu_start(rate);
    is_gone = problem == IMU_NO_ANSWER;
    last_poll = last_sample = last_start = port_ticks();
    return problem;
}

static void hand_over(const int16_t *frames, uint32_t count)
{
    int16_t samples[BLOCK * SENSOR_CHANNELS], *to = samples;
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t axis = 0; axis < SENSOR_CHANNELS; axis++) {
            *to++ = frames[IMU_AXES * k + axis];
        }
    }
    sensor_write(samples, count, missing);
    missing = 0;
}

/* Counts the samples that the time since the last one would have given. The chip does not tell how many it lost. */
static void count_missing(uint32_t now)
{
    const uint32_t count = periods(now - last_sample);
    missing += count;
    last_sample += (uint32_t)((uint64_t)count * PORT_TICKS_PER_US * UINT64_C(1000000) / rate_hz);
}

/* Starts a chip that does not answer once per second: it may have been unplugged. */
static void start_again(uint32_t now)
{
    if (now - last_start >= PORT_TICKS_PER_US * 1000000u) {
        last_start = now;
        is_gone = imu_start(rate_hz) != IMU_OK;
    }
}

void sensor_poll(void)
{
    const uint32_t now = port_ticks();
    if (!periods(now - last_poll)) {
        return;
    }
    last_poll = now;
    if (is_gone) {
        count_missing(now);
        start_again(now);
        return;
    }
    int16_t frames[BLOCK * IMU_AXES];
    uint32_t count;
    do {
        const uint32_t problem = imu_read(frames, BLOCK, &count);
        if (problem) {
            is_gone = problem == IMU_NO_ANSWER;
            last_start = now;
            count_missing(now);
            return;
        }
        if (count) {
            hand_over(frames, count);
            last_sample = now;
        }
    } while (count == BLOCK);
}
