/* Decides whether an update image may run. The image has MCUboot's format: a header, the payload, a protected and an
 * unprotected area of TLVs (type, length, value). The unprotected area has the SHA-256 of everything before it, the hash
 * of the public key, and the signature of the SHA-256 (see signature.h for the algorithms).
 *
 * No length in the image is trusted. The check reads the image in small pieces and keeps none of it. Who can change the
 * flash memory during the check can deceive it: read an external memory into a safe one first. */
#ifndef ARENITE_IMAGE_H
#define ARENITE_IMAGE_H

#include "flash.h"
#include "signature.h"

enum { AR_IMAGE_KEY_BYTES = AR_SIGNATURE_KEY_BYTES, AR_IMAGE_ABI_BYTES = 32, AR_IMAGE_HASH_BYTES = 32 };

/* The content of an image. */
enum { AR_IMAGE_FIRMWARE = 1, AR_IMAGE_MODEL = 2 };

/* Our TLVs in the protected area. MCUboot leaves types whose lower byte is 0xA0 or more to vendors. Devices ignore 0x00A3, the
 * calibration record of a model. */
enum {
    AR_IMAGE_TLV_BOARD = 0x00A0, /* the name of the board, in UTF-8 */
    AR_IMAGE_TLV_ABI = 0x00A1,   /* the hash of graph, arena and kernels; a firmware may lack it */
    AR_IMAGE_TLV_KIND = 0x00A2   /* one byte: AR_IMAGE_FIRMWARE or AR_IMAGE_MODEL */
};

/* The results of ar_image_check. host/update/reasons.py has a sentence for each. */
enum {
    AR_IMAGE_OK = 0,
    AR_IMAGE_RULES = 1,
    AR_IMAGE_READ = 2,
    AR_IMAGE_MAGIC = 3,
    AR_IMAGE_HEADER_SIZE = 4,
    AR_IMAGE_FLAGS = 5,
    AR_IMAGE_ADDRESS = 6,
    AR_IMAGE_SIZE = 7,
    AR_IMAGE_PROTECTED_AREA = 8,
    AR_IMAGE_UNPROTECTED_AREA = 9,
    AR_IMAGE_TLV_END = 10,
    AR_IMAGE_TLV_TYPE = 11,
    AR_IMAGE_TLV_TWICE = 12,
    AR_IMAGE_TLV_LENGTH = 13,
    AR_IMAGE_NO_COUNTER = 14,
    AR_IMAGE_NO_BOARD = 15,
    AR_IMAGE_NO_KIND = 16,
    AR_IMAGE_NO_ABI = 17,
    AR_IMAGE_NO_HASH = 18,
    AR_IMAGE_NO_KEY_HASH = 19,
    AR_IMAGE_NO_SIGNATURE = 20,
    AR_IMAGE_KIND = 21,
    AR_IMAGE_BOARD = 22,
    AR_IMAGE_ABI = 23,
    AR_IMAGE_COUNTER = 24,
    AR_IMAGE_KEY = 25,
    AR_IMAGE_HASH = 26,
    AR_IMAGE_SIGNATURE = 27
};

/* The images that a device accepts in a slot. */
typedef struct {
    const uint8_t *public_key; /* AR_IMAGE_KEY_BYTES bytes */
    const char *board;         /* name of the board, with a zero at its end */
    const uint8_t *abi;        /* AR_IMAGE_ABI_BYTES bytes; 0: any hash, which the caller compares itself */
    uint32_t address;          /* of the slot: an image that was linked for one address must have this one */
    uint32_t min_counter;      /* the lowest security counter */
    uint8_t kind;              /* AR_IMAGE_FIRMWARE or AR_IMAGE_MODEL */
} ar_image_rules;

/* An image that was accepted. */
typedef struct {
    uint32_t bytes;         /* from the start of the slot to the end of the signature */
    uint32_t header_bytes;  /* offset of the payload */
    uint32_t payload_bytes; /* without header and TLVs */
    uint32_t counter;
    uint8_t major, minor; /* the version: major.minor.revision+build */
    uint16_t revision;
    uint32_t build;
    uint8_t kind;
    uint8_t abi[AR_IMAGE_ABI_BYTES]; /* zeros if a firmware has none */
    uint8_t hash[AR_IMAGE_HASH_BYTES];
} ar_image;

/* Returns AR_IMAGE_OK if the image at the start of `slot` may run, and the reason otherwise. Then `image` has zeros. */
int ar_image_check(const ar_flash *slot, const ar_image_rules *rules, ar_image *image);

#endif
