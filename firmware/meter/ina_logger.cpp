/* Logs current and voltage from an INA219, INA226 or INA228 on I2C, with one line per conversion over serial.
 *
 * This Arduino program needs no library but Wire. `arenite meter firmware` writes config.h, which describes the
 * hardware.
 * The commands are lines: info, start, stop and zero. Send zero while no current flows: it measures the mean of 256
 * conversions, which is then subtracted from all later ones.
 *
 *     # arenite-ina 1 chip=ina226 rate=1506 shunt_uohm=100000      the answer to info; error=... if no chip answers
 *     S,<number>,<us>,<nA>,<uV>,<marks>*<CRC>                      one sample; docs/ina-logger.md
 *     # stopped samples=N lost=M                                   the answer to stop
 *
 * <number> counts all conversions, including those that could not be read or sent, so a gap shows lost samples.
 * <marks> has one bit for each input that a mark pin of the measured device drives. A sample is lost if the chip is
 * faster than the bus, or if the serial line is full. Every sample is one conversion, which is read once, when the
 * chip's ready flag is set. Registers and steps: TI SBOS448 (INA219), SBOS547 (INA226), SLYS021 (INA228).
 */
#include <Arduino.h>
#include <Wire.h>
#include <stdint.h>
#include <string.h>

#include "config.h"

enum { MAX_LINE_BYTES = 56 }; /* bytes of the longest line */

struct Chip {
    const char *name;
    /* The registers of the two voltages, the size of both registers in bytes, and the unused low bits of each. */
    uint8_t shunt, bus, size, shift, bus_shift;
    int32_t shunt_step;      /* in units of 0.1 nV */
    int32_t bus_step;        /* in units of 0.1 nV */
    uint8_t config_register; /* written last, which starts the conversions */
    uint16_t config;
    uint8_t ready_register, ready_size; /* register with the ready flag `ready`, and its size in bytes */
    uint16_t ready;
    uint8_t clear_register; /* reading it clears the flag */
    uint8_t id_register;    /* 0xFF: the chip has none */
    uint16_t id_mask, id;
    uint32_t period_us; /* time for both conversions, shunt and bus */
    uint32_t
        age_us; /* from the middle of the shunt conversion to the ready flag; assumes that the bus conversion is last */
};

#if METER_CHIP == 219
/* Settings: bus up to 32 V, shunt up to 320 mV, 12 bits, continuous. The ready flag is in the
 * register of the bus voltage; reading the power register clears it. */
static const Chip chip = {"ina219", 1, 2, 2, 0,    3, 100000, 40000000, 0x00, 0x399F,
                          2,        2, 2, 3, 0xFF, 0, 0,      1064,     798};
#elif METER_CHIP == 226
/* Settings: no averaging, 332 us for each conversion, continuous. Reading Mask/Enable clears its flag. */
static const Chip chip = {"ina226", 1, 2, 2, 0,    0,      25000,  12500000, 0x00, 0x4097,
                          6,        2, 8, 6, 0xFE, 0xFFFF, 0x5449, 664,      498};
#elif METER_CHIP == 228
/* Settings: shunt up to 163.84 mV, 280 us for each conversion, continuous. Reading DIAG_ALRT clears its flag. */
static const Chip chip = {"ina228", 4, 5, 3,  4,    4,      3125,   1953125, 0x01, 0xB6D8,
                          11,       2, 2, 11, 0x3F, 0xFFF0, 0x2280, 560,     420};
#else
#error "METER_CHIP in config.h must be 219, 226 or 228"
#endif

#if METER_MARKS > 0
static const uint8_t mark_pins[METER_MARKS] = {METER_MARK_PINS};
#endif

/* `present`: the chip has answered. `has_write_room`: availableForWrite() works, see setup(). */
static bool streaming, present, has_write_room;
/* `number`: of the next conversion. `last_us`: the time at which the latest conversion was read. */
static uint32_t number, sent, lost, last_us;
static bool first;   /* no conversion was read since the command start */
static int32_t zero; /* value of the shunt register without current */
static char command[16];
static uint8_t command_length;

static bool read_register(uint8_t where, uint8_t bytes, uint32_t *value)
{
    Wire.beginTransmission((uint8_t)METER_ADDRESS);
    Wire.write(where);
    if (Wire.endTransmission() != 0 || Wire.requestFrom((uint8_t)METER_ADDRESS, bytes) != bytes) {
        return false;
    }
    *value = 0;
    while (bytes--) {
        *value = *value << 8 | (uint8_t)Wire.read();
    }
    return true;
}

