/* A ring of samples with one writer, which may be an interrupt, and one reader. Only the writer changes `written`, only
 * the reader changes `taken`; both count samples and wrap at 32 bits.
 *
 * The ring remembers one gap, which is before sample number `gap_at`. While the reader has not passed it, samples after
 * another gap are not stored: they count as lost. */
#include "app_settings.h"
#include "sensor.h"

static int16_t ring[SENSOR_ROOM]; /* a power of two */
static volatile uint32_t written, taken;
static volatile uint32_t gap_at, gap_lost; /* gap_lost is 0 if there is no gap */
static uint32_t waiting_lost;              /* samples that are missing before the next sample to be stored */

void sensor_write(const int16_t *samples, uint32_t count, uint32_t lost)
{
    waiting_lost += lost;
    for (; count > 0; count--, samples++) {
        const uint32_t is_full = written - taken >= SENSOR_ROOM;
        if (is_full || (waiting_lost && gap_lost)) {
            waiting_lost++;
            continue;
        }
        if (waiting_lost) {
            gap_at = written;
            gap_lost = waiting_lost;
            waiting_lost = 0;
        }
        ring[written % SENSOR_ROOM] = *samples;
        written++;
    }
}

uint32_t sensor_read(int16_t *to, uint32_t most, uint32_t *lost)
{
    uint32_t count = written - taken;
    *lost = 0;
    if (gap_lost) {
        const uint32_t before_gap = gap_at - taken;
        if (before_gap == 0) {
            *lost = gap_lost;
            gap_lost = 0;
        } else if (before_gap < count) {
            count = before_gap;
        }
    }
    count = count < most ? count : most;
    for (uint32_t k = 0; k < count; k++) {
        to[k] = ring[(taken + k) % SENSOR_ROOM];
    }
    taken += count;
    return count;
}

uint32_t sensor_waiting(void) { return written - taken; }
