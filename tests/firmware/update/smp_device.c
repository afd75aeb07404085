/* A device with two slots in files, which serves the Simple Management Protocol on standard input and output, and prints
 * lines of text in between. It keeps its state in files of the working folder, as a device does in flash.
 *
 * smp_device UNIT_BYTES: the slots are slot0.bin and slot1.bin, which must be there. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sha256.h"
#include "smp.h"

enum { SLOT_BYTES = 1 << 17, PAGE_BYTES = 4096, LINE_BYTES = 64 };

/* What survives a reset. */
typedef struct {
    ar_smp_upload upload; /* that was begun */
    uint32_t written;     /* bytes of it */
    uint32_t is_pending, is_permanent, is_confirmed;
    uint32_t resets, resumed, refused;
} memory;

typedef struct {
    ar_smp smp;
    memory kept;
    int slots[2];
    uint32_t erased; /* bytes */
    uint32_t puts, ticks;
    uint8_t out[4096];
    uint32_t out_bytes;
    char line[LINE_BYTES];
    uint32_t line_bytes;
} device;

static void fail(const char *message)
{
    fprintf(stderr, "smp_device: %s\n", message);
    exit(1);
}

static void read_at(int file, uint32_t at, void *data, uint32_t bytes)
{
    if (pread(file, data, bytes, at) != (ssize_t)bytes) {
        fail("a slot cannot be read");
    }
}

static void write_at(int file, uint32_t at, const void *data, uint32_t bytes)
{
    if (pwrite(file, data, bytes, at) != (ssize_t)bytes) {
        fail("a slot cannot be written");
    }
}

static void keep(const device *d)
{
    const int file = open("memory.bin", O_WRONLY | O_CREAT, 0600);
    write_at(file, 0, &d->kept, sizeof d->kept);
    close(file);
}

static int put(void *context, uint8_t byte)
{
    device *d = context;
    if (++d->puts % 5 == 0 || d->out_bytes == sizeof d->out) {
        return 0; /* the port is sometimes not ready */
    }
    d->out[d->out_bytes++] = byte;
    return 1;
}

static void print(device *d, const char *text)
{
    const uint32_t bytes = (uint32_t)strlen(text);
    if (!ar_smp_is_in_line(&d->smp) && d->out_bytes + bytes <= sizeof d->out) {
        memcpy(d->out + d->out_bytes, text, bytes);
        d->out_bytes += bytes;
    }
}

static void take_text(void *context, uint8_t byte)
{
    device *d = context;
    if (byte != '\n') {
        if (d->line_bytes < LINE_BYTES - 1) {
            d->line[d->line_bytes++] = (char)byte;
        }
        return;
    }
    d->line[d->line_bytes] = 0;
    d->line_bytes = 0;
    char answer[LINE_BYTES + 16];
    snprintf(answer, sizeof answer, "text: %s\n", d->line);
    print(d, answer);
}

static uint32_t word(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = 0;
    while (bytes) {
        value = value << 8 | at[--bytes];
    }
    return value;
}

/* Reads version and hash of an MCUboot image. */
static int describe(const device *d, uint32_t index, ar_smp_slot *slot)
{
    uint8_t header[32], entry[4];
    read_at(d->slots[index], 0, header, sizeof header);
    const uint32_t end = word(header + 8, 2) + word(header + 12, 4);
    if (word(header, 4) != 0x96F3B83Du || end > SLOT_BYTES - 512) {
        return 0;
    }
    const uint32_t version[4] = {header[20], header[21], word(header + 22, 2), word(header + 24, 4)};
    memcpy(slot->version, version, sizeof version);
    slot->image = 0;
    slot->slot = index;
    read_at(d->slots[index], end, entry, 4);
    for (uint32_t at = end + 4, last = end + word(entry + 2, 2); at < last && last < SLOT_BYTES;
         at += 4 + word(entry + 2, 2)) {
        read_at(d->slots[index], at, entry, 4);
        if (entry[0] == 0x10 && entry[2] == AR_SMP_HASH_BYTES) {
            read_at(d->slots[index], at + 4, slot->hash, AR_SMP_HASH_BYTES);
            return 1;
        }
    }
    return 0;
}

