/* Changes signed images in every way that an attacker without the key can, and counts what the check answers.
 *
 *     forgeries COUNT SEED PUBLIC_KEY BOARD FIRMWARE MODEL FOREIGN...
 *
 * FIRMWARE and MODEL are images that the check accepts, and FOREIGN images that it refuses. The program prints one line
 * "REASON COUNT" for each result. Its exit status is 1 if a forged image was accepted.
 *
 * With ECDSA, anybody can make a second signature of the same content: for (r, s), it is (r, n - s), n being the order of
 * the group. It is accepted, but it is no forgery, so an image with it is not tried. */
#include "image.h"
#include "sha256.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IMAGES = 32, MAX_BYTES = 8192, REASONS = 28, MIN_COUNTER = 7 };

typedef struct {
    uint8_t *data;
    uint32_t bytes;
} file;

static file files[MAX_IMAGES];
static int file_count;
static uint64_t random_state;
static uint8_t abi[AR_IMAGE_ABI_BYTES];

static uint32_t choose(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 16) % below);
}

static file read_file(const char *path)
{
    file result = {malloc(MAX_BYTES), 0};
    FILE *stream = fopen(path, "rb");
    if (result.data == 0 || stream == 0) {
        perror(path);
        exit(2);
    }
    result.bytes = (uint32_t)fread(result.data, 1, MAX_BYTES, stream);
    fclose(stream);
    return result;
}

/* The memory of the slot has exactly its size, so the sanitizer finds each access outside. */
static int read_slot(void *context, uint32_t at, void *data, uint32_t bytes)
{
    const file *slot = context;
    if (at > slot->bytes || bytes > slot->bytes - at) {
        fprintf(stderr, "The check read %u bytes at %u of %u.\n", (unsigned)bytes, (unsigned)at,
                (unsigned)slot->bytes);
        abort();
    }
    memcpy(data, slot->data + at, bytes);
    return 0;
}

static uint32_t get(const file *image, uint32_t at, uint32_t bytes)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes && at + i < image->bytes; i++) {
        value |= (uint32_t)image->data[at + i] << 8 * i;
    }
    return value;
}

static void put(file *image, uint32_t at, uint32_t bytes, uint32_t value)
{
    for (uint32_t i = 0; i < bytes && at + i < image->bytes; i++) {
        image->data[at + i] = (uint8_t)(value >> 8 * i);
    }
}

/* Numbers near limits, and any number. */
static uint32_t odd_number(uint32_t near)
{
    static const uint32_t NUMBERS[] = {
        0, 1, 2, 3, 4, 31, 32, 33, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
    switch (choose(3)) {
    case 0:
        return NUMBERS[choose(sizeof NUMBERS / sizeof *NUMBERS)];
    case 1:
        return near + choose(17) - 8;
    default:
        return choose(0x7fffffff) * 2 + choose(2);
    }
}

/* Puts or takes bytes at `at`. */
static void move(file *image, uint32_t at, uint32_t taken, uint32_t put_bytes)
{
    if (at + taken > image->bytes || image->bytes - taken + put_bytes > MAX_BYTES) {
        return;
    }
    memmove(image->data + at + put_bytes, image->data + at + taken, image->bytes - at - taken);
    for (uint32_t i = 0; i < put_bytes; i++) {
        image->data[at + i] = (uint8_t)choose(256);
    }
    image->bytes += put_bytes - taken;
}

/* The offsets of the areas as the header states them. */
static uint32_t protected_at(const file *image) { return get(image, 8, 2) + get(image, 12, 4); }
static uint32_t unprotected_at(const file *image) { return protected_at(image) + get(image, 10, 2); }

/* Returns the offset of a random TLV of a valid image. */
static uint32_t choose_tlv(const file *image, int *is_protected)
{
    *is_protected = (int)choose(2);
    uint32_t area = *is_protected ? protected_at(image) : unprotected_at(image);
    uint32_t at = area + 4, end = area + get(image, area + 2, 2);
    for (uint32_t skip = choose(4); skip > 0 && at + 4 + get(image, at + 2, 2) < end; skip--) {
        at += 4 + get(image, at + 2, 2);
    }
    return at;
}

/* Adds `bytes` to the lengths of the area with a TLV. */
static void resize_area(file *image, int is_protected, uint32_t bytes)
{
    uint32_t area = is_protected ? protected_at(image) : unprotected_at(image);
    put(image, area + 2, 2, get(image, area + 2, 2) + bytes);
    if (is_protected) {
        put(image, 10, 2, get(image, 10, 2) + bytes);
    }
}

static void change_tlv(file *image)
{
    static const uint32_t TYPES[] = {0x01, 0x02, 0x10, 0x11, 0x22, 0x24, 0x25, 0x30, 0x40,
                                     0x50, 0x60, 0x70, 0x74, 0xa0, 0xa1, 0xa2, 0xa3, 0x1a0};
    int is_protected;
    uint32_t at = choose_tlv(image, &is_protected), bytes = get(image, at + 2, 2);
    uint32_t more;
    switch (choose(6)) {
    case 0:
        put(image, at, 2, TYPES[choose(sizeof TYPES / sizeof *TYPES)]);
        break;
    case 1:
        put(image, at + 2, 2, odd_number(bytes));
        break;
    case 2: /* longer or shorter, with all lengths right */
        more = choose(9);
        resize_area(image, is_protected, more - bytes);
        put(image, at + 2, 2, more);
        move(image, at + 4, bytes, more);
        break;
    case 3: /* removed */
        resize_area(image, is_protected, 0U - bytes - 4);
        move(image, at, bytes + 4, 0);
        break;
    case 4: /* twice */
        resize_area(image, is_protected, bytes + 4);
        move(image, at, 0, bytes + 4);
        memcpy(image->data + at, image->data + at + bytes + 4, bytes + 4);
        break;
    default: /* another value */
        for (uint32_t i = 0; i < bytes; i++) {
            image->data[at + 4 + i] = (uint8_t)choose(256);
        }
    }
}

#ifdef AR_UPDATE_P256
/* The order of the group of points, and the prime of its field. */
static const uint8_t ORDER[32] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
                                  0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};
