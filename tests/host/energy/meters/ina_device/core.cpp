/* Runs the logger's firmware as a process, with a simulated I2C chip, a pseudo-terminal and simulated time.
 *
 *     logger CHIP BAUD IDLE_A ACTIVE_A PERIOD_S ACTIVE_S BUS_V SHUNT_OHM SPEED [PPM]
 *
 * It first prints the name of the port. The current is ACTIVE_A for ACTIVE_S at the end of every PERIOD_S, else IDLE_A. Pin
 * 7 is high while the current is ACTIVE_A. The chip has registers as in its data sheet: it integrates over each conversion,
 * rounds to its step, limits, and sets its ready flag. The same access clears the flag as on the real chip. Time advances
 * with every byte on the bus, every read of the clock and every character, SPEED times as fast as real time. PPM is the
 * error of the chip's oscillator.
 */
#include "Arduino.h"
#include "Wire.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

SerialPort Serial;
TwoWire Wire;

static int chip_kind;
static double baud, idle_a, active_a, period_s, active_s, bus_v, shunt_ohm, speed, ppm;
static int line_fd; /* the end of the pseudo-terminal that this process reads and writes */
static double now_s = 0.0123, i2c_hz = 100000;

/* Returns the real time in seconds. */
static double wall()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Advances the simulated time. Sleeps if it is more than 5 ms ahead of the real time. */
static void pass(double seconds)
{
    static double began = wall();
    now_s += seconds;
    const double ahead = now_s / speed - (wall() - began);
    if (ahead > 0.005) {
        usleep((useconds_t)(ahead * 1e6));
    }
}

/* Returns the charge until `t`, in coulombs. */
static double charge(double t)
{
    const double periods = floor(t / period_s), part_s = t - periods * period_s, idle_s = period_s - active_s;
    const double per_period = idle_a * idle_s + active_a * active_s;
    return periods * per_period +
           (part_s < idle_s ? idle_a * part_s : idle_a * idle_s + active_a * (part_s - idle_s));
}

/* ---- the chip ---- */

static uint16_t config_word, adc_config = 0xFB68; /* the value after power-up of an INA228 */
static uint8_t pointer_register;
static bool ready;
static double conversion_began = 0;
static uint32_t shunt_word, bus_word;

/* Returns the time of a conversion in seconds, from the configuration and the tables of the data sheets. */
static double conversion_time(int which) /* 0: shunt, 1: bus */
{
    static const double t226[] = {140e-6, 204e-6, 332e-6, 588e-6, 1.1e-3, 2.116e-3, 4.156e-3, 8.244e-3};
    static const double t228[] = {50e-6, 84e-6, 150e-6, 280e-6, 540e-6, 1.052e-3, 2.074e-3, 4.12e-3};
    double t;
    if (chip_kind == 219) {
        const int adc = config_word >> (which ? 7 : 3) & 15;
        static const double plain[] = {84e-6, 148e-6, 276e-6, 532e-6};
        t = adc & 8 ? 532e-6 * (1 << (adc & 7)) : plain[adc & 3];
    } else if (chip_kind == 226) {
        t = t226[config_word >> (which ? 6 : 3) & 7];
    } else {
        t = t228[adc_config >> (which ? 9 : 6) & 7];
    }
    return t * (1 + ppm * 1e-6);
}

/* Returns whether the chip measures shunt and bus again and again. */
static bool continuous() { return chip_kind == 228 ? (adc_config >> 12) == 0xB : (config_word & 7) == 7; }

/* Returns `value`, rounded and limited to `min` and `max`. */
static int64_t limited(double value, int64_t min, int64_t max)
{
    const double rounded = nearbyint(value);
    return rounded < min ? min : rounded > max ? max : (int64_t)rounded;
}

/* Runs all conversions that end before now. A conversion measures first the shunt, then the bus. */
static void convert()
{
    if (!continuous()) {
        conversion_began = now_s;
        return;
    }
    const double first = conversion_time(0), both = first + conversion_time(1);
    while (conversion_began + both <= now_s) {
        const double amps = (charge(conversion_began + first) - charge(conversion_began)) / first;
        const double volts = amps * shunt_ohm;
        if (chip_kind == 219) {
            static const int64_t limits[] = {4000, 8000, 16000, 32000};
            const int64_t limit = limits[config_word >> 11 & 3];
            shunt_word = (uint16_t)limited(volts / 10e-6, -limit, limit);
            bus_word = (uint32_t)limited(bus_v / 4e-3, 0, 8191) << 3;
        } else if (chip_kind == 226) {
            shunt_word = (uint16_t)limited(volts / 2.5e-6, -32768, 32767);
            bus_word = (uint32_t)limited(bus_v / 1.25e-3, 0, 32767);
        } else {
            const double step = config_word & 0x10 ? 78.125e-9 : 312.5e-9;
            shunt_word = ((uint32_t)limited(volts / step, -524288, 524287) & 0xFFFFF) << 4;
            bus_word = (uint32_t)limited(bus_v / 195.3125e-6, 0, 524287) << 4;
        }
        ready = true;
        conversion_began += both;
    }
}

static void restart()
{
    ready = false;
    conversion_began = now_s;
}

static void set_register(uint8_t where, uint16_t value)
{
    convert();
    if (where == 0) {
        config_word = value;
        restart();
    } else if (where == 1 && chip_kind == 228) {
        adc_config = value;
        restart();
    }
}

