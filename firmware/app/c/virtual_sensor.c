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
#include "semihosting.h"
#include "sensor.h"

enum { RECORD = 256 }; /* most values of a record */

static struct {
    uint32_t arrival, lost, count;
    int16_t samples[RECORD];
} record;
static uint32_t file, has_ended, rate_hz, last_ticks;
static uint64_t ticks;

static void load(void *to, uint32_t bytes) { has_ended |= semihosting_read(file, to, bytes); }

static void load_record(void)
{
    load(&record, 12);
    load(record.samples, 2 * SENSOR_CHANNELS * record.count);
    if (has_ended) {
        console_note("The recording ended.");
    }
}

uint32_t sensor_start(uint32_t rate)
{
    static const char name[] = "sensor.bin";
    file = semihosting_open(name, sizeof name - 1);
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
    /* The time in sample periods is not computed: a division takes more code and time than two products. */
    const uint64_t now = ticks * rate_hz;
    while (!has_ended && record.arrival * (PORT_TICKS_PER_US * UINT64_C(1000000)) <= now) {
        sensor_write(record.samples, record.count, record.lost);
        load_record();
    }
}
