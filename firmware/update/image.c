#include "image.h"
#include "sha256.h"
#include "signature.h"

/* Facts of MCUboot's format. All numbers are little-endian. */
enum {
    HEADER_BYTES = 32, /* at least */
    AREA_BYTES = 4,    /* magic and length of an area, which counts these bytes */
    TLV_BYTES = 4,     /* type and length of a TLV, which does not count them */
    PROTECTED_MAGIC = 0x6908,
    UNPROTECTED_MAGIC = 0x6907,
    FLAG_FIXED_ADDRESS = 0x100,
    TLV_KEY_HASH = 0x01,
    TLV_SHA256 = 0x10,
    TLV_COUNTER = 0x50,
    TLV_BOOT_RECORD = 0x60,
    TLV_VENDOR_UUID = 0x74,
    TLV_CLASS_UUID = 0x75,
    VENDOR_RANGE = 0xA0
};
#define MAGIC 0x96f3b83dU

enum { MAX_BOARD_BYTES = 64, PIECE_BYTES = AR_SIGNATURE_MAX_BYTES };

/* The TLVs that the check knows. The first four are protected. */
enum {
    INDEX_COUNTER,
    INDEX_BOARD,
    INDEX_KIND,
    INDEX_ABI,
    INDEX_HASH,
    INDEX_KEY_HASH,
    INDEX_SIGNATURE,
    KNOWN_TLVS
};

typedef struct {
    uint16_t type;
    uint8_t min_bytes, max_bytes;
    uint8_t missing;
} known_tlv;

static const known_tlv TLVS[KNOWN_TLVS] = {
    [INDEX_COUNTER] = {TLV_COUNTER, 4, 4, AR_IMAGE_NO_COUNTER},
    [INDEX_BOARD] = {AR_IMAGE_TLV_BOARD, 1, MAX_BOARD_BYTES, AR_IMAGE_NO_BOARD},
    [INDEX_KIND] = {AR_IMAGE_TLV_KIND, 1, 1, AR_IMAGE_NO_KIND},
    [INDEX_ABI] = {AR_IMAGE_TLV_ABI, AR_IMAGE_ABI_BYTES, AR_IMAGE_ABI_BYTES, AR_IMAGE_NO_ABI},
    [INDEX_HASH] = {TLV_SHA256, AR_SHA256_BYTES, AR_SHA256_BYTES, AR_IMAGE_NO_HASH},
    [INDEX_KEY_HASH] = {TLV_KEY_HASH, AR_SHA256_BYTES, AR_SHA256_BYTES, AR_IMAGE_NO_KEY_HASH},
    [INDEX_SIGNATURE] = {AR_SIGNATURE_TLV, AR_SIGNATURE_MIN_BYTES, AR_SIGNATURE_MAX_BYTES,
                         AR_IMAGE_NO_SIGNATURE},
};

typedef struct {
    const ar_flash *slot;
    const ar_image_rules *rules;
    ar_image *image;
    uint32_t slot_bytes;
    uint32_t at[KNOWN_TLVS]; /* offset of each value; 0: none */
    uint8_t bytes[KNOWN_TLVS];
    uint8_t piece[PIECE_BYTES];
} check;

static uint16_t number16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

static uint32_t number32(const uint8_t *bytes)
{
    return (uint32_t)number16(bytes) | (uint32_t)number16(bytes + 2) << 16;
}

static int are_equal(const uint8_t *a, const uint8_t *b, uint32_t bytes)
{
    unsigned difference = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        difference |= (unsigned)a[i] ^ b[i];
    }
    return difference == 0;
}

/* Reads up to PIECE_BYTES bytes of the slot into `piece`. */
static int read_piece(check *c, uint32_t at, uint32_t bytes)
{
    if (at > c->slot_bytes || bytes > c->slot_bytes - at || bytes > PIECE_BYTES ||
        c->slot->read(c->slot->context, at, c->piece, bytes) != 0) {
        return AR_IMAGE_READ;
    }
    return AR_IMAGE_OK;
}

/* Reads the header. `*protected_bytes` becomes the length of the protected area. The header, the payload and this area
 * are inside the slot if the result is AR_IMAGE_OK. */
