/* Emulates a device that sleeps between events and runs inferences for each event. The host sends the times of the
 * events in ticks of the device's counter. The device has a queue, drops events that find it full, and reports what
 * happened to each event.
 *
 * This replaces the agent's serve loop. The host sends DUTY_HELLO until the device answers with the same word. Then it
 * sends, little-endian: the word DUTY_START, the number of events, the number of waiting places (DUTY_ENDLESS: no
 * limit), the ticks to wake up and the ticks to stay awake after an event; then two words for each event: ticks since
 * the previous event, and the number of inferences. The device answers with DUTY_DONE, the ticks spent asleep, waking,
 * serving and lingering (low and high words), and the number of times it woke up; then for each event the ticks waited
 * (DUTY_DROPPED: the queue was full) and the ticks served.
 *
 * While asleep the device polls the counter, instead of waiting for an interrupt by a timer or a pin. An event that
 * arrives while the device is busy enters the queue when the current service ends, with its own time of arrival.
 * Nothing leaves the queue meanwhile, so an interrupt would have found the same queue length.
 */
#include "agent.h"
#include "port.h"

void ar_duty(void) __attribute__((noreturn));

#define DUTY_START 0x59545544u /* "DUTY" */
#define DUTY_HELLO 0x4F4C4548u /* "HELO" */
#define DUTY_DONE 0x454E4F44u  /* "DONE" */
#define DUTY_ENDLESS 0xFFFFFFFFu
#define DUTY_DROPPED 0xFFFFFFFFu
#ifndef DUTY_EVENTS
#define DUTY_EVENTS 8192u
#endif

enum { ASLEEP = 0, WAKING, SERVING, LINGERING, STATES };

typedef struct {
    uint32_t first;  /* ticks since the previous event; later the ticks that the event waited */
    uint32_t second; /* number of inferences; later the ticks that the device served the event */
} duty_event;

static duty_event events[DUTY_EVENTS];
static uint64_t due[DUTY_EVENTS];     /* arrival of each event, in ticks since the start */
static uint16_t waiting[DUTY_EVENTS]; /* queue of event numbers, from `head` to `tail` */
/* `count`: number of events. `places`: waiting places in the queue. `next`: the first event that has not arrived. */
static uint32_t count, places, head, tail, next;
static uint64_t spent[STATES], since; /* ticks in each state; start of the current state */
static uint32_t current_state;

static uint64_t clock;   /* ticks since the start, in 64 bits */
static uint32_t counter; /* latest value of the 32-bit counter */

/* Returns the ticks since the start. */
static uint64_t now(void)
{
    const uint32_t ticks = port_ticks();
    clock += ticks - counter;
    counter = ticks;
    return clock;
}

static uint32_t get_word(void)
{
    uint32_t word = 0;
    for (uint32_t shift = 0; shift < 32; shift += 8) {
        word |= (uint32_t)port_getc() << shift;
    }
    return word;
}

static void put_word(uint32_t word)
{
    for (uint32_t shift = 0; shift < 32; shift += 8) {
        port_putc((uint8_t)(word >> shift));
    }
}

/* Waits for DUTY_START. Bytes sent before the port is ready are lost, so the host repeats DUTY_HELLO until the device
 * answers it. */
static void await_start(void)
{
    uint32_t word = 0;
    while (word != DUTY_START) {
        word = word >> 8 | (uint32_t)port_getc() << 24;
        if (word == DUTY_HELLO) {
            put_word(DUTY_HELLO);
        }
    }
}

/* Puts the events that arrived until `moment` into the queue, or drops them. `extra` is 1 if the first event takes no
 * waiting place, because the device is free for it, and otherwise 0. */
static void admit(uint64_t moment, uint32_t extra)
{
    for (; next < count && due[next] <= moment; next++) {
        if (places == DUTY_ENDLESS || tail - head < places + extra) {
            waiting[tail++] = (uint16_t)next;
        } else {
            events[next].first = DUTY_DROPPED;
            events[next].second = 0;
        }
    }
}

/* Changes to `state` and returns the time of the change. */
static uint64_t enter(uint32_t state)
{
    const uint64_t moment = now();
    spent[current_state] += moment - since;
    since = moment;
    current_state = state;
    return moment;
}

/* Serves an event from time `start` on. Returns the time at which the next service can start. */
static uint64_t serve(uint32_t event, uint64_t start)
{
    ar_run run;
    events[event].first = (uint32_t)(start - due[event]);
    for (uint32_t left = events[event].second; left; left--) {
        ar_infer(1, &run);
    }
    admit(now(), 0);
    const uint64_t end = now();
    events[event].second = (uint32_t)(end - start);
    return end;
}

/* Serves events as long as any event is waiting. Then stays awake for `linger` more ticks, to serve an event that
 * arrives in this time. */
static void work(uint32_t linger)
{
    do {
        uint64_t start = enter(SERVING);
        while (head != tail) {
            start = serve(waiting[head++], start);
        }
        (void)enter(LINGERING);
        while (next < count && due[next] > now() && clock - since < linger) {
        }
        /* The device is free while it lingers, so an event that arrives then takes no waiting place. */
        const uint64_t until = clock - since < linger ? clock : since + linger;
        if (next < count && due[next] <= until) {
            admit(due[next], 1);
        }
    } while (head != tail);
}

void ar_duty(void)
{
    for (;;) {
        await_start();
        count = get_word();
        places = get_word();
        const uint32_t wake = get_word(), linger = get_word();
        uint64_t at = 0;
        count = count < DUTY_EVENTS ? count : DUTY_EVENTS;
        for (uint32_t i = 0; i < count; i++) {
            events[i].first = get_word();
            events[i].second = get_word();
            at += events[i].first;
            due[i] = at;
        }
        uint32_t wakes = 0;
        for (uint32_t state = 0; state < STATES; state++) {
            spent[state] = 0;
        }
        head = tail = next = 0;
        clock = since = 0;
        current_state = ASLEEP;
        counter = port_ticks();
        while (next < count) {
            while (due[next] > now()) {
            }
            wakes++;
            const uint64_t woke = enter(WAKING);
            while (now() - woke < wake) {
            }
            admit(clock, 1);
            work(linger);
            (void)enter(ASLEEP);
        }
        put_word(DUTY_DONE);
        for (uint32_t state = 0; state < STATES; state++) {
            put_word((uint32_t)spent[state]);
            put_word((uint32_t)(spent[state] >> 32));
        }
        put_word(wakes);
        for (uint32_t i = 0; i < count; i++) {
            put_word(events[i].first);
            put_word(events[i].second);
        }
    }
}
