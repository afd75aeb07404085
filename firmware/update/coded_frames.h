/* Frames for a line that damages bytes. They carry the same messages as plain frames, in a Reed-Solomon code, and the device
 * takes the next one while it handles the one before.
 *
 * A frame is a synchronization word of four bytes, of which one may be wrong, and one or two blocks:
 *   - a short frame has one block of 48 bytes of data and 16 of parity;
 *   - a long frame has two blocks of 239 bytes of data and 16 of parity, whose bytes take turns.
 * The data is the length of message and CRC (two bytes, upper byte first), the message, its CRC-16/XMODEM, and zeros. A
 * request in such a frame gets its answer in such a frame. */
#ifndef ARENITE_CODED_FRAMES_H
#define ARENITE_CODED_FRAMES_H

#include "reed_solomon.h"
#include "smp.h"

#define AR_CODED_SYNC_SHORT 0x9CE5F2C7u
#define AR_CODED_SYNC_LONG 0xD391A6E4u

enum {
    AR_CODED_SYNC_BYTES = 4,
    AR_CODED_SHORT_BYTES = 64,
    AR_CODED_LONG_BYTES = 510,
    AR_CODED_MAX_MESSAGE = AR_CODED_LONG_BYTES - 2 * AR_RS_PARITY_BYTES - 4
};

/* All members but the counter belong to the library. */
typedef struct {
    ar_smp_coding coding; /* first */
    uint32_t repaired;    /* bytes that were wrong; it wraps */
    uint32_t sync;        /* the last bytes */
    uint16_t size;        /* of the frame that is received, or 0 */
    uint16_t count;       /* bytes of it in the buffer */
    uint16_t next, end; /* bytes of a frame that could not be repaired, which are searched for other frames */
    uint16_t sent;      /* bytes of the frame that is sent */
    uint8_t block;      /* of a received frame that is repaired next */
    uint8_t is_used;    /* the last request came in such a frame */
    uint32_t parity[2 * AR_RS_PARITY_WORDS]; /* of the blocks that are sent */
    uint8_t buffer[AR_CODED_LONG_BYTES];
} ar_coded;

/* Lets `smp` take these frames beside plain ones. Call it after ar_smp_start. */
void ar_coded_start(ar_coded *coded, ar_smp *smp);

#endif
