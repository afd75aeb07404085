/* Helpers that the drivers of cameras' chips share. */
#ifndef ARENITE_CAMERA_REGISTERS_H
#define ARENITE_CAMERA_REGISTERS_H

#include "app_pins.h"
#include "app_settings.h"
#include "camera_bus.h"
#include "camera_chip.h"
#include "console.h"

/* A register and its value. */
typedef struct {
    uint16_t number;
    uint8_t value;
} camera_setting;

/* Writes the number of a register to `bytes`, which `wide` is not 0 if it has 16 bits. Returns the number of bytes. */
static inline uint32_t camera_number(uint8_t *bytes, uint32_t number, uint32_t wide)
{
    uint32_t count = 0;
    if (wide) {
        bytes[count++] = (uint8_t)(number >> 8);
    }
    bytes[count++] = (uint8_t)number;
    return count;
}

static inline uint32_t camera_set(uint32_t number, uint32_t value, uint32_t wide)
{
    uint8_t bytes[3];
    const uint32_t count = camera_number(bytes, number, wide);
    bytes[count] = (uint8_t)value;
    return camera_bus_write(bytes, count + 1u);
}

/* Writes registers in their order. Returns CAMERA_OK or CAMERA_NO_ANSWER. */
static inline uint32_t camera_set_all(const camera_setting *settings, uint32_t count, uint32_t wide)
{
    for (; count > 0; count--, settings++) {
        if (!camera_set(settings->number, settings->value, wide)) {
            console_note("The camera stopped answering while it was set up: check its supply and wires.");
            return CAMERA_NO_ANSWER;
        }
    }
    return CAMERA_OK;
}

/* Returns CAMERA_OK if the registers `number` and `number + 1` have the upper and the lower byte of `id`. */
static inline uint32_t camera_identify(uint32_t number, uint32_t id, uint32_t mask, uint32_t wide)
{
    uint8_t bytes[2], high, low;
    if (!camera_bus_read(bytes, camera_number(bytes, number, wide), &high) ||
        !camera_bus_read(bytes, camera_number(bytes, number + 1u, wide), &low)) {
        console_note(
            "No camera answers: check its supply, its clock, the wires of the bus, and CAMERA_ADDRESS.");
        return CAMERA_NO_ANSWER;
    }
    const uint32_t found = (uint32_t)high << 8 | low;
    if ((found & mask) == id) {
        return CAMERA_OK;
    }
    console_begin();
    console_text("Another camera answers: its number is ");
    console_number(found);
    console_text(", expected ");
    console_number(id);
    console_end();
    return CAMERA_OTHER_CHIP;
}

#endif