static int get_slot(void *context, uint32_t index, ar_smp_slot *slot)
{
    const device *d = context;
    if (index > 1) {
        return 0;
    }
    if (!describe(d, index, slot)) {
        return -1;
    }
    slot->flags = AR_SMP_BOOTABLE;
    if (index == 0) {
        slot->flags |= AR_SMP_ACTIVE | (d->kept.is_confirmed ? AR_SMP_CONFIRMED : 0u);
    } else {
        slot->flags |=
            (d->kept.is_pending ? AR_SMP_PENDING : 0u) | (d->kept.is_permanent ? AR_SMP_PERMANENT : 0u);
    }
    return 1;
}

static int upload_begin(void *context, const ar_smp_upload *upload)
{
    device *d = context;
    if (upload->image != 0) {
        d->kept.refused++;
        return AR_SMP_IMAGE_NO_FREE_SLOT;
    }
    if (upload->bytes > SLOT_BYTES) {
        return AR_SMP_IMAGE_TOO_LARGE;
    }
    if (d->erased < SLOT_BYTES) {
        uint8_t page[PAGE_BYTES];
        memset(page, 0xFF, sizeof page);
        write_at(d->slots[1], d->erased, page, PAGE_BYTES);
        d->erased += PAGE_BYTES;
        return AR_SMP_AGAIN;
    }
    d->erased = 0;
    d->kept.upload = *upload;
    d->kept.written = 0;
    d->kept.is_pending = d->kept.is_permanent = 0;
    keep(d);
    return AR_SMP_OK;
}

static uint32_t upload_status(void *context, const ar_smp_upload *upload)
{
    device *d = context;
    const ar_smp_upload *kept = &d->kept.upload;
    if (!kept->has_hash || kept->bytes != upload->bytes ||
        memcmp(kept->hash, upload->hash, AR_SMP_HASH_BYTES)) {
        return 0;
    }
    d->kept.resumed += d->kept.written > 0;
    return d->kept.written < upload->bytes ? d->kept.written : upload->bytes;
}

static uint32_t unit_bytes;

static int upload_chunk(void *context, uint32_t at, const uint8_t *data, uint32_t bytes)
{
    device *d = context;
    uint8_t old[AR_SMP_BUFFER_BYTES];
    if (at % unit_bytes || bytes % unit_bytes || bytes == 0 || at + bytes > SLOT_BYTES ||
        (uintptr_t)data % 4) {
        fail("a chunk is not made of whole units");
    }
    if (at != d->kept.written) {
        fail("a chunk does not follow the one before");
    }
    if (d->puts++ % 3 == 0) {
        return AR_SMP_AGAIN;
    }
    read_at(d->slots[1], at, old, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        if (old[i] != 0xFF) {
            fail("a unit is programmed twice");
        }
    }
    write_at(d->slots[1], at, data, bytes);
    d->kept.written = at + bytes;
    keep(d);
    return AR_SMP_OK;
}

static int upload_end(void *context, const ar_smp_upload *upload)
{
    device *d = context;
    if (!upload->has_hash) {
        return AR_SMP_OK;
    }
    static uint8_t file[SLOT_BYTES];
    uint8_t hash[32];
    read_at(d->slots[1], 0, file, upload->bytes);
    ar_sha256 digest;
    ar_sha256_start(&digest);
    ar_sha256_add(&digest, file, upload->bytes);
    ar_sha256_finish(&digest, hash);
    if (memcmp(hash, upload->hash, sizeof hash)) {
        d->kept.upload.has_hash = 0;
        return AR_SMP_IMAGE_INVALID_HASH;
    }
    return AR_SMP_OK;
}

static int is_slot(device *d, uint32_t index, const uint8_t *hash)
{
    ar_smp_slot slot;
    return describe(d, index, &slot) && memcmp(slot.hash, hash, AR_SMP_HASH_BYTES) == 0;
}

static int set_next(device *d, const uint8_t *hash, uint32_t is_permanent)
{
    if (!is_slot(d, 1, hash)) {
        return AR_SMP_IMAGE_NO_IMAGE;
    }
    d->kept.is_pending = 1;
    d->kept.is_permanent = is_permanent;
    keep(d);
    return AR_SMP_OK;
}

static int test(void *context, const uint8_t *hash)
{
    return is_slot(context, 0, hash) ? AR_SMP_IMAGE_TEST_DENIED : set_next(context, hash, 0);
}

static int confirm(void *context, const uint8_t *hash)
{
    device *d = context;
    if (hash && !is_slot(d, 0, hash)) {
        return set_next(d, hash, 1);
    }
    d->kept.is_confirmed = 1;
    keep(d);
    return AR_SMP_OK;
}

