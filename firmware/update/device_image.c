/* Reads the properties of an image that a client wants to see. The boot loader's check (image.h) decides what runs. */
#include "device_parts.h"

#define MAGIC 0x96F3B83Du
enum { HEADER_BYTES = 32, TLV_BYTES = 4 };
enum { PROTECTED_AREA = 0x6908, UNPROTECTED_AREA = 0x6907 };
enum { TLV_KEY_HASH = 0x01, TLV_HASH = 0x10, TLV_ABI = 0xA1, TLV_KIND = 0xA2 };

static uint32_t read_number(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = 0;
    while (bytes) {
        value = value << 8 | at[--bytes];
    }
    return value;
}

/* Reads the areas from `at` on, until both hashes are found. Returns 1 if there is that of the image. */
static int read_tlvs(const ar_flash *slot, uint32_t at, device_image *image)
{
    const uint32_t size = slot->pages * slot->page_bytes;
    uint32_t end = at;
    int has_hash = 0;
    uint8_t tlv[TLV_BYTES];
    while (at <= size - TLV_BYTES && slot->read(slot->context, at, tlv, TLV_BYTES) == 0) {
        const uint32_t type = read_number(tlv, 2), length = read_number(tlv + 2, 2);
        uint8_t *value = 0;
        if (at == end) { /* an area */
            if (type != PROTECTED_AREA && type != UNPROTECTED_AREA) {
                break;
            }
            end = at + (length < TLV_BYTES ? TLV_BYTES : length);
            at += TLV_BYTES;
            continue;
        }
        at += TLV_BYTES;
        if (length == AR_SMP_HASH_BYTES) {
            value = type == TLV_HASH ? image->hash : type == TLV_ABI ? image->abi : 0;
            if (type == TLV_KEY_HASH && at <= size - length) {
                image->key_at = at;
            }
        } else if (length == 1 && type == TLV_KIND) {
            value = &image->kind;
        }
        if (value && (at > size - length || slot->read(slot->context, at, value, length) != 0)) {
            break;
        }
        has_hash |= value == image->hash;
        at += length;
        if (at > end || (has_hash && image->key_at)) {
            break;
        }
    }
    return has_hash;
}

int device_read_image(const ar_flash *slot, device_image *image)
{
    static const device_image empty;
    uint8_t header[HEADER_BYTES];
    *image = empty;
    if (slot->read(slot->context, 0, header, HEADER_BYTES) != 0 || read_number(header, 4) != MAGIC) {
        return 0;
    }
    image->version[0] = header[20];
    image->version[1] = header[21];
    image->version[2] = read_number(header + 22, 2);
    image->version[3] = read_number(header + 24, 4);
    const uint32_t header_bytes = read_number(header + 8, 2), payload_bytes = read_number(header + 12, 4);
    const uint32_t size = slot->pages * slot->page_bytes;
    return payload_bytes < size && header_bytes < size - payload_bytes &&
           read_tlvs(slot, header_bytes + payload_bytes, image);
}
