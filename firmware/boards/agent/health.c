/* Health of the device; see health.h.
 *
 * The log is in memory that start-up does not clear. Each entry has a checksum of its own, so that an entry that a reset
 * interrupted, and the random contents of memory after power-on, are not taken for entries. The newest entry is known by
 * its number, so there is no header that a reset could damage.
 */
#include "health.h"

#ifdef AR_HEALTH
#include "memory_watch.h"
#include "port.h"

#define ENTRIES 16u

typedef struct {
    uint32_t number; /* counts up; 0: no entry */
    uint32_t ms;     /* since the start */
    uint32_t
        what; /* code in the low byte; above it the core's own code for a fault, cut to 8 bits; start in the upper half */
    uint32_t first, second;
    uint32_t check;
} entry;

AR_NOINIT static entry kept[ENTRIES];

#if defined(__riscv)
#define ARCHITECTURE 2u
#elif defined(__XTENSA__)
#define ARCHITECTURE 3u
#elif defined(__arm__)
#define ARCHITECTURE 1u
#else
#define ARCHITECTURE 0u
#endif

/* The newest number, the number of this start, its reason, the hardware's code, and the fault or watchdog before it. */
static uint32_t newest, start, cause, hardware, fault_pc, fault_address, fault_what;
static uint32_t uptime_ms, rest_ticks, latest_ticks;
static uint32_t inferences, guards_seen, stack_told, bad_frames, cleared;

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

static uint32_t whole(const entry *e) { return e->number && e->check == check_of(e); }

static entry *place(uint32_t number) { return &kept[number % ENTRIES]; }

static void put(uint32_t number, uint32_t code, uint32_t what, uint32_t first, uint32_t second)
{
    entry *e = place(number);
    *(volatile uint32_t *)&e->number = 0; /* not valid from here on, until the checksum is there */
    e->ms = uptime_ms;
    e->what = code | (what & 0xFFu) << 8 | start << 16;
    e->first = first;
    e->second = second;
    *(volatile uint32_t *)&e->number = number;
    e->check = check_of(e);
}

static void add(uint32_t code, uint32_t what, uint32_t first, uint32_t second)
{
    put(++newest, code, what, first, second);
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
    const entry *e = place(newest);
    bad_frames += code == LOG_BAD_FRAME;
    if (newest && whole(e) && e->number == newest && e->what == (code | start << 16)) {
        put(newest, code, 0, e->first + 1, 0);
    } else {
        add(code, 0, 1, 0);
    }
}

void health_trapped(uint32_t code, uint32_t pc, uint32_t address, uint32_t what)
{
    add(code, what, pc, address);
}

void health_inference(void)
{
    const uint32_t damaged = ar_guards_damaged();
    inferences++;
    if (damaged != guards_seen) {
        guards_seen = damaged;
        add(LOG_GUARD, 0, damaged, inferences);
    }
    if (!stack_told && ar_stack_used() >= ar_stack_bytes()) {
        stack_told = 1;
        add(LOG_STACK, 0, ar_stack_used(), inferences);
    }
    health_alive();
}

uint32_t health_cause(void) { return cause; }

void health_start(void)
{
    const entry *last = 0;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        if (!whole(&kept[i])) {
            kept[i].number = 0;
        } else if (!last || kept[i].number - last->number < 0x80000000u) {
            last = &kept[i];
        }
    }
    newest = last ? last->number : 0;
    start = last ? ((last->what >> 16) + 1) & 0xFFFFu : 1;
    cause = HEALTH_UNKNOWN;
#ifdef PORT_HAS_RESET_CAUSE
    cause = port_reset_cause(&hardware);
#endif
    /* The reason that the firmware wrote before it restarted counts where the hardware has no better one. */
    if ((port_reason & ~0xFFu) == PORT_REASON_MAGIC &&
        (cause == HEALTH_UNKNOWN || cause == HEALTH_SOFTWARE)) {
        cause = port_reason & 0xFFu;
    } else if (cause == HEALTH_UNKNOWN) {
        cause = last ? HEALTH_OTHER : HEALTH_POWER_ON;
    }
    port_reason = 0; /* else the next reset would be taken for this one */
    if (last && ((last->what & 0xFFu) == LOG_FAULT || (last->what & 0xFFu) == LOG_WATCHDOG)) {
        fault_what = last->what >> 8 & 0xFFu;
        fault_pc = last->first;
        fault_address = last->second;
    }
    add(LOG_START, 0, cause, hardware);
    latest_ticks = port_ticks();
#ifdef PORT_WATCHDOG_MS
    port_watchdog_start();
#endif
}

/* Returns the number of entries that the host can read. */
static uint32_t entries(void)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        found += kept[i].number > cleared && whole(&kept[i]);
    }
    return found;
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
        fault_what,
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
        entries(),
    };
    for (uint32_t i = 0; i < sizeof report / 4; i++) {
        words[i] = report[i];
    }
    return sizeof report;
}

/* Copies entries from number words[0] on, the oldest first, at most words[1] of them; `clear` deletes all up to words[0]. */
uint32_t health_log(uint32_t *words, uint32_t clear)
{
    /* Entries that do not exist yet cannot be deleted. */
    const uint32_t from = clear && words[0] > newest ? newest : words[0];
    const uint32_t most = words[1] < 12u ? words[1] : 12u;
    uint32_t at = 0;
    for (uint32_t k = ENTRIES; k-- > 0;) {
        entry *e = place(newest - k);
        if (newest <= k || e->number != newest - k || !whole(e)) {
            continue;
        }
        if (clear) {
            /* The newest one stays as it is, or its number would be lost at the next start: it is only not reported. */
            if (e->number <= from && e->number != newest) {
                e->number = 0;
            }
            cleared = from > cleared ? from : cleared;
        } else if (e->number >= from && e->number > cleared && at < 5 * most) {
            const uint32_t *word = &e->number;
            for (uint32_t i = 0; i < 5; i++) {
                words[at++] = word[i];
            }
        }
    }
    return 4 * at;
}
#endif