static int erase(void *context, uint32_t slot)
{
    device *d = context;
    static const uint8_t erased[32] = {0xFF};
    if (slot != 1) {
        return AR_SMP_IMAGE_INVALID_SLOT;
    }
    write_at(d->slots[1], 0, erased, sizeof erased);
    d->kept.upload.has_hash = 0;
    keep(d);
    return AR_SMP_OK;
}

static int reset_request(void *context, int is_forced)
{
    (void)context;
    (void)is_forced;
    return AR_SMP_OK;
}

static const char *stat_group(void *context, uint32_t group)
{
    static const char *const names[] = {"smp_svr_stats", "device"};
    (void)context;
    return group < 2 ? names[group] : 0;
}

static const char *stat(void *context, uint32_t group, uint32_t field, uint32_t *value)
{
    const device *d = context;
    const struct {
        const char *name;
        uint32_t value;
    } fields[2][2] = {{{"frames", d->smp.frames}, {"damaged", d->smp.damaged}},
                      {{"resets", d->kept.resets}, {"resumed", d->kept.resumed}}};
    if (field > 1) {
        return 0;
    }
    *value = fields[group][field].value;
    return fields[group][field].name;
}

/* Does what a boot loader does with two slots: swaps them if the other one is pending, or if the running one was only
 * tested. */
static void boot(device *d)
{
    if (d->kept.is_pending || !d->kept.is_confirmed) {
        if (rename("slot0.bin", "swap.bin") || rename("slot1.bin", "slot0.bin") ||
            rename("swap.bin", "slot1.bin")) {
            fail("the slots cannot be swapped");
        }
        d->kept.is_confirmed = !d->kept.is_pending || d->kept.is_permanent;
        d->kept.is_pending = d->kept.is_permanent = 0;
        d->kept.upload.has_hash = 0;
    }
    keep(d);
    d->slots[0] = open("slot0.bin", O_RDWR);
    d->slots[1] = open("slot1.bin", O_RDWR);
    if (d->slots[0] < 0 || d->slots[1] < 0) {
        fail("slot0.bin and slot1.bin are needed");
    }
    d->erased = 0;
    d->line_bytes = 0;
}

static void reset(device *d, const ar_smp_actions *table)
{
    close(d->slots[0]);
    close(d->slots[1]);
    d->kept.resets++;
    boot(d);
    ar_smp_start(&d->smp, table);
    print(d, "boot\n");
}

int main(int count, char **arguments)
{
    static device d;
    unit_bytes = count > 1 ? (uint32_t)atoi(arguments[1]) : 8;
    const ar_smp_actions table = {
        .context = &d,
        .put = put,
        .text = take_text,
        .slot = get_slot,
        .upload_begin = upload_begin,
        .upload_status = upload_status,
        .upload_chunk = upload_chunk,
        .upload_end = upload_end,
        .test = test,
        .confirm = confirm,
        .erase = erase,
        .reset_request = reset_request,
        .stat_group = stat_group,
        .stat = stat,
        .unit_bytes = unit_bytes,
    };
    d.kept.is_confirmed = 1;
    const int file = open("memory.bin", O_RDONLY);
    if (file >= 0) {
        read_at(file, 0, &d.kept, sizeof d.kept);
        close(file);
    }
    boot(&d);
    ar_smp_start(&d.smp, &table);
    uint8_t in[256];
    uint32_t in_bytes = 0, in_at = 0;
    for (;;) {
        while (in_at < in_bytes && ar_smp_receive(&d.smp, in[in_at])) {
            in_at++;
        }
        const int result = ar_smp_step(&d.smp);
        if (result == AR_SMP_RESET) {
            while (d.out_bytes && write(1, d.out, d.out_bytes) != (ssize_t)d.out_bytes) {
            }
            d.out_bytes = 0;
            reset(&d, &table);
        }
        if (++d.ticks % 2048 == 0) {
            print(&d, "tick\n");
        }
        if (d.out_bytes) {
            const ssize_t sent = write(1, d.out, d.out_bytes);
            if (sent < 0) {
                return 0;
            }
            d.out_bytes -= (uint32_t)sent;
            memmove(d.out, d.out + sent, d.out_bytes);
        }
        if (in_at == in_bytes && result != AR_SMP_BUSY) {
            struct pollfd poll_in = {.fd = 0, .events = POLLIN};
            if (poll(&poll_in, 1, result == AR_SMP_IDLE ? 1000 : 0) > 0) {
                const ssize_t got = read(0, in, sizeof in);
                if (got <= 0) {
                    return 0;
                }
                in_bytes = (uint32_t)got;
                in_at = 0;
            }
        }
    }
}
