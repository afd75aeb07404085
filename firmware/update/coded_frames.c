#include "coded_frames.h"

#include "smp_groups.h"

enum { LENGTH_BYTES = 2, CRC_BYTES = 2 };

static ar_coded *coded_of(const ar_smp *smp) { return (ar_coded *)smp->coding; }

/* Returns whether at most one byte differs. */
static int is_near(uint32_t difference)
{
    uint32_t wrong = 0;
    for (; difference; difference >>= 8) {
        wrong += (difference & 0xFFu) != 0;
    }
    return wrong < 2;
}

/* Takes a byte that belongs to no frame. Returns the size of the frame that begins behind it, or 0. */
static uint16_t find_frame(ar_coded *coded, uint8_t byte)
{
    coded->sync = coded->sync << 8 | byte;
    return is_near(coded->sync ^ AR_CODED_SYNC_LONG)    ? AR_CODED_LONG_BYTES
           : is_near(coded->sync ^ AR_CODED_SYNC_SHORT) ? AR_CODED_SHORT_BYTES
                                                        : 0;
}

static uint32_t blocks_of(uint32_t size) { return size == AR_CODED_LONG_BYTES ? 2 : 1; }

/* Puts the bytes of the frame in front of those that are searched already, so that they are searched too. */
static void search_frame(ar_coded *coded)
{
    uint32_t from = coded->size;
    if (coded->next >= coded->end) {
        coded->next = coded->end = coded->size;
    }
    while (from) {
        coded->buffer[--coded->next] = coded->buffer[--from];
    }
}

/* Passes the message to the server. Returns 0 if it is damaged. */
static int take_message(ar_smp *smp, const ar_coded *coded)
{
    const uint8_t *data = coded->buffer;
    const uint32_t capacity = coded->size - blocks_of(coded->size) * AR_RS_PARITY_BYTES - LENGTH_BYTES;
    const uint32_t length = (uint32_t)data[0] << 8 | data[1];
    if (length < SMP_HEADER_BYTES + CRC_BYTES || length > capacity) {
        return 0;
    }
    uint16_t crc = 0;
    for (uint32_t i = 0; i < length; i++) {
        crc = ar_smp_crc(crc, data[LENGTH_BYTES + i]);
        smp->buffer[i] = data[LENGTH_BYTES + i];
    }
    if (crc != 0) {
        return 0;
    }
    ar_smp_take_message(smp, length - CRC_BYTES);
    return 1;
}

/* Repairs a block of the frame that is complete, or passes the message on. */
static void finish_frame(ar_smp *smp, ar_coded *coded)
{
    const uint32_t blocks = blocks_of(coded->size);
    int is_good = 1;
    if (coded->block < blocks) {
        const uint32_t count = blocks == 2 ? AR_CODED_LONG_BYTES / 2 : AR_CODED_SHORT_BYTES;
        const int wrong = ar_rs_repair(coded->buffer + coded->block, count, blocks);
        coded->block++;
        if (wrong >= 0) {
            coded->repaired += (uint32_t)wrong;
            return;
        }
        is_good = 0;
    } else {
        is_good = take_message(smp, coded);
    }
    if (is_good) {
        coded->is_used = 1;
        coded->sync = 0;
    } else {
        smp->damaged++;
        search_frame(coded);
    }
    coded->size = coded->count = coded->block = 0;
}

static int receive(ar_smp *smp)
{
    ar_coded *coded = coded_of(smp);
    const int is_free = ar_smp_is_receiving(smp);
    if (coded->size && coded->count == coded->size) {
        if (is_free) {
            finish_frame(smp, coded);
        }
        return is_free;
    }
    const int is_again = coded->next < coded->end;
    uint8_t byte;
    if (is_again) {
        byte = coded->buffer[coded->next++];
    } else if (!(is_free || coded->is_used) || !ar_smp_next_byte(smp, &byte)) {
        return 0;
    }
    if (coded->size) {
        coded->buffer[coded->count++] = byte;
        return 1;
    }
    coded->size = find_frame(coded, byte);
    if (!coded->size && !is_again && is_free && ar_smp_take_byte(smp, byte)) {
        coded->is_used = 0;
    }
    return 1;
}

static uint32_t sent_size(const ar_smp *smp)
{
    const uint32_t data = LENGTH_BYTES + smp->line.output.bytes + (uint32_t)CRC_BYTES;
    return data <= AR_CODED_SHORT_BYTES - AR_RS_PARITY_BYTES ? AR_CODED_SHORT_BYTES : AR_CODED_LONG_BYTES;
}

static uint8_t get_byte(const ar_smp *smp)
{
    const ar_coded *coded = coded_of(smp);
    const uint32_t size = sent_size(smp), blocks = blocks_of(size);
    const uint32_t data = size - blocks * AR_RS_PARITY_BYTES;
    if (coded->sent < AR_CODED_SYNC_BYTES) {
        const uint32_t sync = size == AR_CODED_LONG_BYTES ? AR_CODED_SYNC_LONG : AR_CODED_SYNC_SHORT;
        return (uint8_t)(sync >> (24u - 8u * coded->sent));
    }
    const uint32_t at = coded->sent - (uint32_t)AR_CODED_SYNC_BYTES;
    if (at < data) {
        return ar_smp_output_data(&smp->line.output, smp->buffer, at);
    }
    /* The number of bytes of data is even. */
    return ar_rs_parity(coded->parity + AR_RS_PARITY_WORDS * (at & (blocks - 1)),
                        (at - data) >> (blocks - 1));
}

static int advance(ar_smp *smp)
{
    ar_coded *coded = coded_of(smp);
    const uint32_t size = sent_size(smp), blocks = blocks_of(size);
    const uint32_t at = coded->sent - (uint32_t)AR_CODED_SYNC_BYTES;
    if (coded->sent == 0) {
        for (uint32_t i = 0; i < 2u * AR_RS_PARITY_WORDS; i++) {
            coded->parity[i] = 0;
        }
    }
    if (coded->sent >= AR_CODED_SYNC_BYTES && at < size - blocks * AR_RS_PARITY_BYTES) {
        ar_rs_add(coded->parity + AR_RS_PARITY_WORDS * (at & (blocks - 1)), get_byte(smp));
    }
    coded->sent++;
    if (coded->sent < AR_CODED_SYNC_BYTES + size) {
        return 1;
    }
    coded->sent = 0;
    return 0;
}

void ar_coded_start(ar_coded *coded, ar_smp *smp)
{
    static const ar_coded start = {.coding = {receive, get_byte, advance, AR_CODED_MAX_MESSAGE}};
    *coded = start;
    smp->coding = &coded->coding;
}
