/* Changes signed images in every way that an attacker without the key can, and counts what the check answers.
 *
 *     forgeries COUNT SEED PUBLIC_KEY BOARD FIRMWARE MODEL FOREIGN...
 *
 * FIRMWARE and MODEL are images that the check accepts, and FOREIGN images that it refuses. The program prints one line
 * "REASON COUNT" for each result. Its exit status is 1 if a forged image was accepted. */
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
        change(&image);
        if (choose(2)) {
            repair_hash(&image);
        }
        uint8_t kind = base == 0                ? AR_IMAGE_FIRMWARE
                       : base == 1 || choose(2) ? AR_IMAGE_MODEL
                                                : AR_IMAGE_FIRMWARE;
        int is_same = 0;
        for (int i = 0; i < 2; i++) {
            is_same |=
                image.bytes >= files[i].bytes && memcmp(image.data, files[i].data, files[i].bytes) == 0;
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
