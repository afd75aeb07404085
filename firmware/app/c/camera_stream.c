#include "camera_stream.h"
#include <stddef.h>
#include "app_settings.h"
#include "app_stream.h"
#include "camera_app.h"
#include "console.h"
#include "port.h"

enum { ROW = 9, PART = 192 }; /* most bytes of a row in a frame */

static uint32_t sent; /* bytes of the oldest row that were sent or dropped */

uint64_t app_period(void) { return (uint64_t)APP_HOP * CAMERA_FRAME_US * PORT_TICKS_PER_US; }

void app_put_health(void)
{
    console_bytes(&app_state, offsetof(camera_counts, missing));
    console_value(console_dropped_frames(), 4);
    console_value(console_dropped(), 4);
    console_value(0, 4); /* there is no gate */
}

uint32_t camera_stream_row(const camera_row *row)
{
    const uint32_t rest = CAMERA_ROW_BYTES - sent, part = rest < PART ? rest : PART;
    if (app_stream_may_send(8 + part)) {
        console_frame(ROW, CAMERA_FORMAT);
        console_value(row->frame, 4);
        console_value(row->row | sent << 16, 4);
        console_bytes(row->pixels + sent, part);
        console_end();
        console_poll();
    }
    sent = part < rest ? sent + part : 0;
    return part == rest;
}

uint32_t camera_stream_holds(void)
{
    camera_row row;
    return app_stream_holds() || (app_stream_keeps_all() && camera_oldest(&row));
}
