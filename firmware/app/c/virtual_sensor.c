/* A sensor of an emulated Arm board. The emulator's semihosting reads the file sensor.bin, so samples arrive at exact
 * times of the emulator's virtual clock.
 *
 * The file is a sequence of records: a header, and its samples. A header has the time at which the samples arrive, in
 * sample periods since the start; the number of samples that were lost before them; and the number of samples, which
 * have RECORD values at most. These are 32-bit numbers, lower byte first. At the end of the file, a line is printed. */
#include "app_settings.h"
#include "app_stream.h"
#include "console.h"
#include "port.h"
#include "sensor.h"

enum { SYS_OPEN = 1, SYS_READ = 6 };
enum { RECORD = 256 }; /* most values of a record */

static struct {
    uint32_t arrival, lost, count;
    int16_t samples[RECORD];
} record;
static uint32_t file, has_ended, rate_hz, last_ticks;
static uint64_t ticks;

static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void load(void *to, uint32_t bytes)
{
    const struct {
        uint32_t file;
        void *to;
        uint32_t bytes;
    } argument = {file, to, bytes};
    has_ended |= semihosting(SYS_READ, &argument); /* returns the number of bytes that are missing */
}

static void load_record(void)
{
    load(&record, 12);
    load(record.samples, 2 * SENSOR_CHANNELS * record.count);
    if (has_ended) {
        console_begin();
        console_text("The recording ended.");
        console_end();
    }
}

uint32_t sensor_start(uint32_t rate)
{
    static const char name[] = "sensor.bin";
    const struct {
        const char *name;
        uint32_t mode, length;
    } argument = {name, 1, sizeof name - 1}; /* mode 1: read binary */
    file = semihosting(SYS_OPEN, &argument);
    if (file == UINT32_MAX) {
        return 1; /* there is no file sensor.bin in the emulator's folder */
    }
    rate_hz = rate;
    last_ticks = port_ticks();
    load_record();
    return 0;
}

void sensor_poll(void)
{
    const uint32_t counter = port_ticks();
    ticks += app_stream_holds() ? 0 : counter - last_ticks;
    last_ticks = counter;
    const uint32_t now = (uint32_t)(ticks * rate_hz / (PORT_TICKS_PER_US * UINT64_C(1000000)));
    while (!has_ended && record.arrival <= now) {
        sensor_write(record.samples, record.count, record.lost);
        load_record();
    }
}
