/* The device's side of the Simple Management Protocol (SMP, of mcumgr) over a serial port that also carries lines of text.
 * It answers the groups "OS" (echo, reset, parameters), "image" (list, upload, test, confirm, erase) and "statistics",
 * and passes requests of other groups to the application.
 *
 * The library knows no flash memory and no boot loader: the application gives it the table `ar_smp_actions`. Nothing
 * waits. An action that takes long returns AR_SMP_AGAIN, and is called again with the same arguments. */
#ifndef ARENITE_SMP_H
#define ARENITE_SMP_H

#include <stddef.h>

#include "cbor.h"
#include "smp_serial.h"

/* Bytes of the buffer for a request or an answer. Clients send messages of at most AR_SMP_MAX_MESSAGE bytes. */
#ifndef AR_SMP_BUFFER_BYTES
#define AR_SMP_BUFFER_BYTES 512
#endif
/* Received bytes that wait for ar_smp_step: a power of two. At 115,200 baud 128 bytes are 11 ms. */
#ifndef AR_SMP_RING_BYTES
#define AR_SMP_RING_BYTES 128
#endif
/* The largest unit that a flash memory programs, in bytes. */
enum { AR_SMP_MAX_UNIT = 32, AR_SMP_HASH_BYTES = 32, AR_SMP_MAX_MESSAGE = AR_SMP_BUFFER_BYTES - 16 };
#if AR_SMP_BUFFER_BYTES < 192 || AR_SMP_BUFFER_BYTES % 32 != 0 || AR_SMP_BUFFER_BYTES > 16384
#error "AR_SMP_BUFFER_BYTES must be a multiple of 32, at least 192."
#endif
#if AR_SMP_RING_BYTES < 2 || AR_SMP_RING_BYTES > 128 || (AR_SMP_RING_BYTES & (AR_SMP_RING_BYTES - 1)) != 0
#error "AR_SMP_RING_BYTES must be a power of two up to 128."
#endif

/* Results of actions: one of these two, an error of the action's group (below), or AR_SMP_RC of a general error. */
enum { AR_SMP_OK = 0, AR_SMP_AGAIN = -1 };
#define AR_SMP_RC(error) (0x100 + (error))

/* General errors. */
enum {
    AR_SMP_UNKNOWN = 1,
    AR_SMP_INVALID = 3,
    AR_SMP_NOT_FOUND = 5,
    AR_SMP_BAD_STATE = 6,
    AR_SMP_TOO_LONG = 7,
    AR_SMP_UNSUPPORTED = 8,
    AR_SMP_BUSY_ERROR = 10,
    AR_SMP_DENIED = 11,
    AR_SMP_TOO_NEW = 13
};

/* Errors of the group "image", for actions. */
enum {
    AR_SMP_IMAGE_NO_IMAGE = 3,
    AR_SMP_IMAGE_NO_FREE_SLOT = 9,
    AR_SMP_IMAGE_READ_FAILED = 11,
    AR_SMP_IMAGE_WRITE_FAILED = 12,
    AR_SMP_IMAGE_ERASE_FAILED = 13,
    AR_SMP_IMAGE_INVALID_SLOT = 14,
    AR_SMP_IMAGE_INVALID_HEADER = 22,
    AR_SMP_IMAGE_INVALID_MAGIC = 23,
    AR_SMP_IMAGE_INVALID_HASH = 24,
    AR_SMP_IMAGE_DOWNGRADE = 27,
    AR_SMP_IMAGE_ALREADY_PENDING = 28,
    AR_SMP_IMAGE_TOO_LARGE = 30,
    AR_SMP_IMAGE_OVERRUN = 31,
    AR_SMP_IMAGE_CONFIRM_DENIED = 32,
    AR_SMP_IMAGE_TEST_DENIED = 33
};

/* Flags of a slot, as clients show them. */
enum {
    AR_SMP_BOOTABLE = 1,
    AR_SMP_PENDING = 2,   /* runs after the next reset */
    AR_SMP_CONFIRMED = 4, /* stays */
    AR_SMP_ACTIVE = 8,    /* runs now */
    AR_SMP_PERMANENT = 16 /* will run after the next reset, and stay */
};

typedef struct {
    uint32_t image, slot;
    uint32_t version[4]; /* major, minor, revision, build; a build of 0 is not shown */
    uint8_t hash[AR_SMP_HASH_BYTES];
    uint32_t flags;
} ar_smp_slot;

/* An upload. `hash` is the SHA-256 of the whole file, if the client told it. */
typedef struct {
    uint32_t image;
    uint32_t bytes; /* of the file */
    uint32_t received;
    uint8_t has_hash;
    uint8_t only_upgrade; /* the client wants a version that is not newer refused */
    uint8_t hash[AR_SMP_HASH_BYTES];
} ar_smp_upload;

/* What the application does. The context is the first argument of each function. A function that is 0 makes the
 * command "not supported", except for those that may be 0. */
