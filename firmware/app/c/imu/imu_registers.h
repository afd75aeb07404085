/* Helpers that the drivers of motion sensors share. */
#ifndef ARENITE_IMU_REGISTERS_H
#define ARENITE_IMU_REGISTERS_H

#include "app_pins.h"
#include "imu_bus.h"
#include "imu_chip.h"

/* The ranges of app_pins.h. */
#if IMU_RANGE_G != 2 && IMU_RANGE_G != 4 && IMU_RANGE_G != 8 && IMU_RANGE_G != 16
#error "IMU_RANGE_G in src/app_pins.h must be 2, 4, 8 or 16"
#endif
#if IMU_RANGE_DPS != 250 && IMU_RANGE_DPS != 500 && IMU_RANGE_DPS != 1000 && IMU_RANGE_DPS != 2000
#error "IMU_RANGE_DPS in src/app_pins.h must be 250, 500, 1000 or 2000"
#endif

/* Their numbers, from the smallest range on. */
enum {
    IMU_G_NUMBER = IMU_RANGE_G == 2 ? 0
    : IMU_RANGE_G == 4              ? 1
    : IMU_RANGE_G == 8              ? 2
                                    : 3,
    IMU_DPS_NUMBER = IMU_RANGE_DPS == 250 ? 0
    : IMU_RANGE_DPS == 500                ? 1
    : IMU_RANGE_DPS == 1000               ? 2
                                          : 3,
};

/* A register and its value. */
typedef struct {
    uint8_t address, value;
} imu_setting;

static inline uint32_t imu_set(uint8_t address, uint8_t value) { return imu_bus_write(address, &value, 1); }

/* Writes registers in their order. Returns 1, or 0 if the chip does not answer. */
static inline uint32_t imu_set_all(const imu_setting *settings, uint32_t count)
{
    for (; count > 0; count--, settings++) {
        if (!imu_set(settings->address, settings->value)) {
            return 0;
        }
    }
    return 1;
}

/* Returns IMU_OK if the chip's identification is `id`. */
static inline uint32_t imu_identify(uint8_t address, uint8_t id)
{
    uint8_t found;
    if (!imu_bus_read(address, &found, 1)) {
        return IMU_NO_ANSWER;
    }
    return found == id ? IMU_OK : IMU_OTHER_CHIP;
}

/* Returns whether two rates differ by at most 5 %. The rates are in tenths of a hertz. */
static inline uint32_t imu_rates_match(uint32_t has, uint32_t wanted)
{
    const uint32_t difference = has > wanted ? has - wanted : wanted - has;
    return difference * 20u <= wanted;
}

/* Returns the number of the entry of `rates`, in tenths of a hertz, that matches `rate` in hertz, or `count`. */
static inline uint32_t imu_rate_number(const uint16_t *rates, uint32_t count, uint32_t rate)
{
    uint32_t k = 0;
    while (k < count && !imu_rates_match(rates[k], rate * 10u)) {
        k++;
    }
    return k;
}

static inline int16_t imu_little_endian(const uint8_t *bytes)
{
    return (int16_t)(uint16_t)(bytes[0] | (uint32_t)bytes[1] << 8);
}

static inline int16_t imu_big_endian(const uint8_t *bytes)
{
    return (int16_t)(uint16_t)(bytes[1] | (uint32_t)bytes[0] << 8);
}

#endif
