/* MPU-6050, MPU-6500 and MPU-9250 of InvenSense. Registers: document RM-MPU-6000A-00. */
#include "imu_registers.h"

enum {
    SMPLRT_DIV = 0x19,
    CONFIG = 0x1A,
    GYRO_CONFIG = 0x1B,
    ACCEL_CONFIG = 0x1C,
    ACCEL_CONFIG_2 =
        0x1D, /* not in the MPU-6050, whose filter of the gyroscope filters the acceleration too */
    FIFO_EN = 0x23,
    INT_STATUS = 0x3A,
    USER_CTRL = 0x6A,
    PWR_MGMT_1 = 0x6B,
    FIFO_COUNT = 0x72,
    FIFO_R_W = 0x74,
    WHO_AM_I = 0x75,
};
enum {
    RESET = 0x80,
    CLOCK_OF_GYRO = 1,
    RANGE_G = IMU_G_NUMBER << 3,
    RANGE_DPS = IMU_DPS_NUMBER << 3,
    ALL_AXES = 0x78
};
enum { FIFO_ON = 0x40, FIFO_RESET = 0x04, OVERFLOWED = 0x10, FRAME = 2 * IMU_AXES };

static uint32_t empty_fifo(void) { return imu_set(USER_CTRL, FIFO_RESET) && imu_set(USER_CTRL, FIFO_ON); }

/* Returns the setting of the low-pass filter: the widest one below half the rate. */
static uint8_t filter_for(uint32_t rate)
{
    static const uint8_t bandwidths[] = {184, 94, 44, 21, 10, 5};
    uint8_t k = 0;
    while (k < 5 && bandwidths[k] > rate / 2u) {
        k++;
    }
    return (uint8_t)(k + 1u);
}

uint32_t imu_start(uint32_t rate)
{
    static const uint8_t ids[] = {0x68, 0x70, 0x71}; /* MPU-6050, MPU-6500, MPU-9250 */
    uint32_t problem = IMU_OTHER_CHIP, chip = 0;
    while (chip < sizeof ids && (problem = imu_identify(WHO_AM_I, ids[chip])) == IMU_OTHER_CHIP) {
        chip++;
    }
    if (problem) {
        return problem;
    }
    /* The chip divides 1000 Hz. */
    const uint32_t divider = rate ? (1000u + rate / 2u) / rate : 0;
    if (divider < 1 || divider > 256 || !imu_rates_match(10000u / divider, rate * 10u)) {
        return IMU_RATE;
    }
    if (!imu_set(PWR_MGMT_1, RESET)) {
        return IMU_NO_ANSWER;
    }
    imu_bus_wait(100);
    const imu_setting settings[] = {
        {PWR_MGMT_1, CLOCK_OF_GYRO}, {SMPLRT_DIV, (uint8_t)(divider - 1u)},
        {CONFIG, filter_for(rate)},  {GYRO_CONFIG, RANGE_DPS},
        {ACCEL_CONFIG, RANGE_G},     {FIFO_EN, ALL_AXES},
    };
    if (!imu_set_all(settings, sizeof settings / sizeof *settings) ||
        (chip && !imu_set(ACCEL_CONFIG_2, filter_for(rate)))) {
        return IMU_NO_ANSWER;
    }
    return empty_fifo() ? IMU_OK : IMU_NO_ANSWER;
}

uint32_t imu_read(int16_t *frames, uint32_t most, uint32_t *count)
{
    uint8_t status, bytes[FRAME];
    *count = 0;
    if (!imu_bus_read(INT_STATUS, &status, 1) || !imu_bus_read(FIFO_COUNT, bytes, 2)) {
        return IMU_NO_ANSWER;
    }
    if (status & OVERFLOWED) { /* a frame may be cut, so nothing in the FIFO can be trusted */
        return empty_fifo() ? IMU_OVERFLOW : IMU_NO_ANSWER;
    }
    const uint32_t waiting = ((uint32_t)bytes[0] << 8 | bytes[1]) / FRAME;
    const uint32_t reads = waiting < most ? waiting : most;
    for (uint32_t k = 0; k < reads; k++) {
        if (!imu_bus_read(FIFO_R_W, bytes, FRAME)) {
            return IMU_NO_ANSWER;
        }
        for (uint32_t axis = 0; axis < IMU_AXES; axis++) {
            *frames++ = imu_big_endian(bytes + 2 * axis);
        }
    }
    *count = reads;
    return IMU_OK;
}
