/* A firmware for the emulated board MPS2 with the image AN386 that serves the Simple Management Protocol on its first UART.
 * Its two slots are in RAM that keeps its content over a reset. */
#include "smp.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART(offset) REGISTER(0x40004000u + (offset))
enum { SLOT_BYTES = 65536, UNIT_BYTES = 8, MAGIC = 0x534D5031 };

/* What survives a reset. The host reads the slots and reads or writes nothing else. */
typedef struct {
    uint32_t magic, running, written, resets;
    uint32_t is_pending, is_permanent, is_tested;
    ar_smp_upload upload;
} memory;
static memory kept __attribute__((section(".noinit")));
uint8_t slots[2][SLOT_BYTES] __attribute__((section(".noinit"), aligned(4)));

static ar_smp smp;
static char line[32];
static uint32_t line_bytes;
extern uint32_t stack_top[], bss_start[], bss_end[];
void reset(void);
void hang(void);
void *memset(void *to, int byte, size_t bytes);
void *memcpy(void *to, const void *from, size_t bytes);

void *memset(void *to, int byte, size_t bytes)
{
    for (uint8_t *at = to; bytes; bytes--) {
        *at++ = (uint8_t)byte;
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t bytes)
{
    const uint8_t *source = from;
    for (uint8_t *at = to; bytes; bytes--) {
        *at++ = *source++;
    }
    return to;
}

static int put(void *context, uint8_t byte)
{
    (void)context;
    if (UART(4) & 1u) {
        return 0;
    }
    UART(0) = byte;
    return 1;
}

static void print(const char *text)
{
    while (*text) {
        if (put(0, (uint8_t)*text)) {
            text++;
        }
    }
}

static void take_text(void *context, uint8_t byte)
{
    (void)context;
    if (byte != '\n') {
        line[line_bytes] = (char)byte;
        line_bytes += line_bytes < sizeof line - 1;
        return;
    }
    line[line_bytes] = 0;
    line_bytes = 0;
    print("text: ");
    print(line);
    print("\n");
}

static uint8_t *slot_of(uint32_t number) { return slots[number ^ kept.running]; }

static int is_equal(const uint8_t *a, const uint8_t *b)
{
    uint32_t i = 0;
    while (i < AR_SMP_HASH_BYTES && a[i] == b[i]) {
        i++;
    }
    return i == AR_SMP_HASH_BYTES;
}

static uint32_t word(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = 0;
    while (bytes) {
        value = value << 8 | at[--bytes];
    }
    return value;
}

static int get_slot(void *context, uint32_t index, ar_smp_slot *slot)
{
    (void)context;
    if (index > 1) {
        return 0;
    }
    const uint8_t *image = slot_of(index);
    const uint32_t end = word(image + 8, 2) + word(image + 12, 4);
    if (word(image, 4) != 0x96F3B83Du || end > SLOT_BYTES - 40 || image[end + 4] != 0x10) {
        return -1;
    }
    memset(slot, 0, sizeof *slot);
    slot->slot = index;
    slot->version[0] = image[20];
    slot->version[1] = image[21];
    slot->version[2] = word(image + 22, 2);
    slot->version[3] = word(image + 24, 4);
    memcpy(slot->hash, image + end + 8, AR_SMP_HASH_BYTES);
    slot->flags = index            ? (kept.is_pending ? AR_SMP_PENDING : 0u)
                  : kept.is_tested ? (uint32_t)AR_SMP_ACTIVE
                                   : (uint32_t)AR_SMP_ACTIVE | AR_SMP_CONFIRMED;
    slot->flags |= AR_SMP_BOOTABLE;
    return 1;
}

static int upload_begin(void *context, const ar_smp_upload *upload)
{
    (void)context;
    if (upload->bytes > SLOT_BYTES) {
        return AR_SMP_IMAGE_TOO_LARGE;
    }
    memset(slot_of(1), 0xFF, SLOT_BYTES);
    kept.upload = *upload;
    kept.written = 0;
    kept.is_pending = 0;
    return AR_SMP_OK;
}

static uint32_t upload_status(void *context, const ar_smp_upload *upload)
{
    (void)context;
    const uint32_t is_same = kept.upload.has_hash && kept.upload.bytes == upload->bytes &&
                             is_equal(kept.upload.hash, upload->hash);
    return !is_same ? 0 : kept.written < upload->bytes ? kept.written : upload->bytes;
}

static int upload_chunk(void *context, uint32_t at, const uint8_t *data, uint32_t bytes)
{
    (void)context;
    if (at != kept.written || at % UNIT_BYTES || bytes % UNIT_BYTES || at + bytes > SLOT_BYTES) {
        return AR_SMP_IMAGE_WRITE_FAILED;
    }
    memcpy(slot_of(1) + at, data, bytes);
    kept.written = at + bytes;
    return AR_SMP_OK;
}

static int set_next(uint32_t is_permanent, const uint8_t *hash)
{
    ar_smp_slot slot;
    if (get_slot(0, 1, &slot) != 1 || !is_equal(slot.hash, hash)) {
        return AR_SMP_IMAGE_NO_IMAGE;
    }
    kept.is_pending = 1;
    kept.is_permanent = is_permanent;
    return AR_SMP_OK;
}

static int test(void *context, const uint8_t *hash)
{
    (void)context;
    return set_next(0, hash);
}

static int confirm(void *context, const uint8_t *hash)
{
    (void)context;
    if (hash) {
        return set_next(1, hash);
    }
    kept.is_tested = 0;
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
    (void)context;
    return group ? 0 : "device";
}

static const char *stat(void *context, uint32_t group, uint32_t field, uint32_t *value)
{
    (void)context;
    (void)group;
    *value = field ? smp.frames : kept.resets;
    return field == 0 ? "resets" : field == 1 ? "frames" : 0;
}

void hang(void)
{
    for (;;) {
    }
}

/* Does what a boot loader does: another slot runs if it is pending, or if the one that runs was only tested. */
static void boot(void)
{
    if (kept.magic != MAGIC) {
        memset(&kept, 0, sizeof kept);
        memset(slots, 0xFF, sizeof slots);
        kept.magic = MAGIC;
        return;
    }
    kept.resets++;
    if (kept.is_pending || kept.is_tested) {
        kept.running ^= 1u;
        kept.is_tested = kept.is_pending && !kept.is_permanent;
        kept.is_pending = kept.is_permanent = 0;
        kept.upload.has_hash = 0;
    }
}

void reset(void)
{
    static const ar_smp_actions actions = {
        .put = put,
        .text = take_text,
        .slot = get_slot,
        .upload_begin = upload_begin,
        .upload_status = upload_status,
        .upload_chunk = upload_chunk,
        .test = test,
        .confirm = confirm,
        .reset_request = reset_request,
        .stat_group = stat_group,
        .stat = stat,
        .unit_bytes = UNIT_BYTES,
    };
    for (uint32_t *word_at = bss_start; word_at < bss_end; word_at++) {
        *word_at = 0;
    }
    UART(16) = 16; /* the emulator requires 16 or more */
    UART(8) = 3;   /* transmit and receive */
    boot();
    ar_smp_start(&smp, &actions);
    print("boot\n");
    for (;;) {
        /* The UART holds one byte, and the emulator does not lose the next ones. */
        if (UART(4) & 2u && (uint8_t)(smp.head - smp.tail) < AR_SMP_RING_BYTES) {
            ar_smp_receive(&smp, (uint8_t)UART(0));
        }
        if (ar_smp_step(&smp) == AR_SMP_RESET) {
            REGISTER(0xE000ED0Cu) = 0x05FA0004u;
            hang();
        }
    }
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {stack_top, {[0] = reset, [1] = hang, [2] = hang}};
