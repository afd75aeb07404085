/* What the files of the protocol share. */
#ifndef ARENITE_SMP_GROUPS_H
#define ARENITE_SMP_GROUPS_H

#include "cbor.h"
#include "smp.h"

enum { SMP_HEADER_BYTES = 8, SMP_READ = 0, SMP_WRITE = 2 };
enum { SMP_GROUP_OS = 0, SMP_GROUP_IMAGE = 1, SMP_GROUP_STATISTICS = 2 };
/* The only error of the group "statistics". */
enum { SMP_STATISTICS_NO_GROUP = 2 };

/* Reads the fields of the request. Returns AR_SMP_OK or an error. */
int ar_smp_read_request(const ar_smp *smp, ar_cbor_field *fields, uint32_t count);

/* Handle a request of a group: write the fields of the answer, or return AR_SMP_AGAIN or an error. */
int ar_smp_os_group(ar_smp *smp, ar_cbor_writer *answer);
int ar_smp_image_group(ar_smp *smp, ar_cbor_writer *answer);
int ar_smp_statistics_group(ar_smp *smp, ar_cbor_writer *answer);
int ar_smp_upload_request(ar_smp *smp, ar_cbor_writer *answer);

/* For a second kind of frames: takes a byte from the ring, if there is one. */
int ar_smp_next_byte(ar_smp *smp, uint8_t *byte);
/* Returns whether no request is being answered. Only then may the next two be called. */
int ar_smp_is_receiving(const ar_smp *smp);
/* Takes a byte of text or of a plain frame. Returns 1 if it ends a message. */
int ar_smp_take_byte(ar_smp *smp, uint8_t byte);
/* Takes the message in the buffer. */
void ar_smp_take_message(ar_smp *smp, uint32_t bytes);

#endif