static bool write_register(uint8_t where, uint16_t value)
{
    Wire.beginTransmission((uint8_t)METER_ADDRESS);
    Wire.write(where);
    Wire.write((uint8_t)(value >> 8));
    Wire.write((uint8_t)value);
    return Wire.endTransmission() == 0;
}

/* Returns whether the chip answers and is the one that config.h names, and starts its conversions. */
static bool begin_chip()
{
    uint32_t id;
    if (chip.id_register != 0xFF &&
        (!read_register(chip.id_register, 2, &id) || (id & chip.id_mask) != chip.id)) {
        return false;
    }
    return (chip.config_register == 0 || write_register(0, 0)) &&
           write_register(chip.config_register, chip.config);
}

/* Returns the signed value of a shunt register of chip.size bytes, without its unused low bits. */
static int32_t signed_value(uint32_t raw)
{
    const uint8_t unused = (uint8_t)(32 - 8 * chip.size);
    return (int32_t)(raw << unused) >> (unused + chip.shift);
}

/* Reads a new conversion. Returns 1 and stores its two values and the time of the ready flag; 0: there is none yet;
 * -1: the chip does not answer. */
static int8_t read_conversion(int32_t *shunt, uint32_t *bus, uint32_t *when)
{
    uint32_t flags, shunt_raw, bus_raw, dummy;
    if (!read_register(chip.ready_register, chip.ready_size, &flags)) {
        return -1;
    }
    if (!(flags & chip.ready)) {
        return 0;
    }
    *when = micros();
    if (!read_register(chip.shunt, chip.size, &shunt_raw)) {
        return -1;
    }
    if (chip.ready_register == chip.bus) {
        bus_raw = flags;
    } else if (!read_register(chip.bus, chip.size, &bus_raw)) {
        return -1;
    }
    if (chip.clear_register != chip.ready_register && !read_register(chip.clear_register, 2, &dummy)) {
        return -1;
    }
    *shunt = signed_value(shunt_raw);
    *bus = bus_raw >> chip.bus_shift;
    return 1;
}

/* Returns value / by, rounded to the nearest integer. */
static int64_t divided(int64_t value, int64_t by) { return (value + (value < 0 ? -by : by) / 2) / by; }

/* Converts a value of the shunt register to nA: voltage / resistance, corrected by the gain. */
static int64_t nanoamperes(int32_t raw)
{
    const int64_t tenths_of_nv = (int64_t)(raw - zero) * chip.shunt_step;
    const int64_t plain = divided(tenths_of_nv * 100000, (int64_t)METER_SHUNT_UOHM);
    return plain + divided(plain * (METER_GAIN_PPM), 1000000);
}

static uint8_t crc8(const char *text, uint8_t length)
{
    uint8_t crc = 0;
    while (length--) {
        crc ^= (uint8_t)*text++;
        for (uint8_t bit = 0; bit < 8; bit++) {
            crc = (uint8_t)(crc & 0x80 ? crc << 1 ^ 0x07 : crc << 1);
        }
    }
    return crc;
}

/* Writes a decimal number to `to` and returns the address after it. The printf of some cores cannot print 64 bits. */
static char *append(char *to, int64_t value)
{
    char digits[20];
    uint8_t count = 0;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0) {
        *to++ = '-';
    }
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    while (count) {
        *to++ = digits[--count];
    }
    return to;
}

/* The mark inputs at each of the latest polls of the chip. A sample needs the inputs at the middle of its shunt
 * conversion, but the chip reports a conversion only when it is complete. */
enum { HISTORY_LENGTH = 16 };
static uint8_t mark_history[HISTORY_LENGTH], latest;
static uint32_t mark_times[HISTORY_LENGTH];

static void record_marks()
{
    uint8_t marks = 0;
#if METER_MARKS > 0
    for (uint8_t k = 0; k < METER_MARKS; k++) {
        marks |= (uint8_t)((digitalRead(mark_pins[k]) == HIGH) << k);
    }
#endif
    latest = (uint8_t)((latest + 1) % HISTORY_LENGTH);
    mark_history[latest] = marks;
    mark_times[latest] = micros();
}

/* Returns the recorded marks nearest to time `us`. */
static uint8_t marks_at(uint32_t us)
{
    uint8_t nearest = latest;
    uint32_t min_distance = 0xFFFFFFFFu;
    for (uint8_t k = 0; k < HISTORY_LENGTH; k++) {
        const int32_t away = (int32_t)(mark_times[k] - us);
        const uint32_t distance = away < 0 ? 0 - (uint32_t)away : (uint32_t)away;
        if (distance < min_distance) {
            min_distance = distance;
            nearest = k;
        }
    }
    return mark_history[nearest];
}

