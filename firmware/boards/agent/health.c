/* Health of the device; see health.h.
 *
 * The log is in memory that start-up does not clear. Each entry has a checksum of its own, so that an entry that a
 * reset interrupted, and the random contents of memory after power-on, are not taken for entries. The newest entry is
 * the one with the highest number, so there is no header that a reset could damage.
 */
#include "health.h"

#ifdef AR_HEALTH
#include "memory_watch.h"
#include "port.h"

#define ENTRIES 16u

typedef struct {
    uint32_t number; /* counts up; 0: no entry */
    uint32_t ms;     /* time in milliseconds since the start */
    uint32_t
        tags; /* bits 0 to 7: code; 8 to 15: low byte of the core's code for a fault; 16 to 31: number of the start */
    uint32_t first, second; /* data of the entry; docs/health.md explains them for each code */
    uint32_t check;         /* CRC-32 of the five words before it */
} entry;

AR_NOINIT static entry log_entries[ENTRIES];

#if defined(__riscv)
#define ARCHITECTURE 2u
#elif defined(__XTENSA__)
#define ARCHITECTURE 3u
#elif defined(__arm__)
#define ARCHITECTURE 1u
#else
#define ARCHITECTURE 0u
#endif

/* `newest`: the number of the newest entry. `start`, `cause` and `hardware`: the number of this start, its reason
 * (HEALTH_) and the hardware's code for it. `fault_...`: the fault or watchdog reset that led to this start. */
static uint32_t newest, start, cause, hardware, fault_pc, fault_address, fault_code;
/* `rest_ticks`: ticks that `uptime_ms` does not contain yet. `latest_ticks`: the counter when they were counted. */
static uint32_t uptime_ms, rest_ticks, latest_ticks;
/* `guards_seen`: damaged guard words at the latest check. `cleared`: entries up to this number are not reported. */
static uint32_t inferences, guards_seen, stack_reported, bad_frames, cleared;

/* Returns the CRC-32 of the entry's words before `check`. */
static uint32_t check_of(const entry *e)
{
    const uint32_t *word = &e->number;
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < 5; i++) {
        crc ^= word[i];
        for (int bit = 0; bit < 32; bit++) {
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

static uint32_t is_valid(const entry *e) { return e->number && e->check == check_of(e); }

static entry *slot_of(uint32_t number) { return &log_entries[number % ENTRIES]; }

/* Writes the entry `number`. `trap` is the core's code for a fault, otherwise 0. */
static void write_entry(uint32_t number, uint32_t code, uint32_t trap, uint32_t first, uint32_t second)
{
    entry *e = slot_of(number);
    *(volatile uint32_t *)&e->number = 0; /* the entry is not valid until its checksum is written */
    e->ms = uptime_ms;
    e->tags = code | (trap & 0xFFu) << 8 | start << 16;
    e->first = first;
    e->second = second;
    *(volatile uint32_t *)&e->number = number;
    e->check = check_of(e);
}

static void add_entry(uint32_t code, uint32_t trap, uint32_t first, uint32_t second)
{
    write_entry(++newest, code, trap, first, second);
}

void health_alive(void)
{
    const uint32_t now = port_ticks();
    const uint32_t per_ms = PORT_TICKS_PER_MS;
    rest_ticks += now - latest_ticks;
    latest_ticks = now;
    if (rest_ticks >= per_ms) {
        uptime_ms += rest_ticks / per_ms;
        rest_ticks %= per_ms;
    }
#ifdef PORT_WATCHDOG_MS
    port_watchdog_feed();
#endif
}

void health_count(uint32_t code)
{
    const entry *e = slot_of(newest);
    bad_frames += code == LOG_BAD_FRAME;
    if (newest && is_valid(e) && e->number == newest && e->tags == (code | start << 16)) {
        write_entry(newest, code, 0, e->first + 1, 0);
    } else {
        add_entry(code, 0, 1, 0);
    }
}

void health_trapped(uint32_t code, uint32_t pc, uint32_t address, uint32_t trap)
{
    add_entry(code, trap, pc, address);
}

void health_inference(void)
{
    const uint32_t damaged = ar_guards_damaged();
    inferences++;
    if (damaged != guards_seen) {
        guards_seen = damaged;
        add_entry(LOG_GUARD, 0, damaged, inferences);
    }
    if (!stack_reported && ar_stack_used() >= ar_stack_bytes()) {
        stack_reported = 1;
        add_entry(LOG_STACK, 0, ar_stack_used(), inferences);
    }
    health_alive();
}

uint32_t health_cause(void) { return cause; }

void health_start(void)
{
    const entry *last = 0;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        if (!is_valid(&log_entries[i])) {
            log_entries[i].number = 0;
        } else if (!last || log_entries[i].number - last->number < 0x80000000u) {
            last = &log_entries[i];
        }
    }
    newest = last ? last->number : 0;
    start = last ? ((last->tags >> 16) + 1) & 0xFFFFu : 1;
    cause = HEALTH_UNKNOWN;
#ifdef PORT_HAS_RESET_CAUSE
    cause = port_reset_cause(&hardware);
#endif
    /* Use the reason that the firmware stored before it restarted, unless the hardware reports a more exact one. */
    if ((port_reason & ~0xFFu) == PORT_REASON_MAGIC &&
        (cause == HEALTH_UNKNOWN || cause == HEALTH_SOFTWARE)) {
        cause = port_reason & 0xFFu;
    } else if (cause == HEALTH_UNKNOWN) {
        cause = last ? HEALTH_OTHER : HEALTH_POWER_ON;
    }
    port_reason = 0; /* otherwise the next reset would report the same reason */
    if (last && ((last->tags & 0xFFu) == LOG_FAULT || (last->tags & 0xFFu) == LOG_WATCHDOG)) {
        fault_code = last->tags >> 8 & 0xFFu;
        fault_pc = last->first;
        fault_address = last->second;
    }
    add_entry(LOG_START, 0, cause, hardware);
    latest_ticks = port_ticks();
#ifdef PORT_WATCHDOG_MS
    port_watchdog_start();
#endif
}

/* Returns the number of entries that the host can read. */
static uint32_t readable_entries(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        count += log_entries[i].number > cleared && is_valid(&log_entries[i]);
    }
    return count;
}