typedef struct {
    void *context;

    /* Sends a byte. Returns 0 if the port is not ready, or if a line of text has begun and is not at its end. */
    int (*put)(void *context, uint8_t byte);
    /* Takes a byte that belongs to no frame. May be 0. */
    void (*text)(void *context, uint8_t byte);

    /* Describes slot `index`, from 0. Returns 1, 0 behind the last slot, or -1 for a slot without an image. */
    int (*slot)(void *context, uint32_t index, ar_smp_slot *slot);

    /* Begins an upload: chooses the slot, and erases it or prepares to. */
    int (*upload_begin)(void *context, const ar_smp_upload *upload);
    /* Returns how many bytes of the upload with this hash, size and image are in flash, from before a reset: a
     * multiple of the unit, up to the size. It is called instead of upload_begin if that is not 0. May be 0. */
    uint32_t (*upload_status)(void *context, const ar_smp_upload *upload);
    /* Programs `bytes` bytes from `at`, which are multiples of the unit. Chunks follow each other without a gap. The
     * last one is filled up with 0xFF. `data` is aligned to 4 bytes. */
    int (*upload_chunk)(void *context, uint32_t at, const uint8_t *data, uint32_t bytes);
    /* Checks the file after the last chunk: returns AR_SMP_IMAGE_INVALID_HASH if it differs from the hash. May be 0:
     * the client is then not told that the hash is right. */
    int (*upload_end)(void *context, const ar_smp_upload *upload);

    /* Let the image with this hash run after the next reset, for a test or (confirm) to stay. A hash of 0 means the image
     * that runs now. */
    int (*test)(void *context, const uint8_t *hash);
    int (*confirm)(void *context, const uint8_t *hash);
    int (*erase)(void *context, uint32_t slot);

    /* Permits a reset. The reset itself is the application's, when ar_smp_step returns AR_SMP_RESET. */
    int (*reset_request)(void *context, int is_forced);

    /* Return the name of a group of statistics, and the name and value of a field in it, or 0 behind the last one. */
    const char *(*stat_group)(void *context, uint32_t group);
    const char *(*stat)(void *context, uint32_t group, uint32_t field, uint32_t *value);

    uint32_t unit_bytes; /* that the flash memory programs together: a power of two up to AR_SMP_MAX_UNIT */

    /* Answers a request of another group: reads its fields, if it has any, and then opens the map of the answer, which is
     * written over the request, and adds names and values. The library closes the map. May be 0. */
    int (*group)(void *context, uint32_t group, uint32_t command, ar_cbor_writer *answer);
} ar_smp_actions;

/* ar_smp_step: */
enum {
    AR_SMP_IDLE = 0,    /* nothing to do until a byte arrives */
    AR_SMP_BUSY = 1,    /* call it again */
    AR_SMP_WAITING = 2, /* for the port or for an action: call it again soon */
    AR_SMP_RESET = 3 /* the client was told that the device resets, and the answer was passed to the port */
};

typedef struct ar_smp ar_smp;

/* A second kind of frames (coded_frames.h). */
typedef struct {
    /* Takes a byte, or works on a frame. Returns 0 if there is nothing to do. */
    int (*receive)(ar_smp *smp);
    /* Return the next byte of the answer, and go on behind it. ar_smp_output_advance tells what is returned. */
    uint8_t (*byte)(const ar_smp *smp);
    int (*advance)(ar_smp *smp);
    uint32_t max_message; /* bytes */
} ar_smp_coding;

/* All members but the two counters belong to the library. */
struct ar_smp {
    uint8_t buffer[AR_SMP_BUFFER_BYTES]; /* first, for its alignment */
    const ar_smp_actions *actions;
    const ar_smp_coding *coding; /* or 0 */
    uint32_t frames, damaged;    /* frames that arrived, and frames that were damaged on the way; both wrap */
    ar_smp_upload upload;
    union {
        ar_smp_input input;
        ar_smp_output output;
    } line;
    uint16_t write_bytes;                          /* that upload_chunk is programming */
    uint16_t chunk_bytes;                          /* of the request that is being handled */
    uint16_t length;                               /* of the request's data */
    uint8_t operation, version, sequence, command; /* of the request */
    uint16_t group;
    uint8_t state, phase, is_uploading, is_resetting;
    uint8_t is_coded; /* the request came in a frame of the second kind, and so does the answer */
    uint8_t staged[AR_SMP_MAX_UNIT]; /* received bytes that do not fill a unit yet */
    volatile uint8_t head, tail;
    uint8_t ring[AR_SMP_RING_BYTES];
};

void ar_smp_start(ar_smp *smp, const ar_smp_actions *actions);

/* Takes a byte from the port. An interrupt may call it. Returns 0 if the byte was lost, because the ring is full. */
int ar_smp_receive(ar_smp *smp, uint8_t byte);

/* Takes or sends at most one byte, or calls one action. */
int ar_smp_step(ar_smp *smp);

/* Returns 1 while a line of a frame was begun and not finished, when no text may be sent. */
int ar_smp_is_in_line(const ar_smp *smp);

#endif
