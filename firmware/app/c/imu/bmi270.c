/* BMI270 of Bosch Sensortec. Registers: data sheet BST-BMI270-DS000.
 *
 * The chip needs a configuration of 8 KB from its maker after each start. It is part of Bosch's BMI270 Sensor API
 * (bmi270_config_file in bmi270.c), which has a licence of its own. Link it as `imu_bmi270_configuration`. */
#include "imu_registers.h"

extern const uint8_t imu_bmi270_configuration[];

enum {
    CHIP_ID = 0x00,
    INTERNAL_STATUS = 0x21,
    FIFO_LENGTH = 0x24,
    FIFO_DATA = 0x26,
    ACC_CONF = 0x40,
    ACC_RANGE = 0x41,
    GYR_CONF = 0x42,
    GYR_RANGE = 0x43,
    FIFO_CONFIG_0 = 0x48,
    FIFO_CONFIG_1 = 0x49,
    INIT_CTRL = 0x59,
    INIT_ADDR_0 = 0x5B,
    INIT_DATA = 0x5E,
    PWR_CONF = 0x7C,
    PWR_CTRL = 0x7D,
    CMD = 0x7E,
};
enum {
    RESET = 0xB6,
    FLUSH = 0xB0,
    BOTH_ON = 0x06,
    RANGE_G = IMU_G_NUMBER,
    RANGE_DPS = 3 - IMU_DPS_NUMBER,
    FILTERED = 0xA0
};
enum { NO_HEADERS_BOTH = 0xC0, INITIALIZED = 1, FRAME = 2 * IMU_AXES };
enum { CONFIGURATION = 8192, PART = 32, FIFO_BYTES = 2048 };

/* Rates in tenths of a hertz. The number of the first one is 6. */
static const uint16_t rates[] = {250, 500, 1000, 2000, 4000, 8000, 16000};
enum { RATES = sizeof rates / sizeof *rates, FIRST_RATE = 6 };

static uint32_t load_configuration(void)
{
    for (uint32_t at = 0; at < CONFIGURATION; at += PART) {
        /* The place is counted in words of two bytes: four bits in the first register, the others in the second. */
        const uint8_t place[] = {(uint8_t)(at / 2 & 15u), (uint8_t)(at / 32)};
        if (!imu_bus_write(INIT_ADDR_0, place, 2) ||
            !imu_bus_write(INIT_DATA, imu_bmi270_configuration + at, PART)) {
            return 0;
        }
    }
    return 1;
}

uint32_t imu_start(uint32_t rate)
{
    const uint32_t problem = imu_identify(CHIP_ID, 0x24);
    if (problem) {
        return problem;
    }
    const uint32_t k = imu_rate_number(rates, RATES, rate);
    if (k == RATES) {
        return IMU_RATE;
    }
    const uint8_t number = (uint8_t)(k + FIRST_RATE);
    if (!imu_set(CMD, RESET)) {
        return IMU_NO_ANSWER;
    }
    imu_bus_wait(2);
    if (!imu_set(PWR_CONF, 0)) { /* no saving of power while the configuration is written */
        return IMU_NO_ANSWER;
    }
    imu_bus_wait(1);
    uint8_t status;
    if (!imu_set(INIT_CTRL, 0) || !load_configuration() || !imu_set(INIT_CTRL, 1)) {
        return IMU_NO_ANSWER;
    }
    imu_bus_wait(20);
    if (!imu_bus_read(INTERNAL_STATUS, &status, 1)) {
        return IMU_NO_ANSWER;
    }
    if ((status & 15u) != INITIALIZED) {
        return IMU_FIRMWARE;
    }
    const imu_setting settings[] = {
        {ACC_CONF, (uint8_t)(FILTERED | number)},
        {ACC_RANGE, RANGE_G},
        {GYR_CONF, (uint8_t)(FILTERED | number)},
        {GYR_RANGE, RANGE_DPS},
        {PWR_CTRL, BOTH_ON},
        {FIFO_CONFIG_0, 0}, /* new frames replace the oldest ones */
        {FIFO_CONFIG_1, NO_HEADERS_BOTH},
        {CMD, FLUSH},
    };
    return imu_set_all(settings, sizeof settings / sizeof *settings) ? IMU_OK : IMU_NO_ANSWER;
}

uint32_t imu_read(int16_t *frames, uint32_t most, uint32_t *count)
{
    uint8_t bytes[FRAME];
    *count = 0;
    if (!imu_bus_read(FIFO_LENGTH, bytes, 2)) {
        return IMU_NO_ANSWER;
    }
    const uint32_t length = (bytes[1] & 0x3Fu) << 8 | bytes[0];
    if (length + FRAME > FIFO_BYTES) { /* the FIFO is full, so frames may have been replaced */
        return imu_set(CMD, FLUSH) ? IMU_OVERFLOW : IMU_NO_ANSWER;
    }
    const uint32_t waiting = length / FRAME, reads = waiting < most ? waiting : most;
    for (uint32_t k = 0; k < reads; k++) {
        if (!imu_bus_read(FIFO_DATA, bytes, FRAME)) {
            return IMU_NO_ANSWER;
        }
        /* A frame is rotation x, y, z, acceleration x, y, z. */
        for (uint32_t axis = 0; axis < IMU_AXES; axis++) {
            *frames++ = imu_little_endian(bytes + 2 * ((axis + 3) % IMU_AXES));
        }
    }
    *count = reads;
    return IMU_OK;
}