static int read_header(check *c, uint32_t *protected_bytes)
{
    ar_image *image = c->image;
    if (c->slot_bytes < HEADER_BYTES) {
        return AR_IMAGE_SIZE;
    }
    if (read_piece(c, 0, HEADER_BYTES) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    const uint8_t *header = c->piece;
    if (number32(header) != MAGIC) {
        return AR_IMAGE_MAGIC;
    }
    uint32_t address = number32(header + 4), flags = number32(header + 16);
    image->header_bytes = number16(header + 8);
    *protected_bytes = number16(header + 10);
    image->payload_bytes = number32(header + 12);
    image->major = header[20];
    image->minor = header[21];
    image->revision = number16(header + 22);
    image->build = number32(header + 24);
    if (image->header_bytes < HEADER_BYTES || image->header_bytes > c->slot_bytes) {
        return AR_IMAGE_HEADER_SIZE;
    }
    /* Encrypted, compressed and other images would not run as they are. */
    if ((flags & ~(uint32_t)FLAG_FIXED_ADDRESS) != 0) {
        return AR_IMAGE_FLAGS;
    }
    if (address != (flags != 0 ? c->rules->address : 0)) {
        return AR_IMAGE_ADDRESS;
    }
    uint32_t rest = c->slot_bytes - image->header_bytes;
    if (image->payload_bytes == 0 || image->payload_bytes > rest) {
        return AR_IMAGE_SIZE;
    }
    return *protected_bytes > rest - image->payload_bytes ? AR_IMAGE_PROTECTED_AREA : AR_IMAGE_OK;
}

/* Returns the index of a known TLV, KNOWN_TLVS for a TLV without a meaning for the check, or -1 for one that no image may have
 * in this area. */
static int find_type(uint16_t type, int is_protected)
{
    for (int i = 0; i < KNOWN_TLVS; i++) {
        if (TLVS[i].type == type) {
            return is_protected == (i < INDEX_HASH) ? i : -1;
        }
    }
    /* Like MCUboot with its list of allowed TLVs, the check ignores only TLVs that are signed. It also refuses signed TLVs
     * whose demands it cannot meet, such as other images that an image depends on. */
    return is_protected && ((type & 0xFF) >= VENDOR_RANGE || type == TLV_BOOT_RECORD ||
                            type == TLV_VENDOR_UUID || type == TLV_CLASS_UUID)
               ? KNOWN_TLVS
               : -1;
}

/* Finds the known TLVs from `at` to `end`. */
static int read_area(check *c, uint32_t at, uint32_t end, int is_protected)
{
    at += AREA_BYTES;
    while (at < end) {
        if (end - at < TLV_BYTES) {
            return AR_IMAGE_TLV_END;
        }
        if (read_piece(c, at, TLV_BYTES) != AR_IMAGE_OK) {
            return AR_IMAGE_READ;
        }
        uint16_t type = number16(c->piece), bytes = number16(c->piece + 2);
        at += TLV_BYTES;
        if (bytes > end - at) {
            return AR_IMAGE_TLV_END;
        }
        int i = find_type(type, is_protected);
        if (i < 0) {
            return AR_IMAGE_TLV_TYPE;
        }
        if (i < KNOWN_TLVS) {
            if (c->at[i] != 0) {
                return AR_IMAGE_TLV_TWICE;
            }
            if (bytes < TLVS[i].min_bytes || bytes > TLVS[i].max_bytes) {
                return AR_IMAGE_TLV_LENGTH;
            }
            c->bytes[i] = (uint8_t)bytes;
            c->at[i] = at;
        }
        at += bytes;
    }
    return AR_IMAGE_OK;
}

/* Finds all TLVs. The image ends at `image->bytes` if the result is AR_IMAGE_OK. */
static int read_areas(check *c, uint32_t protected_at, uint32_t protected_bytes)
{
    uint32_t at = protected_at + protected_bytes;
    if (protected_bytes < AREA_BYTES) {
        return AR_IMAGE_PROTECTED_AREA;
    }
    if (read_piece(c, protected_at, AREA_BYTES) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    if (number16(c->piece) != PROTECTED_MAGIC || number16(c->piece + 2) != protected_bytes) {
        return AR_IMAGE_PROTECTED_AREA;
    }
    if (c->slot_bytes - at < AREA_BYTES) {
        return AR_IMAGE_UNPROTECTED_AREA;
    }
    if (read_piece(c, at, AREA_BYTES) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    uint32_t bytes = number16(c->piece + 2);
    if (number16(c->piece) != UNPROTECTED_MAGIC || bytes < AREA_BYTES || bytes > c->slot_bytes - at) {
        return AR_IMAGE_UNPROTECTED_AREA;
    }
    c->image->bytes = at + bytes;
    int result = read_area(c, protected_at, at, 1);
    return result != AR_IMAGE_OK ? result : read_area(c, at, at + bytes, 0);
}

/* Compares what the image says about itself with the rules. */
static int compare_with_rules(check *c)
{
    const ar_image_rules *rules = c->rules;
    ar_image *image = c->image;
    for (int i = 0; i < KNOWN_TLVS; i++) {
        if (c->at[i] == 0 && i != INDEX_ABI) {
            return TLVS[i].missing;
        }
    }
    if (read_piece(c, c->at[INDEX_KIND], 1) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    image->kind = c->piece[0];
    if (image->kind != rules->kind) {
        return AR_IMAGE_KIND;
    }
    uint32_t board_bytes = c->bytes[INDEX_BOARD];
    if (read_piece(c, c->at[INDEX_BOARD], board_bytes) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    for (uint32_t i = 0; i < board_bytes; i++) {
        if (rules->board[i] == 0 || (uint8_t)rules->board[i] != c->piece[i]) {
            return AR_IMAGE_BOARD;
        }
    }
    if (rules->board[board_bytes] != 0) {
        return AR_IMAGE_BOARD;
    }
    if (c->at[INDEX_ABI] != 0) {
        if (read_piece(c, c->at[INDEX_ABI], AR_IMAGE_ABI_BYTES) != AR_IMAGE_OK) {
            return AR_IMAGE_READ;
        }
        for (uint32_t i = 0; i < AR_IMAGE_ABI_BYTES; i++) {
            image->abi[i] = c->piece[i];
        }
    } else if (image->kind == AR_IMAGE_MODEL || rules->abi != 0) {
        return AR_IMAGE_NO_ABI;
    }
    if (rules->abi != 0 && !are_equal(image->abi, rules->abi, AR_IMAGE_ABI_BYTES)) {
        return AR_IMAGE_ABI;
    }
    if (read_piece(c, c->at[INDEX_COUNTER], 4) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    image->counter = number32(c->piece);
    return image->counter < rules->min_counter ? AR_IMAGE_COUNTER : AR_IMAGE_OK;
}

/* Compares the hash of the public key with that in the image. */
static int __attribute__((noinline)) check_key(check *c)
{
    /* MCUboot hashes the key as a SubjectPublicKeyInfo of X.509. */
    ar_sha256 hash;
    uint8_t digest[AR_SHA256_BYTES];
    ar_sha256_start(&hash);
    ar_sha256_add(&hash, AR_SIGNATURE_INFO, AR_SIGNATURE_INFO_BYTES);
    ar_sha256_add(&hash, c->rules->public_key, AR_IMAGE_KEY_BYTES);
    ar_sha256_finish(&hash, digest);
    if (read_piece(c, c->at[INDEX_KEY_HASH], AR_SHA256_BYTES) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    return are_equal(digest, c->piece, AR_SHA256_BYTES) ? AR_IMAGE_OK : AR_IMAGE_KEY;
}

/* Hashes the first `bytes` bytes of the slot, and compares the result with the hash in the image. */
static int __attribute__((noinline)) check_hash(check *c, uint32_t bytes)
{
    ar_sha256 hash;
    ar_sha256_start(&hash);
    for (uint32_t at = 0, count; at < bytes; at += count) {
        count = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        if (read_piece(c, at, count) != AR_IMAGE_OK) {
            return AR_IMAGE_READ;
        }
        ar_sha256_add(&hash, c->piece, count);
    }
    ar_sha256_finish(&hash, c->image->hash);
    if (read_piece(c, c->at[INDEX_HASH], AR_SHA256_BYTES) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    return are_equal(c->image->hash, c->piece, AR_SHA256_BYTES) ? AR_IMAGE_OK : AR_IMAGE_HASH;
}

static int check_all(check *c)
{
    uint32_t protected_bytes = 0;
    int result = read_header(c, &protected_bytes);
    if (result != AR_IMAGE_OK) {
        return result;
    }
    uint32_t protected_at = c->image->header_bytes + c->image->payload_bytes;
    result = read_areas(c, protected_at, protected_bytes);
    if (result != AR_IMAGE_OK) {
        return result;
    }
    result = compare_with_rules(c);
    if (result != AR_IMAGE_OK) {
        return result;
    }
    result = check_key(c);
    if (result != AR_IMAGE_OK) {
        return result;
    }
    result = check_hash(c, protected_at + protected_bytes);
    if (result != AR_IMAGE_OK) {
        return result;
    }
    uint32_t bytes = c->bytes[INDEX_SIGNATURE];
    if (read_piece(c, c->at[INDEX_SIGNATURE], bytes) != AR_IMAGE_OK) {
        return AR_IMAGE_READ;
    }
    return ar_signature_check(c->piece, bytes, c->rules->public_key, c->image->hash) ? AR_IMAGE_OK
                                                                                     : AR_IMAGE_SIGNATURE;
}

static void clear(void *object, uint32_t bytes)
{
    uint8_t *at = object;
    for (uint32_t i = 0; i < bytes; i++) {
        at[i] = 0;
    }
}

int ar_image_check(const ar_flash *slot, const ar_image_rules *rules, ar_image *image)
{
    clear(image, sizeof *image);
    if (slot->page_bytes == 0 || slot->pages > UINT32_MAX / slot->page_bytes || rules->public_key == 0 ||
        rules->board == 0 || (rules->kind != AR_IMAGE_FIRMWARE && rules->kind != AR_IMAGE_MODEL)) {
        return AR_IMAGE_RULES;
    }
    check c;
    clear(&c, sizeof c);
    c.slot = slot;
    c.rules = rules;
    c.image = image;
    c.slot_bytes = slot->pages * slot->page_bytes;
    int result = check_all(&c);
    if (result != AR_IMAGE_OK) {
        clear(image, sizeof *image);
    }
    return result;
}
