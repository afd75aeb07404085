/* Saves records with the driver of a flash memory on a model of its controller, with power cuts in every operation. */
#include "arenite/state_store.h"
#include "controller.h"
#include "learning.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD = 60, SAVES = 6, SESSION = 2 };

uint8_t _sidata[16], _sdata[1], _edata[1]; /* a program that ends at a low address */

void fail(const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("FAILED: %s (cut %lld)\n", text, (long long)model.cut_at);
    fflush(stdout);
    _exit(1);
}

static ar_flash flash;
static ar_store store;
static uint8_t copy[RECORD];
static int (*driver_read)(void *, uint32_t, void *, uint32_t);

static int checked_read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    if (HAS_CACHE && model.is_stale) {
        fail("the cache of the processor has old data");
    }
#ifndef MODEL_H7
    const int is_bad = driver_read(context, at, data, bytes);
    if (model.nmi_is_pending) {
        fail("an NMI comes after the driver has read its result");
    }
    if (driver_read(context, at, data, bytes) != is_bad) {
        fail("a second read has another result");
    }
    return is_bad;
#else
    /* The driver accesses registers for each word that it reads. What it cleared is cleared afterwards. */
    open_registers();
    const int is_bad = driver_read(context, at, data, bytes);
    STATUS &= ~CLEAR;
    CLEAR = 0;
    close_registers();
    return is_bad;
#endif
}

static void record(uint32_t number, uint8_t *to)
{
    for (uint32_t k = 0; k < RECORD; k++) {
        to[k] = (uint8_t)(k < 4 ? number >> 8 * k : (number * 2654435761u + k * 40503u) >> 13);
    }
}

/* Starts the store. Returns the number of the record that it finds, or 0. */
static uint32_t start(void)
{
    controller_restart();
    if (!learning_flash(&flash)) {
        fail("the program does not fit");
    }
    driver_read = flash.read;
    flash.read = checked_read;
    const int result = ar_store_start(&store, &flash, RECORD, 7, copy);
    if (result == AR_STORE_UNSUITABLE) {
        fail("the memory is unsuitable");
    }
    if (result == AR_STORE_EMPTY) {
        return 0;
    }
    uint8_t wanted[RECORD];
    const uint32_t number = copy[0] | (uint32_t)copy[1] << 8 | (uint32_t)copy[2] << 16;
    record(number, wanted);
    if (memcmp(copy, wanted, RECORD) != 0) {
        fail("record %u is not whole", number);
    }
    return number;
}

static void save(uint32_t number)
{
    uint8_t wanted[RECORD];
    int result;
    record(number, wanted);
    ar_store_save(&store, wanted);
    do {
        result = ar_store_step(&store);
    } while (result == AR_STORE_BUSY);
    if (result != AR_STORE_SAVED) {
        fail("record %u was not saved", number);
    }
}

static volatile uint32_t begun, saved;

/* Saves records, with a start after each SESSION of them. */
static void use(void)
{
    begun = saved = 0;
    for (uint32_t number = 1; number <= SAVES; number++) {
        if (number % SESSION == 1 && start() != saved) {
            fail("record %u was lost without a cut", saved);
        }
        begun = number;
        save(number);
        saved = number;
    }
}

int main(int count, char **arguments)
{
    const uint32_t stride = count > 1 ? (uint32_t)atoi(arguments[1]) : 1, seeds = 2;
    static uint32_t new_ones, old_ones, empty_ones, damaged_ones;
    open_memory();
    clear_memory();
    model.cut_at = -1;
    use();
    const uint32_t total = model.operations;
    for (uint32_t k = 0; k < APP_FLASH_PAGES; k++) {
        if (!model.erasures[k]) {
            fail("page %u was not used", k);
        }
    }
    static volatile uint32_t cut, seed;
    for (cut = 0; cut < total; cut += stride) {
        for (seed = 0; seed < seeds; seed++) {
            clear_memory();
            model.random_state = cut * 1000u + seed;
            model.operations = 0;
            model.cut_at = (int64_t)cut;
            if (!sigsetjmp(model.power_is_off, 1)) {
                use();
                fail("no cut");
            }
            model.cut_at = -1;
            for (uint32_t k = 0; k < sizeof model.is_damaged; k++) {
                damaged_ones += model.is_damaged[k];
            }
            const uint32_t found = start();
            if (found != saved && found != begun) {
                fail("cut %u: record %u, expected %u or %u", cut, found, saved, begun);
            }
            *(found == 0 ? &empty_ones : found == begun ? &new_ones : &old_ones) += 1;
            save(101);
            save(102);
            if (start() != 102) {
                fail("cut %u: record 102 is not found", cut);
            }
        }
    }
    printf("%u cuts: %u found the record that was being saved, %u the one before, %u none; %u units were "
           "damaged\n",
           new_ones + old_ones + empty_ones, new_ones, old_ones, empty_ones, damaged_ones);
    return 0;
}
