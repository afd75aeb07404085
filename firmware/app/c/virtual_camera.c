/* A camera of an emulated Arm board. The emulator's semihosting reads the file camera.bin, so rows arrive at exact times
 * of the emulator's virtual clock.
 *
 * The file begins with a 32-bit number. 0: scores are not printed; 1: the scores of each frame are printed; 2: time begins
 * only after the command "binary hold". Then it is a sequence of records: a header, and the pixels of
 * a row. A header has 32-bit numbers, lower byte first:
 * the time at which the row arrives, in microseconds since the start, in two numbers, the lower half first; the number of
 * the frame; and the number of the row in it. The last record has only a header: a row with the number UINT32_MAX. When
 * it arrives, the counts and a line are printed. */
#include "app_settings.h"
#include "app_stream.h"
#include "camera.h"
#include "camera_report.h"
#include "camera_stream.h"
#include "console.h"
#include "port.h"
#include "semihosting.h"

static struct {
    uint32_t at_low, at_high, frame, row;
} header;
static uint32_t file, position, has_ended, last_ticks;
static uint64_t ticks;

static void load(void *to, uint32_t bytes)
{
    has_ended |= semihosting_read(file, to, bytes);
    position += bytes;
}

static void skip(uint32_t bytes)
{
    const uint32_t argument[2] = {file, position += bytes};
    semihosting(SYS_SEEK, argument);
}

uint32_t camera_start(void)
{
    static const char name[] = "camera.bin";
    file = semihosting_open(name, sizeof name - 1);
    if (file == UINT32_MAX) {
        return 1; /* there is no file camera.bin in the emulator's folder */
    }
    last_ticks = port_ticks();
    load(&app_shows_scores, sizeof app_shows_scores);
    load(&header, sizeof header);
    return 0;
}

void camera_poll(void)
{
    const uint32_t counter = port_ticks();
    if (camera_stream_holds() || (app_shows_scores > 1 && !app_stream_keeps_all())) {
        app_watch_rows(1); /* nobody asked the camera */
    } else {
        ticks += counter - last_ticks;
    }
    last_ticks = counter;
    while (!has_ended && !camera_stream_holds()) {
        const uint64_t at = ((uint64_t)header.at_high << 32 | header.at_low) * PORT_TICKS_PER_US;
        if (at > ticks) {
            return;
        }
        if (header.row == UINT32_MAX) {
            has_ended = 1;
            if (!console_uses_frames()) {
                app_report_counts();
            }
            console_note("The recording ended.");
            return;
        }
        uint8_t *place = camera_place();
        if (place) {
            load(place, CAMERA_ROW_BYTES);
            camera_arrived(header.frame, header.row, counter - (uint32_t)(ticks - at));
        } else {
            skip(CAMERA_ROW_BYTES);
        }
        load(&header, sizeof header);
    }
}
