/* LSM6DSO, LSM6DSOX and LSM6DSR of STMicroelectronics. Registers: data sheet DS12140. */
#include "imu_registers.h"

enum {
    FIFO_CTRL3 = 0x09,
    FIFO_CTRL4 = 0x0A,
    WHO_AM_I = 0x0F,
    CTRL1_XL = 0x10,
    CTRL2_G = 0x11,
    CTRL3_C = 0x12,
    FIFO_STATUS1 = 0x3A,
    FIFO_DATA_OUT_TAG = 0x78,
};
enum { RESET = 0x01, WHOLE_SAMPLES = 0x44, RANGE_DPS = IMU_DPS_NUMBER << 2, CONTINUOUS = 6 };
enum { OVERRUN = 0x48, GYROSCOPE = 1, ACCELEROMETER = 2, WORD = 7, HALF = 3 };
/* 16 g have the number 1; those of 4 g and 8 g follow. */
enum { RANGE_G = (IMU_G_NUMBER == 0 ? 0 : IMU_G_NUMBER == 3 ? 1 : IMU_G_NUMBER + 1) << 2 };

/* Rates in tenths of a hertz. The number of the first one is 1. */
static const uint16_t rates[] = {125, 260, 520, 1040, 2080, 4160, 8330, 16600};
enum { RATES = sizeof rates / sizeof *rates };
static int16_t frame[IMU_AXES]; /* the frame of which one half has arrived */
static uint32_t halves;         /* bit 0: acceleration has arrived, bit 1: rotation */
static uint32_t moment;         /* of the half that has arrived */

static uint32_t empty_fifo(void)
{
    halves = 0;
    return imu_set(FIFO_CTRL4, 0) && imu_set(FIFO_CTRL4, CONTINUOUS);
}

uint32_t imu_start(uint32_t rate)
{
    uint32_t problem = imu_identify(WHO_AM_I, 0x6C); /* LSM6DSO, LSM6DSOX */
    if (problem == IMU_OTHER_CHIP) {
        problem = imu_identify(WHO_AM_I, 0x6B); /* LSM6DSR */
    }
    if (problem) {
        return problem;
    }
    const uint32_t k = imu_rate_number(rates, RATES, rate);
    if (k == RATES) {
        return IMU_RATE;
    }
    const uint8_t number = (uint8_t)(k + 1u);
    if (!imu_set(CTRL3_C, RESET)) {
        return IMU_NO_ANSWER;
    }
    imu_bus_wait(1);
    const imu_setting settings[] = {
        {CTRL3_C, WHOLE_SAMPLES}, /* both bytes of a sample change together; addresses count up */
        {FIFO_CTRL3, (uint8_t)(number << 4 | number)},
        {CTRL1_XL, (uint8_t)(number << 4 | RANGE_G)},
        {CTRL2_G, (uint8_t)(number << 4 | RANGE_DPS)},
    };
    return imu_set_all(settings, sizeof settings / sizeof *settings) && empty_fifo() ? IMU_OK : IMU_NO_ANSWER;
}

/* Takes a word of the FIFO: a tag that names the sensor and the moment, modulo 4, and three samples. Returns 0 if the
 * other half of a frame is missing. */
static uint32_t take(const uint8_t *word)
{
    const uint32_t sensor = word[0] >> 3;
    if (sensor != GYROSCOPE && sensor != ACCELEROMETER) {
        return 1;
    }
    const uint32_t half = sensor == GYROSCOPE, now = word[0] & 6u;
    if (halves && (halves & 1u << half || moment != now)) {
        return 0;
    }
    moment = now;
    for (uint32_t axis = 0; axis < HALF; axis++) {
        frame[HALF * half + axis] = imu_little_endian(word + 1 + 2 * axis);
    }
    halves |= 1u << half;
    return 1;
}

uint32_t imu_read(int16_t *frames, uint32_t most, uint32_t *count)
{
    uint8_t status[2], word[WORD];
    *count = 0;
    if (!imu_bus_read(FIFO_STATUS1, status, 2)) {
        return IMU_NO_ANSWER;
    }
    if (status[1] & OVERRUN) {
        return empty_fifo() ? IMU_OVERFLOW : IMU_NO_ANSWER;
    }
    uint32_t complete = 0;
    for (uint32_t waiting = (status[1] & 3u) << 8 | status[0]; waiting > 0 && complete < most; waiting--) {
        if (!imu_bus_read(FIFO_DATA_OUT_TAG, word, WORD)) {
            return IMU_NO_ANSWER;
        }
        if (!take(word)) {
            return empty_fifo() ? IMU_OVERFLOW : IMU_NO_ANSWER;
        }
        if (halves == 3u) {
            for (uint32_t axis = 0; axis < IMU_AXES; axis++) {
                *frames++ = frame[axis];
            }
            halves = 0;
            complete++;
        }
    }
    *count = complete;
    return IMU_OK;
}