/* Sends the line of a sample; `us` is the time of the middle of its shunt conversion. Returns false if the serial
 * buffer has no room for the line. */
static bool send_sample(uint32_t us, int32_t shunt, uint32_t bus)
{
    static const char hex[] = "0123456789ABCDEF";
    char line[MAX_LINE_BYTES];
    char *to = line;
    *to++ = 'S';
    *to++ = ',';
    to = append(to, number);
    *to++ = ',';
    to = append(to, us);
    *to++ = ',';
    to = append(to, nanoamperes(shunt));
    *to++ = ',';
    to = append(to, divided((int64_t)bus * chip.bus_step, 10000));
    *to++ = ',';
    to = append(to, marks_at(us));
    const uint8_t crc = crc8(line, (uint8_t)(to - line));
    *to++ = '*';
    *to++ = hex[crc >> 4];
    *to++ = hex[crc & 15];
    *to++ = '\n';
    const int length = (int)(to - line);
    if (has_write_room && Serial.availableForWrite() < length) {
        return false;
    }
    Serial.write((const uint8_t *)line, (size_t)length);
    return true;
}

/* Reads and sends a conversion, if there is a new one. */
static void sample()
{
    int32_t shunt;
    uint32_t bus, now;
    if (read_conversion(&shunt, &bus, &now) <= 0) {
        return;
    }
    if (first) {
        first = false;
    } else {
        /* Estimate the number of conversions since the previous read from the elapsed time. */
        const uint32_t steps = (now - last_us + chip.period_us / 2) / chip.period_us;
        if (steps > 1) {
            number += steps - 1;
            lost += steps - 1;
        }
    }
    last_us = now;
    if (send_sample(now - chip.age_us, shunt, bus)) {
        sent++;
    } else {
        lost++;
    }
    number++;
}

/* Executes the command zero. It takes at most two seconds. */
static void find_zero()
{
    int64_t sum = 0;
    uint16_t count = 0;
    const uint32_t began = micros();
    zero = 0;
    while (count < 256 && micros() - began < 2000000u) {
        int32_t shunt;
        uint32_t bus, when;
        if (read_conversion(&shunt, &bus, &when) > 0) {
            sum += shunt;
            count++;
        }
    }
    if (count) {
        zero = (int32_t)divided(sum, count);
    }
    Serial.print("# zero counts=");
    Serial.println((long)zero);
}

static void run_command()
{
    if (!strcmp(command, "start")) {
        number = sent = lost = 0;
        first = true;
        streaming = present = begin_chip();
        if (!present) {
            Serial.println("# error no chip answers");
        }
    } else if (!strcmp(command, "stop")) {
        streaming = false;
        Serial.print("# stopped samples=");
        Serial.print((unsigned long)sent);
        Serial.print(" lost=");
        Serial.println((unsigned long)lost);
    } else if (!strcmp(command, "zero")) {
        find_zero();
    } else if (!strcmp(command, "info")) {
        present = begin_chip();
        Serial.print("# arenite-ina 1 chip=");
        Serial.print(chip.name);
        Serial.print(" rate=");
        Serial.print((unsigned long)((1000000u + chip.period_us / 2) / chip.period_us));
        Serial.print(" shunt_uohm=");
        Serial.print((unsigned long)METER_SHUNT_UOHM);
        Serial.println(present ? "" : " error=no-chip");
    }
}

void setup()
{
    Serial.begin(METER_BAUD);
    Wire.begin();
    Wire.setClock(METER_I2C_HZ);
#if METER_MARKS > 0
    for (uint8_t k = 0; k < METER_MARKS; k++) {
        pinMode(mark_pins[k], INPUT);
    }
#endif
    /* A core that does not report free buffer space waits while it writes: no line is lost, but conversions may be. */
    has_write_room = Serial.availableForWrite() >= MAX_LINE_BYTES - 1;
    present = begin_chip();
}

void loop()
{
    while (Serial.available() > 0) {
        const char character = (char)Serial.read();
        if (character == '\n' || character == '\r') {
            command[command_length] = 0;
            command_length = 0;
            run_command();
        } else if (command_length < sizeof command - 1) {
            command[command_length++] = character;
        }
    }
    if (streaming) {
        record_marks();
        sample();
    }
}