static const uint8_t PRIME[32] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* A number of 33 bytes, big-endian. */
typedef struct {
    uint8_t bytes[33];
} number;

static number number_of(const uint8_t *bytes, uint32_t count)
{
    number result = {{0}};
    for (; count > 33; count--) {
        bytes++;
    }
    memcpy(result.bytes + 33 - count, bytes, count);
    return result;
}

static number add(number a, number b, int sign)
{
    int carry = 0;
    for (int i = 32; i >= 0; i--) {
        int sum = a.bytes[i] + sign * b.bytes[i] + carry;
        a.bytes[i] = (uint8_t)sum;
        carry = sum < 0 ? -1 : sum >> 8;
    }
    return a;
}

/* Returns another number for `old`, a number of a signature. */
static number forge_number(number old, number other)
{
    static const uint8_t SMALL[1];
    number order = number_of(ORDER, 32), few = number_of(SMALL, 1);
    few.bytes[32] = (uint8_t)choose(4);
    switch (choose(9)) {
    case 0:
        return few;
    case 1:
        return add(order, few, choose(2) ? 1 : -1);
    case 2:
        return add(number_of(PRIME, 32), few, choose(2) ? 1 : -1);
    case 3:
        return add(order, old, -1);
    case 4:
        return add(old, order, choose(2) ? 1 : -1);
    case 5:
        return add(old, few, choose(2) ? 1 : -1);
    case 6:
        return other;
    case 7:
        memset(old.bytes + 1, (int)choose(2) * 0xff, choose(33));
        return old;
    default:
        old.bytes[1 + choose(32)] ^= (uint8_t)(1U << choose(8));
        return old;
    }
}

/* Writes a number in DER, sometimes not as DER demands. Returns the length. */
static uint32_t write_number(uint8_t *to, const number *value)
{
    uint32_t zeros = 0, is_odd = choose(4) == 0;
    while (zeros < 32 && value->bytes[zeros] == 0 && value->bytes[zeros + 1] < 0x80) {
        zeros++;
    }
    if (is_odd && choose(2)) {
        zeros = choose(33); /* superfluous zeros, or none where one must be */
    }
    uint32_t count = 33 - zeros;
    to[0] = (uint8_t)(is_odd && choose(4) == 0 ? choose(256) : 0x02);
    to[1] = (uint8_t)count;
    memcpy(to + 2, value->bytes + zeros, count);
    if (is_odd && choose(4) == 0) { /* a length in two bytes */
        to[1] = 0x81;
        to[2] = (uint8_t)count;
        memcpy(to + 3, value->bytes + zeros, count);
        return count + 3;
    }
    if (is_odd && choose(4) == 0) {
        to[1] = (uint8_t)choose(256);
    }
    return count + 2;
}

/* Returns the offset of the signature's TLV in a signed image, or 0 if another algorithm signed it. */
static uint32_t signature_at(const file *image)
{
    uint32_t area = unprotected_at(image), end = area + get(image, area + 2, 2);
    for (uint32_t at = area + 4; at < end; at += 4 + get(image, at + 2, 2)) {
        if (get(image, at, 2) == AR_SIGNATURE_TLV) {
            return at;
        }
    }
    return 0;
}

