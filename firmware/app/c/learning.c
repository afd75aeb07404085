/* What the device learned is one record in flash: the state of the anomaly head, and the names of the classes. */
#include "arenite/state_store.h"
#include "console.h"
#include "learning.h"
#include "learning_state.h"

typedef struct {
    APP_HEAD(state) head;
    char names[APP_TAUGHT + 1][LEARNING_NAME_BYTES];
} learned_record;

/* Which event is active, and for how many windows in a row another state was seen. -1 is no event. */
typedef struct {
    int32_t active, seen;
    uint32_t windows;
} event_state;

learning_state learning = {.to_teach = -1, .threshold = UINT32_MAX};
static event_state alarm = {-1, -1, 0};
#if APP_TAUGHT
static event_state taught = {-1, -1, 0};
#endif
static learned_record copy; /* belongs to the store */
static ar_flash flash;
static ar_store store;

const char *learning_name(uint32_t index) { return learning.names[index]; }

void learning_print_score(uint32_t is_class)
{
    if (is_class) {
        console_text("distance ");
        learning_ratio(learning.distance);
        return;
    }
    learning_ratio(learning.score);
    console_text(", normal up to ");
    learning_ratio(learning.threshold);
}

uint32_t learning_percent(uint32_t index)
{
#if APP_TAUGHT
    if (index > 0) {
        return taught.seen == (int32_t)index - 1 ? 100 : 0;
    }
#endif
    (void)index;
    return (uint32_t)console_divide((uint64_t)learning.score * 100u, learning.threshold);
}

static void copy_bytes(void *to, const void *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    }
}

void learning_start(void)
{
    int found = AR_STORE_EMPTY;
    learning.has_flash = learning_flash(&flash);
    if (learning.has_flash) {
        found = ar_store_start(&store, &flash, sizeof(copy), APP_LEARNING_TAG, &copy);
    }
    if (found == AR_STORE_UNSUITABLE) {
        learning.has_flash = 0;
        console_note("The flash memory is too small for the state, so it will not be kept.");
    }
    const uint32_t is_loaded = found == AR_STORE_LOADED;
    if (is_loaded) {
        copy_bytes(&APP_HEAD_STATE, &copy.head, sizeof(copy.head));
        copy_bytes(learning.names, copy.names, sizeof(copy.names));
    }
    console_begin();
    console_text(is_loaded ? "Continues with the state in flash; windows learned: "
                           : "Learns what is normal; windows until the first alarm: ");
    console_number(is_loaded ? APP_HEAD_STATE.head.count : APP_WARMUP);
    console_end();
}

static uint32_t end_event(const event_state *s, uint32_t first, uint64_t at, ar_event *events)
{
    if (s->active < 0) {
        return 0;
    }
    const ar_event event = {.at = at, .index = (uint16_t)(first + (uint32_t)s->active), .kind = AR_EVENT_END};
    events[0] = event;
    return 1;
}

uint32_t learning_end_events(uint64_t at, ar_event *events)
{
    uint32_t count = end_event(&alarm, APP_ANOMALY, at, events);
#if APP_TAUGHT
    count += end_event(&taught, APP_ANOMALY + 1, at, events + count);
#endif
    return count;
}

void learning_restart(void)
{
    alarm.active = alarm.seen = -1;
#if APP_TAUGHT
    taught.active = taught.seen = -1;
#endif
}

/* Takes the state of a window: -1, or the number of an event from `first` on. After APP_MINIMUM windows in a row with
 * another state than the active one, its event ends and the new one starts. */
static uint32_t follow(event_state *s, int32_t now, uint32_t first, uint64_t at, ar_event *events)
{
    uint32_t count = 0;
    s->windows = now == s->seen ? s->windows + 1 : 1;
    s->seen = now;
    if (now == s->active || s->windows < APP_MINIMUM) {
        return 0;
    }
    count = end_event(s, first, at, events);
    if (now >= 0) {
        const ar_event event = {.at = at, .index = (uint16_t)(first + (uint32_t)now), .kind = AR_EVENT_START};
        events[count++] = event;
    }
    s->active = now;
    return count;
}

#if APP_TAUGHT
static void teach(uint64_t at)
{
    const uint32_t index = (uint32_t)learning.to_teach;
    learning.to_teach = -1;
    learning.wants_save = 1;
    const uint32_t examples = APP_HEAD(teach)(index);
    learning_begin(at);
    console_text("examples of ");
    learning_class(index);
    console_text(": ");
    console_number(examples);
    learning_end(at);
}
#endif

uint32_t learning_window(const int8_t *input, uint64_t at, ar_event *events)
{
    const uint32_t before = APP_HEAD_STATE.head.count;
    (void)input;
    learning.at = at;
    learning.threshold = APP_HEAD(threshold)();
    learning.score = APP_HEAD_UPDATE(input);
    uint32_t count = follow(&alarm, APP_HEAD(alarm)() ? 0 : -1, APP_ANOMALY, at, events);
#if APP_TAUGHT
    if (learning.to_teach >= 0) {
        teach(at);
    }
    const int32_t nearest = APP_HEAD(classify)(&learning.distance);
    count += follow(&taught, nearest, APP_ANOMALY + 1, at, events + count);
#endif
    learning.save_windows++;
    learning.wants_save |= learning.save_windows >= APP_SAVE_WINDOWS ||
                           (before < APP_WARMUP && APP_HEAD_STATE.head.count == APP_WARMUP);
    return count;
}

void learning_serve(void)
{
    if (!learning.has_flash) {
        return;
    }
    const int step = ar_store_step(&store);
    if (step == AR_STORE_SAVED) {
        learning.saves++;
        if (learning.tells_save && !learning.wants_save) {
            learning.tells_save = 0;
            console_note("The state was saved.");
        }
    } else if (step == AR_STORE_FAILED) {
        console_note("The state could not be saved.");
    } else if (step == AR_STORE_IDLE && learning.wants_save) {
        copy_bytes(&copy.head, &APP_HEAD_STATE, sizeof(copy.head));
        copy_bytes(copy.names, learning.names, sizeof(copy.names));
        (void)ar_store_save(&store, 0);
        learning.wants_save = learning.save_windows = 0;
    }
}