uint32_t health_report(uint32_t *words)
{
    const uint32_t used = ar_stack_used(), bytes = ar_stack_bytes();
    const uint32_t report[] = {
        uptime_ms,
        inferences,
        cause,
        hardware,
        ARCHITECTURE,
        fault_code,
        fault_pc,
        fault_address,
        ar_guards_damaged(),
        bytes > used ? bytes - used : 0,
        start,
        bad_frames,
#ifdef PORT_WATCHDOG_MS
        PORT_WATCHDOG_MS,
#else
        0,
#endif
        readable_entries(),
    };
    for (uint32_t i = 0; i < sizeof report / 4; i++) {
        words[i] = report[i];
    }
    return sizeof report;
}

/* Copies at most words[1] entries (and at most 12) to `words`, beginning with entry number words[0], the oldest first.
 * If `clear` is not 0, it deletes all entries up to number words[0] instead. Returns the number of copied bytes. */
uint32_t health_log(uint32_t *words, uint32_t clear)
{
    /* Entries that do not exist yet cannot be deleted. */
    const uint32_t from = clear && words[0] > newest ? newest : words[0];
    const uint32_t max_entries = words[1] < 12u ? words[1] : 12u;
    uint32_t at = 0;
    for (uint32_t k = ENTRIES; k-- > 0;) {
        entry *e = slot_of(newest - k);
        if (newest <= k || e->number != newest - k || !is_valid(e)) {
            continue;
        }
        if (clear) {
            /* The newest entry is not deleted, because the next start needs its number; it is only no longer
             * reported. */
            if (e->number <= from && e->number != newest) {
                e->number = 0;
            }
            cleared = from > cleared ? from : cleared;
        } else if (e->number >= from && e->number > cleared && at < 5 * max_entries) {
            const uint32_t *word = &e->number;
            for (uint32_t i = 0; i < 5; i++) {
                words[at++] = word[i];
            }
        }
    }
    return 4 * at;
}
#endif
