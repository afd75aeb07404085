/* A ring of rows with one writer, which may be an interrupt, and one reader. Only the writer changes `written`, only the
 * reader changes `released`; both count rows and wrap at 32 bits. */
#include "camera.h"
#include "app_settings.h"

/* A row of pixels begins at a multiple of 4 bytes, for DMA. */
enum { STRIDE = (CAMERA_ROW_BYTES + 3u) / 4u * 4u };

static uint32_t ring[CAMERA_ROOM][STRIDE / 4];
static struct {
    uint32_t frame, row, ticks;
} label[CAMERA_ROOM];
static volatile uint32_t written, released;
static uint32_t in, out; /* slots of the next row to be written, and of the oldest row */

static uint32_t after(uint32_t slot) { return slot + 1 == CAMERA_ROOM ? 0 : slot + 1; }

uint8_t *camera_place(void) { return written - released < CAMERA_ROOM ? (uint8_t *)ring[in] : 0; }

void camera_arrived(uint32_t frame, uint32_t row, uint32_t ticks)
{
    label[in].frame = frame;
    label[in].row = row;
    label[in].ticks = ticks;
    in = after(in);
    written++;
}

uint32_t camera_oldest(camera_row *row)
{
    if (written == released) {
        return 0;
    }
    row->frame = label[out].frame;
    row->row = label[out].row;
    row->ticks = label[out].ticks;
    row->pixels = (uint8_t *)ring[out];
    return 1;
}

void camera_release(void)
{
    out = after(out);
    released++;
}
