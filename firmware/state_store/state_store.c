#include "state_store.h"

/* The counter before the record, and the CRC after it. */
#define COUNTER_BYTES 4u
#define CRC_BYTES 4u
#define STEP_BYTES 16u

enum { PHASE_IDLE, PHASE_ERASE, PHASE_PROGRAM, PHASE_VERIFY };

/* The reflected CRC-32 of IEEE 802.3, four bits at a time. */
static uint32_t crc_byte(uint32_t crc, uint8_t byte)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
        0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    crc = crc >> 4 ^ table[(crc ^ byte) & 15u];
    return crc >> 4 ^ table[(crc ^ (uint32_t)byte >> 4) & 15u];
}

static uint32_t crc_start(const ar_store *s)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < 8; i++) {
        crc = crc_byte(crc, (uint8_t)((i < 4 ? s->tag : s->bytes) >> 8 * (i & 3u)));
    }
    return crc;
}

/* Returns byte `at` of the slot with the counter `counter` and the CRC `crc`. The bytes between the record and the CRC,
 * which end the last unit, are 0xFF. */
static uint8_t slot_byte(const ar_store *s, uint32_t at, uint32_t counter, uint32_t crc)
{
    if (at < COUNTER_BYTES) {
        return (uint8_t)(counter >> 8 * at);
    }
    if (at - COUNTER_BYTES < s->bytes) {
        return s->copy[at - COUNTER_BYTES];
    }
    const uint32_t crc_at = s->slot_bytes - CRC_BYTES;
    return (uint8_t)(at < crc_at ? 0xFFu : crc >> 8 * (at - crc_at));
}

static uint32_t slot_address(const ar_store *s, uint32_t block, uint32_t slot)
{
    return block * s->block_pages * s->flash->page_bytes + slot * s->slot_bytes;
}

/* Reads a slot. Returns 1 if its CRC is right, and sets its counter. Keeps the record in `copy` if `keep` is not 0. */
static int read_slot(ar_store *s, uint32_t address, uint32_t *counter, int keep)
{
    uint8_t part[AR_STORE_MAX_UNIT];
    uint32_t crc = crc_start(s), stored = 0;
    *counter = 0;
    for (uint32_t at = 0; at < s->slot_bytes;) {
        const uint32_t rest = s->slot_bytes - at, count = rest < sizeof(part) ? rest : (uint32_t)sizeof(part);
        if (s->flash->read(s->flash->context, address + at, part, count) != 0) {
            return 0;
        }
        for (uint32_t i = 0; i < count; i++, at++) {
            if (at < COUNTER_BYTES) {
                *counter |= (uint32_t)part[i] << 8 * at;
            } else if (keep && at - COUNTER_BYTES < s->bytes) {
                s->copy[at - COUNTER_BYTES] = part[i];
            }
            if (at < s->slot_bytes - CRC_BYTES) {
                crc = crc_byte(crc, part[i]);
            } else {
                stored |= (uint32_t)part[i] << 8 * (at - (s->slot_bytes - CRC_BYTES));
            }
        }
    }
    return ~crc == stored;
}

/* Sets the sizes. Returns 0 if the store does not work with this memory. */
static int set_sizes(ar_store *s)
{
    const ar_flash *flash = s->flash;
    const uint32_t unit = flash->unit_bytes, page = flash->page_bytes;
    if (unit == 0 || (unit & (unit - 1)) != 0 || unit > AR_STORE_MAX_UNIT || page == 0 || page % unit != 0 ||
        flash->pages > UINT32_MAX / page || s->bytes == 0 || s->bytes > UINT32_MAX / 4) {
        return 0;
    }
    s->slot_bytes = (COUNTER_BYTES + s->bytes + CRC_BYTES + unit - 1) / unit * unit;
    s->block_pages = (s->slot_bytes - 1) / page + 1;
    s->slots = s->block_pages * page / s->slot_bytes;
    s->blocks = flash->pages / s->block_pages;
    return s->blocks >= 2;
}

int ar_store_start(ar_store *s, const ar_flash *flash, uint32_t bytes, uint32_t tag, void *copy)
{
    s->flash = flash;
    s->bytes = bytes;
    s->tag = tag;
    s->copy = copy;
    s->counter = 0;
    s->phase = PHASE_IDLE;
    if (!set_sizes(s)) {
        return AR_STORE_UNSUITABLE;
    }
    int found = 0;
    uint32_t counter, newest = 0;
    s->block = s->blocks - 1; /* without a record, the first save goes to block 0 */
    for (uint32_t block = 0; block < s->blocks; block++) {
        for (uint32_t slot = 0; slot < s->slots; slot++) {
            const uint32_t address = slot_address(s, block, slot);
            /* The counters of all slots are close together, so that their difference orders them also when the
             * counter has passed 2^32. */
            if (read_slot(s, address, &counter, 0) && (!found || counter - s->counter < 0x80000000u)) {
                found = 1;
                newest = address;
                s->counter = counter;
                s->block = block;
            }
        }
    }
    s->next = s->block;
    s->slot = s->slots; /* a cut may have touched the next slot */
    if (!found) {
        return AR_STORE_EMPTY;
    }
    /* A slot that a cut left with a wrong CRC may read correctly later. Its counter is at most the next `blocks` ones,
     * so that every new slot is newer. */
    s->counter += s->blocks;
    return read_slot(s, newest, &counter, 1) ? AR_STORE_LOADED : AR_STORE_EMPTY;
}

