/* The commands of an application that learns, and their answers. */
#include "console.h"
#include "learning.h"
#include "learning_state.h"

void learning_begin(uint64_t sample)
{
    console_begin();
    console_time(console_divide(sample * 1000u, APP_LEARNING_RATE));
}

void learning_end(uint64_t sample)
{
    console_text(" (sample ");
    console_number(sample);
    console_text(")");
    console_end();
}

void learning_note(const char *text)
{
    learning_begin(learning.at);
    console_text(text);
    learning_end(learning.at);
}

void learning_ratio(uint32_t value) { console_decimal((uint64_t)value * 1000u >> 16, 3); }

void learning_class(uint32_t index)
{
    if (learning.names[index][0]) {
        console_text(learning.names[index]);
    } else {
        console_text("class ");
        console_number(index);
    }
}

/* Returns what follows `word` in `text`, without the spaces before it; 0 if `text` does not begin with this word. */
static const char *after(const char *text, const char *word)
{
    while (*word) {
        if (*text++ != *word++) {
            return 0;
        }
    }
    if (*text && *text != ' ') {
        return 0;
    }
    while (*text == ' ') {
        text++;
    }
    return text;
}

static uint32_t is_command(const char *text, const char *word)
{
    const char *rest = after(text, word);
    return rest != 0 && *rest == 0;
}

#if APP_TAUGHT
static uint32_t is_used(uint32_t index) { return learning.names[index][0] || APP_HEAD_STATE.taught[index]; }

/* Returns the class with this name or number, or -1. */
static int32_t find(const char *text)
{
    uint32_t number = 0, digits = 0;
    for (uint32_t k = 0; k < APP_TAUGHT; k++) {
        if (learning.names[k][0] && console_is_equal(learning.names[k], text)) {
            return (int32_t)k;
        }
    }
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 3; digits++) {
        number = number * 10u + (uint32_t)(text[digits] - '0');
    }
    return digits && !text[digits] && number < APP_TAUGHT ? (int32_t)number : -1;
}

/* Returns whether `text` can be the name of a class: one word, and not a number. */
static uint32_t is_name(const char *text)
{
    uint32_t length = 0, has_letter = 0;
    for (; text[length]; length++) {
        if (text[length] <= ' ' || text[length] > '~') {
            return 0;
        }
        has_letter |= text[length] < '0' || text[length] > '9';
    }
    return has_letter && length < LEARNING_NAME_BYTES;
}

/* Gives the name to a class that is not used, and returns this class, or -1. */
static int32_t add_class(const char *name)
{
    for (uint32_t k = 0; k < APP_TAUGHT; k++) {
        if (!is_used(k)) {
            for (uint32_t i = 0; name[i]; i++) {
                learning.names[k][i] = name[i];
            }
            return (int32_t)k;
        }
    }
    return -1;
}

static uint32_t teach(const char *text)
{
    int32_t index = find(text);
    if (index < 0 && !is_name(text)) {
        console_note("Send: teach NAME, one word of up to 15 letters, or: teach NUMBER");
        return 1;
    }
    index = index < 0 ? add_class(text) : index;
    learning.to_teach = index;
    console_note(index < 0 ? "All classes are taken. Forget one: forget NAME"
                           : "The next window is the example.");
    return 1;
}

static uint32_t forget(const char *text)
{
    const int32_t index = find(text);
    uint32_t count = 0;
    for (uint32_t k = 0; k < APP_TAUGHT; k++) {
        if (is_used(k) && (!*text || (int32_t)k == index)) {
            learning_begin(learning.at);
            console_text("forgot ");
            learning_class(k);
            learning_end(learning.at);
            APP_HEAD(forget)(k);
            for (uint32_t i = 0; i < LEARNING_NAME_BYTES; i++) {
                learning.names[k][i] = 0;
            }
            learning.to_teach = learning.to_teach == (int32_t)k ? -1 : learning.to_teach;
            learning.wants_save = 1;
            count++;
        }
    }
    if (count == 0) {
        console_note("There is no such class. The command learned lists the classes.");
    }
    return 1;
}
#endif

static uint32_t print_learned(void)
{
    const uint32_t count = APP_HEAD_STATE.head.count;
    console_begin();
    console_number(count);
    console_text(count < APP_WARMUP ? " windows learned, warm-up: " : " windows learned, last score: ");
    if (count < APP_WARMUP) {
        console_number(APP_WARMUP);
    } else {
        learning_print_score(0);
    }
    console_text(APP_HEAD_STATE.head.frozen ? ", learning stopped, saves: " : ", saves: ");
    console_number(learning.saves);
    console_end();
#if APP_TAUGHT
    for (uint32_t k = 0; k < APP_TAUGHT; k++) {
        if (is_used(k)) {
            console_begin();
            console_text("examples of ");
            learning_class(k);
            console_text(": ");
            console_number(APP_HEAD_STATE.taught[k]);
            console_end();
        }
    }
#endif
    return 1;
}

static uint32_t freeze(uint32_t is_frozen)
{
    APP_HEAD(freeze)(is_frozen);
    learning.wants_save = 1;
    learning_note(is_frozen ? "learning stopped" : "learning continues");
    return 1;
}

static uint32_t reset(void)
{
    APP_HEAD(reset)();
    learning.wants_save = 1;
    learning_note("forgot what is normal");
    return 1;
}

static uint32_t save(void)
{
    learning.wants_save = learning.tells_save = learning.has_flash;
    if (!learning.has_flash) {
        console_note("There is no flash memory for the state.");
    }
    return 1;
}

uint32_t learning_command(const char *command)
{
#if APP_TAUGHT
    const char *to_teach = after(command, "teach"), *to_forget = after(command, "forget");
    if (to_teach) {
        return teach(to_teach);
    }
    if (to_forget) {
        return forget(to_forget);
    }
#endif
    return is_command(command, "freeze")    ? freeze(1)
           : is_command(command, "learn")   ? freeze(0)
           : is_command(command, "reset")   ? reset()
           : is_command(command, "learned") ? print_learned()
           : is_command(command, "save")    ? save()
                                            : 0;
}
