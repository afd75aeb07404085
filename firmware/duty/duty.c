/* A device that sleeps between events and infers for each: the events come over serial, by their times on the device's
 * own counter. It keeps a queue, drops what finds no place, and tells what happened to each event.
 *
 * In place of the agent's serve loop. The host says DUTY_HELLO until it is answered alike; then it sends, little-endian:
 * the word DUTY_START, the number of events, waiting places (DUTY_ENDLESS: no limit), ticks to wake and ticks to stay
 * awake after an event; then for each event two words: ticks since the event before, and how many inferences it asks
 * for. Back come DUTY_DONE, ticks spent asleep, waking, serving and lingering (low and high words), how often it woke;
 * then for each event ticks waited (DUTY_DROPPED: no place) and served.
 *
 * Asleep it polls the counter, in place of an interrupt by a timer or a pin. An arrival while it is busy is admitted
 * when the event in service ends, by its own time: nothing leaves the queue meanwhile, so its length is what an
 * interrupt had met.
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
    uint32_t first;  /* ticks since the event before; then ticks waited */
    uint32_t second; /* inferences; then ticks served */
} duty_event;

static duty_event events[DUTY_EVENTS];
static uint64_t due[DUTY_EVENTS];     /* when each comes, from the start */
static uint16_t waiting[DUTY_EVENTS]; /* in their order; the rest of the places are free */
static uint32_t count, places, head, tail, next;
static uint64_t spent[STATES], since; /* ticks in each state; when the present one, `doing`, began */
static uint32_t doing;

static uint64_t clock; /* ticks since the start, in 64 bits */
static uint32_t counter;

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

/* Bytes before the port was ready are lost: the host says hello until it is answered, and then starts. */
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

/* Events until `moment` take a place each, or are dropped. `extra`: places beside those of the queue, while it wakes
 * for the first of them. */
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

/* From here on the device's time goes to `state`; returns the moment. */
static uint64_t enter(uint32_t state)
{
    const uint64_t moment = now();
    spent[doing] += moment - since;
    since = moment;
    doing = state;
    return moment;
}

/* Serve an event from the moment `began` on; returns when the next one can begin. */
static uint64_t serve(uint32_t which, uint64_t began)
{
    ar_run run;
    events[which].first = (uint32_t)(began - due[which]);
    for (uint32_t left = events[which].second; left; left--) {
        ar_infer(1, &run);
    }
    admit(now(), 0);
    const uint64_t ended = now();
    events[which].second = (uint32_t)(ended - began);
    return ended;
}

/* Awake as long as events wait; then `linger` ticks more, in which the next finds it awake. */
static void work(uint32_t linger)
{
    do {
        uint64_t began = enter(SERVING);
        while (head != tail) {
            began = serve(waiting[head++], began);
        }
        (void)enter(LINGERING);
        while (next < count && due[next] > now() && clock - since < linger) {
        }
        /* The device itself is free: an event that comes while it lingers takes no place of the queue. */
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
        doing = ASLEEP;
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