/* Goes on to the next block that does not have the newest record. */
static void change_block(ar_store *s)
{
    do {
        s->next = s->next + 1 == s->blocks ? 0 : s->next + 1;
    } while (s->next == s->block);
    s->slot = 0;
    s->at = 0;
    s->phase = PHASE_ERASE;
}

static void begin_slot(ar_store *s)
{
    s->at = 0;
    s->crc = crc_start(s);
    s->phase = PHASE_PROGRAM;
}

int ar_store_save(ar_store *s, const void *record)
{
    if (s->phase != PHASE_IDLE) {
        return 0;
    }
    const uint8_t *source = record;
    for (uint32_t i = 0; source != 0 && i < s->bytes; i++) {
        s->copy[i] = source[i];
    }
    s->tries = 0;
    if (s->slot == s->slots) {
        change_block(s);
    } else {
        begin_slot(s);
    }
    return 1;
}

/* Writes the slot to another block, unless all of them failed. */
static int try_again(ar_store *s)
{
    s->counter++; /* a slot that failed may read correctly later, and must then be older */
    if (++s->tries < s->blocks) {
        change_block(s);
        return AR_STORE_BUSY;
    }
    s->slot = s->slots; /* the next save tries all blocks again */
    s->phase = PHASE_IDLE;
    return AR_STORE_FAILED;
}

static int program_part(ar_store *s)
{
    const ar_flash *flash = s->flash;
    uint8_t part[AR_STORE_MAX_UNIT];
    const uint32_t room = STEP_BYTES < sizeof(part) ? STEP_BYTES : (uint32_t)sizeof(part);
    const uint32_t step = flash->unit_bytes > room ? flash->unit_bytes : room;
    const uint32_t rest = s->slot_bytes - s->at, count = rest < step ? rest : step;
    const uint32_t address = slot_address(s, s->next, s->slot) + s->at;
    uint32_t crc = s->crc;
    for (uint32_t i = 0; i < count; i++) {
        part[i] = slot_byte(s, s->at + i, s->counter + 1, ~crc);
        if (s->at + i < s->slot_bytes - CRC_BYTES) {
            crc = crc_byte(crc, part[i]);
        }
    }
    if (flash->program(flash->context, address, part, count) != 0) {
        return try_again(s);
    }
    s->crc = crc;
    s->at += count;
    if (s->at == s->slot_bytes) {
        s->at = 0;
        s->phase = PHASE_VERIFY;
    }
    return AR_STORE_BUSY;
}

static int verify_part(ar_store *s)
{
    const ar_flash *flash = s->flash;
    uint8_t part[AR_STORE_MAX_UNIT];
    const uint32_t rest = s->slot_bytes - s->at, count = rest < sizeof(part) ? rest : (uint32_t)sizeof(part);
    if (flash->read(flash->context, slot_address(s, s->next, s->slot) + s->at, part, count) != 0) {
        return try_again(s);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (part[i] != slot_byte(s, s->at + i, s->counter + 1, ~s->crc)) {
            return try_again(s);
        }
    }
    s->at += count;
    if (s->at < s->slot_bytes) {
        return AR_STORE_BUSY;
    }
    s->counter++;
    s->block = s->next;
    s->slot++;
    s->phase = PHASE_IDLE;
    return AR_STORE_SAVED;
}

int ar_store_step(ar_store *s)
{
    const ar_flash *flash = s->flash;
    if (s->phase == PHASE_IDLE) {
        return AR_STORE_IDLE;
    }
    if (flash->busy != 0 && flash->busy(flash->context)) {
        return AR_STORE_BUSY;
    }
    switch (s->phase) {
    case PHASE_ERASE:
        if (flash->erase(flash->context, s->next * s->block_pages + s->at) != 0) {
            return try_again(s);
        }
        if (++s->at == s->block_pages) {
            begin_slot(s);
        }
        return AR_STORE_BUSY;
    case PHASE_PROGRAM:
        return program_part(s);
    default:
        return verify_part(s);
    }
}
