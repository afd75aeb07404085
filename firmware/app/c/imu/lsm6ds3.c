/* LSM6DS3 and LSM6DSL of STMicroelectronics. Registers: their data sheets, DocID026899 and DocID028475. */
#include "imu_registers.h"

enum {
    FIFO_CTRL3 = 0x08,
    FIFO_CTRL5 = 0x0A,
    WHO_AM_I = 0x0F,
    CTRL1_XL = 0x10,
    CTRL2_G = 0x11,
    CTRL3_C = 0x12,
    FIFO_STATUS1 = 0x3A,
    FIFO_DATA_OUT = 0x3E,
};
enum { RESET = 0x01, WHOLE_SAMPLES = 0x44, RANGE_DPS = IMU_DPS_NUMBER << 2 };
enum { BOTH_UNDIVIDED = 0x09, CONTINUOUS = 6, OVERRUN = 0x40, FRAME = 2 * IMU_AXES };
/* 16 g have the number 1; those of 4 g and 8 g follow. */
enum { RANGE_G = (IMU_G_NUMBER == 0 ? 0 : IMU_G_NUMBER == 3 ? 1 : IMU_G_NUMBER + 1) << 2 };

/* Rates in tenths of a hertz. The number of the first one is 1. */
static const uint16_t rates[] = {125, 260, 520, 1040, 2080, 4160, 8330, 16600};
enum { RATES = sizeof rates / sizeof *rates };
static uint8_t rate_number;

static uint32_t empty_fifo(void)
{
    return imu_set(FIFO_CTRL5, 0) && imu_set(FIFO_CTRL5, (uint8_t)(rate_number << 3 | CONTINUOUS));
}

uint32_t imu_start(uint32_t rate)
{
    uint32_t problem = imu_identify(WHO_AM_I, 0x69); /* LSM6DS3 */
    if (problem == IMU_OTHER_CHIP) {
        problem = imu_identify(WHO_AM_I, 0x6A); /* LSM6DSL, LSM6DS3TR-C */
    }
    if (problem) {
        return problem;
    }
    const uint32_t k = imu_rate_number(rates, RATES, rate);
    if (k == RATES) {
        return IMU_RATE;
    }
    rate_number = (uint8_t)(k + 1u);
    if (!imu_set(CTRL3_C, RESET)) {
        return IMU_NO_ANSWER;
    }
    imu_bus_wait(1);
    const imu_setting settings[] = {
        {CTRL3_C, WHOLE_SAMPLES}, /* both bytes of a sample change together; addresses count up */
        {FIFO_CTRL3, BOTH_UNDIVIDED},
        {CTRL1_XL, (uint8_t)(rate_number << 4 | RANGE_G)},
        {CTRL2_G, (uint8_t)(rate_number << 4 | RANGE_DPS)},
    };
    return imu_set_all(settings, sizeof settings / sizeof *settings) && empty_fifo() ? IMU_OK : IMU_NO_ANSWER;
}

/* Reads one word of 16 bits from the FIFO after another. */
static uint32_t read_words(uint8_t *bytes, uint32_t words)
{
    return imu_bus_read(FIFO_DATA_OUT, bytes, 2 * words);
}

uint32_t imu_read(int16_t *frames, uint32_t most, uint32_t *count)
{
    uint8_t status[4], bytes[FRAME];
    *count = 0;
    if (!imu_bus_read(FIFO_STATUS1, status, 4)) {
        return IMU_NO_ANSWER;
    }
    if (status[1] & OVERRUN) {
        return empty_fifo() ? IMU_OVERFLOW : IMU_NO_ANSWER;
    }
    /* Words that wait, and the place of the next one in its frame: rotation x, y, z, acceleration x, y, z. */
    uint32_t waiting = (status[1] & 0x0Fu) << 8 | status[0];
    const uint32_t place = (uint32_t)status[3] << 8 | status[2];
    if (place >= IMU_AXES || (place && waiting)) { /* a frame was cut by a read that failed */
        return empty_fifo() ? IMU_OVERFLOW : IMU_NO_ANSWER;
    }
    waiting /= IMU_AXES;
    const uint32_t reads = waiting < most ? waiting : most;
    for (uint32_t k = 0; k < reads; k++) {
        if (!read_words(bytes, IMU_AXES)) {
            return IMU_NO_ANSWER;
        }
        for (uint32_t axis = 0; axis < IMU_AXES; axis++) {
            *frames++ = imu_little_endian(bytes + 2 * ((axis + 3) % IMU_AXES));
        }
    }
    *count = reads;
    return IMU_OK;
}