/* Writes the bytes of a register to `to`, most significant first, and returns their number. */
static int get_register(uint8_t where, uint8_t *to)
{
    convert();
    uint32_t value = 0;
    int size = 2;
    if (chip_kind == 228) {
        size = where >= 4 && where <= 8 && where != 6 ? 3 : 2;
        value = where == 4 ? shunt_word : where == 5 ? bus_word : where == 0 ? config_word : 0;
        value = where == 1 ? adc_config : where == 0x3F ? 0x2281 : where == 0x3E ? 0x5449 : value;
        if (where == 11) {
            value = 1u | (ready ? 2u : 0u);
            ready = false;
        }
    } else {
        value = where == 1 ? shunt_word : where == 2 ? bus_word : where == 0 ? config_word : 0;
        if (chip_kind == 219) {
            if (where == 2) {
                value |= ready ? 2u : 0u;
            } else if (where == 3) {
                ready = false;
            }
        } else if (where == 6) {
            value = ready ? 8u : 0u;
            ready = false;
        } else if (where >= 0xFE) {
            value = where == 0xFE ? 0x5449 : 0x2260;
        }
    }
    for (int k = 0; k < size; k++) {
        to[k] = (uint8_t)(value >> 8 * (size - 1 - k));
    }
    return size;
}

/* ---- Wire: a byte takes 9 clock cycles of the bus, and the address of the chip is 0x40 ---- */

static uint8_t out[8], in[8], target;
static int out_count, in_count, in_at;

void TwoWire::begin() {}
void TwoWire::setClock(uint32_t hz) { i2c_hz = hz; }
void TwoWire::beginTransmission(uint8_t address)
{
    target = address;
    out_count = 0;
}
size_t TwoWire::write(uint8_t byte)
{
    out[out_count < 8 ? out_count++ : 7] = byte;
    return 1;
}
uint8_t TwoWire::endTransmission()
{
    pass(9 * (1 + out_count) / i2c_hz);
    if (target != 0x40) {
        return 2;
    }
    pointer_register = out[0];
    if (out_count == 3) {
        set_register(out[0], (uint16_t)(out[1] << 8 | out[2]));
    }
    return 0;
}
uint8_t TwoWire::requestFrom(uint8_t address, uint8_t count)
{
    uint8_t bytes[4] = {0, 0, 0, 0};
    pass(9 * (1 + count) / i2c_hz);
    if (address != 0x40) {
        return 0;
    }
    const int size = get_register(pointer_register, bytes);
    in_count = count;
    in_at = 0;
    for (int k = 0; k < count; k++) {
        in[k] = k < size ? bytes[k] : 0xFF;
    }
    return count;
}
int TwoWire::read() { return in_at < in_count ? in[in_at++] : -1; }

/* ---- Arduino ---- */

static double queued, queued_at; /* characters in the buffer at the time `queued_at` */

static void drain()
{
    queued = fmax(0, queued - (now_s - queued_at) * baud / 10);
    queued_at = now_s;
}

void SerialPort::begin(unsigned long) {}
int SerialPort::available()
{
    pollfd p = {line_fd, POLLIN, 0};
    pass(1e-6);
    return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}
int SerialPort::read()
{
    uint8_t byte;
    return ::read(line_fd, &byte, 1) == 1 ? byte : -1;
}
int SerialPort::availableForWrite()
{
    drain();
    return 63 - (int)ceil(queued);
}
size_t SerialPort::write(const uint8_t *bytes, size_t count)
{
    drain();
    queued += (double)count;
    if (queued > 63) { /* a real core waits while its buffer is full */
        pass((queued - 63) * 10 / baud);
    }
    for (size_t done = 0; done < count;) {
        const ssize_t n = ::write(line_fd, bytes + done, count - done);
        if (n < 0) {
            _exit(0);
        }
        done += (size_t)n;
    }
    return count;
}
void SerialPort::print(const char *text) { write((const uint8_t *)text, strlen(text)); }
void SerialPort::print(unsigned long number)
{
    char text[24];
    snprintf(text, sizeof text, "%lu", number);
    print(text);
}
void SerialPort::println(const char *text)
{
    print(text);
    print("\r\n");
}
void SerialPort::println(unsigned long number)
{
    print(number);
    print("\r\n");
}
void SerialPort::println(long number)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", number);
    println(text);
}

/* The 32-bit value wraps about one second after the start, as on a board that has run for 71 minutes. */
unsigned long micros()
{
    pass(2e-6);
    return (uint32_t)(uint64_t)(now_s * 1e6 + 4294000000.0);
}
int digitalRead(uint8_t pin) { return pin == 7 && fmod(now_s, period_s) >= period_s - active_s; }
void pinMode(uint8_t, uint8_t) {}

int main(int argc, char **argv)
{
    if (argc < 10) {
        return 2;
    }
    double *const values[] = {&baud, &idle_a, &active_a, &period_s, &active_s, &bus_v, &shunt_ohm, &speed};
    chip_kind = atoi(argv[1]);
    for (int k = 0; k < 8; k++) {
        *values[k] = atof(argv[2 + k]);
    }
    ppm = argc > 10 ? atof(argv[10]) : 0;
    /* The values after power-up, from the data sheets. */
    config_word = chip_kind == 219 ? 0x399F : chip_kind == 226 ? 0x4127 : 0;
    int far;
    char name[64];
    if (openpty(&line_fd, &far, name, 0, 0) != 0) {
        return 3;
    }
    termios raw;
    tcgetattr(far, &raw);
    cfmakeraw(&raw);
    tcsetattr(far, TCSANOW, &raw);
    printf("%s\n", name);
    fflush(stdout);
    setup();
    for (;;) {
        loop();
    }
}