/* Writes another signature into a signed image. */
static void forge_signature(file *image)
{
    uint32_t at = signature_at(image);
    if (at == 0) {
        return;
    }
    uint32_t bytes = get(image, at + 2, 2);
    uint8_t *old = image->data + at + 4, forged[96];
    number numbers[2] = {number_of(old + 4, old[3]), number_of(old + 6 + old[3], old[5 + old[3]])};
    number other[2] = {numbers[1], numbers[0]};
    for (uint32_t which = 1 + choose(3), i = 0; i < 2; i++) {
        if ((which >> i & 1) != 0) {
            numbers[i] = forge_number(numbers[i], other[i]);
        }
    }
    uint32_t count = 2;
    count += write_number(forged + count, &numbers[0]);
    if (choose(32) != 0) {
        count += write_number(forged + count, &numbers[1]);
    }
    forged[0] = (uint8_t)(choose(16) != 0 ? 0x30 : choose(256));
    forged[1] = (uint8_t)(choose(16) != 0 ? count - 2 : choose(256));
    for (uint32_t more = choose(8) != 0 ? 0 : choose(5); more > 0; more--) {
        forged[count++] = 0;
    }
    if (choose(16) == 0) {
        count = choose(count + 1);
    }
    resize_area(image, 0, count - bytes);
    put(image, at + 2, 2, count);
    move(image, at + 4, bytes, count);
    memcpy(image->data + at + 4, forged, count);
}

/* Returns 1 if `image` is `original` with a signature of n - s in place of s, in DER. */
static int is_other_signature(const file *image, const file *original)
{
    uint32_t at = signature_at(original);
    const uint8_t *old = original->data + at + 4;
    uint32_t r_bytes = old[3], s_at = 6 + r_bytes;
    number other = add(number_of(ORDER, 32), number_of(old + s_at, old[s_at - 1]), -1);
    uint32_t zeros = 0;
    while (zeros < 32 && other.bytes[zeros] == 0 && other.bytes[zeros + 1] < 0x80) {
        zeros++;
    }
    uint32_t count = s_at + 33 - zeros;
    file expected = {malloc(MAX_BYTES), original->bytes};
    if (expected.data == 0) {
        exit(2);
    }
    memcpy(expected.data, original->data, original->bytes);
    resize_area(&expected, 0, count - get(original, at + 2, 2));
    put(&expected, at + 2, 2, count);
    move(&expected, at + 4, get(original, at + 2, 2), count);
    uint8_t *new = expected.data + at + 4;
    memcpy(new, old, s_at);
    new[1] = (uint8_t)(count - 2);
    new[s_at - 1] = (uint8_t)(33 - zeros);
    memcpy(new + s_at, other.bytes + zeros, 33 - zeros);
    int result = image->bytes >= expected.bytes && memcmp(image->data, expected.data, expected.bytes) == 0;
    free(expected.data);
    return result;
}
#else
static int is_other_signature(const file *image, const file *original)
{
    (void)image;
    (void)original;
    return 0;
}
#endif

static void change_header(file *image)
{
    static const uint8_t FIELDS[][2] = {{0, 4},  {4, 4},  {8, 2},  {10, 2}, {12, 4},
                                        {16, 4}, {20, 1}, {22, 2}, {24, 4}, {28, 4}};
    const uint8_t *field = FIELDS[choose(sizeof FIELDS / sizeof *FIELDS)];
    uint32_t value = get(image, field[0], field[1]);
    put(image, field[0], field[1], choose(2) ? odd_number(value) : value ^ 1U << choose(8U * field[1]));
}

/* Changes the image in one way. */
static void change(file *image)
{
    uint32_t count, at, end;
    const file *other;
    switch (choose(9)) {
    case 0: /* flipped bits */
        for (count = 1 + choose(4); count > 0; count--) {
            image->data[choose(image->bytes)] ^= (uint8_t)(1U << choose(8));
        }
        break;
    case 1: /* flipped bits of the areas */
        at = protected_at(image);
        image->data[at + choose(image->bytes - at)] ^= (uint8_t)(1U << choose(8));
        break;
    case 2: /* cut off */
        image->bytes = choose(image->bytes);
        break;
    case 3: /* not wholly written */
        at = choose(image->bytes);
        memset(image->data + at, 0xff, image->bytes - at);
        break;
    case 4:
        change_header(image);
        break;
    case 5:
    case 6:
        change_tlv(image);
        break;
    case 7: /* bytes of another image */
        other = &files[choose((uint32_t)file_count)];
        end = other->bytes < image->bytes ? other->bytes : image->bytes;
        at = choose(end);
        memcpy(image->data + at, other->data + at, 1 + choose(end - at));
        break;
    default: /* payload with bytes more or less, with the right length */
        count = choose(9);
        at = get(image, 8, 2) + choose(8);
        put(image, 12, 4, get(image, 12, 4) + count - 4);
        move(image, at, 4, count);
    }
}

