#include "cascade.h"
#include "app.h"
#include "app_settings.h"
#include "console.h"

static ar_gate hold = {&app_hold_plan, 0, 0};
static uint32_t has_run;           /* whether the large model ran in the last window */
static uint32_t is_awake;          /* whether it ran in its own last window */
static uint32_t large_runs, slept; /* windows of the large model */

#if CASCADE_IS_SHARED
/* The features of both models are equal: those of the small one are copied for the large one. */
static uint32_t turn; /* windows of the small model until one is a window of the large model too */

static uint32_t large_is_ready(void)
{
    const uint32_t is_due = turn == 0;
    turn = (is_due ? app_large_every : turn) - 1u;
    return is_due;
}

static void fill_large(void) { CASCADE_SMALL(copy_window)(CASCADE_LARGE(model_input_0)()); }

static void restart_large(uint64_t position)
{
    (void)position;
    turn = 0;
}

uint32_t cascade_feed(const int16_t *samples, uint32_t count) { return CASCADE_SMALL(feed)(samples, count); }
#else
/* The large model takes its samples also while it sleeps, so its window is complete when it wakes. At the end of a
 * window it waits for the small model, because both may use one arena. */
static uint32_t skip;        /* samples before the first window of the large model */
static const int16_t *unfed; /* samples that the large model did not take yet */
static uint32_t unfed_count;

static uint32_t large_is_ready(void)
{
    const uint32_t skipped = skip < unfed_count ? skip : unfed_count;
    skip -= skipped;
    if (unfed_count == skipped) {
        return 0;
    }
    CASCADE_LARGE(feed)(unfed + skipped * SENSOR_CHANNELS, unfed_count - skipped);
    return (uint32_t)CASCADE_LARGE(is_ready)();
}

static void fill_large(void) {}

static void restart_large(uint64_t position)
{
    skip = app_large_skip;
    CASCADE_LARGE(restart)(position + skip);
}

uint32_t cascade_feed(const int16_t *samples, uint32_t count)
{
    unfed = samples;
    unfed_count = CASCADE_SMALL(feed)(samples, count);
    if (!CASCADE_SMALL(is_ready)()) {
        large_is_ready(); /* it is not: its windows end with windows of the small model */
    }
    return unfed_count;
}
#endif

uint32_t cascade_window(uint32_t is_open, ar_event *events)
{
    const uint64_t at = CASCADE_SMALL(position)() - 1;
    if (is_open) {
        CASCADE_SMALL(model_invoke)();
        CASCADE_SMALL(decide)(at, events);
    } else {
        CASCADE_SMALL(decide_closed)(at, events);
    }
    const uint32_t wakes = ar_gate_hold(&hold, CASCADE_SMALL(decide_is_active)());
    has_run = 0;
    if (!large_is_ready()) {
        return 0;
    }
    if (!wakes) {
        is_awake = 0;
        slept++;
        return CASCADE_LARGE(decide_closed)(at, events);
    }
    fill_large();
    if (!is_awake) {
        CASCADE_WAKE(); /* what a model with state remembers is older than its sleep */
    }
    is_awake = 1;
    has_run = 1;
    large_runs++;
    CASCADE_LARGE(model_invoke)();
    return CASCADE_LARGE(decide)(at, events);
}

uint32_t cascade_has_scores(void) { return has_run; }

void cascade_restart(uint64_t position)
{
    CASCADE_SMALL(restart)(position);
    CASCADE_SMALL(decide_reset)();
    CASCADE_RESET_SMALL();
    restart_large(position);
    CASCADE_LARGE(decide_reset)();
    hold.left = 0;
    is_awake = 0;
}

static void print_runs(uint32_t model, uint32_t runs, uint32_t sleeps)
{
    console_text(", ");
    console_text(app_model_names[model]);
    console_text(" ran ");
    console_number(runs);
    console_text(" times and slept ");
    console_number(sleeps);
}

void cascade_print_runs(void)
{
    print_runs(0, app_state.windows - app_state.gated, app_state.gated);
    print_runs(1, large_runs, slept);
}
