/* Receives input 0 in pieces of any length. It stores each row in its slot, and then computes every output row for
 * which all input rows have arrived. */
#include "agent.h"
#include "port.h"
#include "stream.h"

uint32_t ar_take_rows(uint32_t offset, const uint8_t *data, uint32_t bytes)
{
    static uint32_t arrived; /* bytes of the input received so far */
    static uint32_t in_row;  /* bytes received of the current, incomplete row */
    const ar_segment *segment = ar_this_firmware.model->stream;
    const uint32_t row_bytes = segment->stages[segment->arriving].row_bytes;

    if (bytes && offset == 0) {
        arrived = 0;
        in_row = 0;
        ar_clear_ticks();
        ar_stream_begin(segment);
    }
    if (offset != arrived) {
        return 0;
    }
    arrived = bytes ? arrived + bytes : 0;
    while (bytes--) {
        ar_stream_place(segment)[in_row++] = (int8_t)*data++;
        if (in_row == row_bytes) {
            in_row = 0;
            port_computing(1);
            ar_resume();
            ar_stream_run(segment);
            port_computing(0);
        }
    }
    return 1;
}