/* Writes the right hash for the changed content, as an attacker can. */
static void repair_hash(file *image)
{
    uint32_t end = unprotected_at(image);
    if (end < 32 || end > image->bytes || image->bytes - end < 8 + AR_SHA256_BYTES ||
        get(image, end + 4, 2) != 0x10) {
        return;
    }
    ar_sha256 hash;
    ar_sha256_start(&hash);
    ar_sha256_add(&hash, image->data, end);
    ar_sha256_finish(&hash, image->data + end + 8);
}

static int check(file *image, const uint8_t *key, const char *board, uint8_t kind)
{
    file slot = {malloc(image->bytes + 1), image->bytes};
    if (slot.data == 0) {
        exit(2);
    }
    memcpy(slot.data, image->data, image->bytes);
    slot.data = realloc(slot.data, image->bytes > 0 ? image->bytes : 1);
    ar_flash flash = {1, image->bytes, 1, 0, 0, read_slot, 0, &slot};
    ar_image_rules rules = {key, board, abi, 0x8000, MIN_COUNTER, kind};
    ar_image result;
    int reason = ar_image_check(&flash, &rules, &result);
    if (reason != AR_IMAGE_OK) { /* nothing about a refused image is returned */
        for (uint32_t i = 0; i < sizeof result; i++) {
            if (((uint8_t *)&result)[i] != 0) {
                abort();
            }
        }
    }
    free(slot.data);
    return reason;
}

int main(int argc, char **argv)
{
    if (argc < 7 || argc - 5 > MAX_IMAGES) {
        return 2;
    }
    unsigned long count = strtoul(argv[1], 0, 10);
    random_state = strtoull(argv[2], 0, 10) * 0x9e3779b97f4a7c15U + 1;
    file key = read_file(argv[3]);
    const char *board = argv[4];
    for (int i = 0; i < AR_IMAGE_ABI_BYTES; i++) {
        abi[i] = (uint8_t)i;
    }
    for (int i = 5; i < argc; i++) {
        files[file_count++] = read_file(argv[i]);
    }
    for (int i = 0; i < file_count; i++) {
        int reasons[2] = {check(&files[i], key.data, board, AR_IMAGE_FIRMWARE),
                          check(&files[i], key.data, board, AR_IMAGE_MODEL)};
        int expected = i < 2 ? reasons[i] == AR_IMAGE_OK && reasons[1 - i] == AR_IMAGE_KIND
                             : reasons[0] != AR_IMAGE_OK && reasons[1] != AR_IMAGE_OK;
        if (!expected) {
            fprintf(stderr, "Image %s: reasons %d and %d.\n", argv[5 + i], reasons[0], reasons[1]);
            return 1;
        }
    }
    unsigned long counts[REASONS] = {0};
    file image = {malloc(MAX_BYTES), 0};
    if (image.data == 0) {
        return 2;
    }
    for (unsigned long tried = 0; tried < count;) {
        uint32_t base = choose(3) ? choose(2) : choose((uint32_t)file_count);
        image.bytes = files[base].bytes;
        memcpy(image.data, files[base].data, image.bytes);
#ifdef AR_UPDATE_P256
        if (choose(2)) {
            forge_signature(&image);
            if (choose(4) == 0) {
                image.data[get(&image, 8, 2) + choose(8)] ^= (uint8_t)(1U << choose(8));
                repair_hash(&image);
            }
        } else
#endif
        {
            change(&image);
            if (choose(2)) {
                repair_hash(&image);
            }
        }
        uint8_t kind = base == 0                ? AR_IMAGE_FIRMWARE
                       : base == 1 || choose(2) ? AR_IMAGE_MODEL
                                                : AR_IMAGE_FIRMWARE;
        int is_same = 0;
        for (int i = 0; i < 2; i++) {
            is_same |=
                (image.bytes >= files[i].bytes && memcmp(image.data, files[i].data, files[i].bytes) == 0) ||
                is_other_signature(&image, &files[i]);
        }
        if (is_same) {
            continue; /* a signed image is still there, maybe with bytes behind it */
        }
        int reason = check(&image, key.data, board, kind);
        if (reason < 0 || reason >= REASONS) {
            fprintf(stderr, "The check returned %d.\n", reason);
            return 1;
        }
        counts[reason]++;
        tried++;
    }
    for (int i = 0; i < REASONS; i++) {
        printf("%d %lu\n", i, counts[i]);
    }
    free(image.data);
    free(key.data);
    return counts[AR_IMAGE_OK] != 0;
}
