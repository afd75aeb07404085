/* A ring of samples with one writer, which may be an interrupt or another core, and one reader. Only the writer changes
 * `written`, only the reader changes `taken`; both count samples and wrap at 32 bits.
 *
 * The ring remembers one gap, which is before sample number `gap_at`. While the reader has not passed it, samples after
 * another gap are not stored: they count as lost. The writer sets `gap_lost` only if it is 0, and the reader only
 * clears it, so no step needs to be atomic. */
#include "app_settings.h"
#include "sensor.h"

/* The compiler and the processor finish all accesses before this line before they begin one after it. Without it, the
 * reader could see `written` before the sample. */
#if defined(__arm__)
#define ORDER() __asm__ volatile("dmb" ::: "memory")
#elif defined(__XTENSA__)
#define ORDER() __asm__ volatile("memw" ::: "memory")
#else
#define ORDER() __sync_synchronize()
#endif

static int16_t ring[SENSOR_ROOM][SENSOR_CHANNELS]; /* SENSOR_ROOM is a power of two */
static volatile uint32_t written, taken;
static volatile uint32_t gap_at, gap_lost; /* gap_lost is 0 if there is no gap */
static uint32_t waiting_lost;              /* samples that are missing before the next sample to be stored */

static void copy(int16_t *to, const int16_t *from)
{
    for (uint32_t c = 0; c < SENSOR_CHANNELS; c++) {
        to[c] = from[c];
    }
}

void sensor_write(const int16_t *samples, uint32_t count, uint32_t lost)
{
    waiting_lost += lost;
    for (; count > 0; count--, samples += SENSOR_CHANNELS) {
        const uint32_t at = written, is_full = at - taken >= SENSOR_ROOM;
        if (is_full || (waiting_lost && gap_lost)) {
            waiting_lost++;
            continue;
        }
        ORDER(); /* the reader has copied what was at this place */
        if (waiting_lost) {
            gap_at = at;
            ORDER();
            gap_lost = waiting_lost;
            waiting_lost = 0;
        }
        copy(ring[at % SENSOR_ROOM], samples);
        ORDER();
        written = at + 1u;
    }
}

uint32_t sensor_read(int16_t *to, uint32_t most, uint32_t *lost)
{
    const uint32_t from = taken;
    uint32_t count = written - from;
    ORDER(); /* a gap before one of these samples is visible now */
    *lost = 0;
    if (gap_lost) {
        ORDER();
        const uint32_t before_gap = gap_at - from;
        if (before_gap == 0) {
            *lost = gap_lost;
            ORDER();
            gap_lost = 0;
        } else if (before_gap < count) {
            count = before_gap;
        }
    }
    count = count < most ? count : most;
    for (uint32_t k = 0; k < count; k++) {
        copy(to + k * SENSOR_CHANNELS, ring[(from + k) % SENSOR_ROOM]);
    }
    ORDER();
    taken = from + count;
    return count;
}

uint32_t sensor_waiting(void) { return written - taken; }
