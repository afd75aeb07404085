/* A firmware for the emulated micro:bit that saves one record after the other. TIMER0 stops it after `cut_after` ticks,
 * of about one instruction each; the host then takes the power away. */
#include "flash_nrf.h"
#include "state_store.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIMER(offset) REGISTER(0x40008000u + (offset))
enum { RECORD_BYTES = 200, PAGES = 3, STATE_AT = 0x3F400 };

/* The host writes `cut_after` and reads the rest. */
volatile uint32_t cut_after __attribute__((section(".noinit")));
volatile uint32_t
    progress[3]; /* result of ar_store_start, number of the last record that was begun, and that was saved */
uint8_t copy[RECORD_BYTES];
static uint8_t record[RECORD_BYTES];
extern uint32_t stack_top[], bss_start[], bss_end[];

void reset(void);
void cut(void);
void started(void);

/* Every byte of a record depends on its number. The first four bytes are the number. */
static void fill(uint32_t number)
{
    for (uint32_t i = 0; i < RECORD_BYTES; i++) {
        record[i] = (uint8_t)(i < 4 ? number >> 8 * i : (number * 2654435761u + i * 40503u) >> 13);
    }
}

__attribute__((noinline)) void started(void) { __asm__ volatile("nop"); }

void cut(void)
{
    for (;;) {
    }
}

void reset(void)
{
    TIMER(0x508) = 3; /* BITMODE: 32 bits */
    TIMER(0x510) = 0; /* PRESCALER: 16 MHz */
    TIMER(0x540) = cut_after;
    TIMER(0x304) = 1u << 16; /* INTENSET: COMPARE[0] */
    TIMER(0x000) = 1;        /* START */
    REGISTER(0xE000E100u) = 1u << 8;
    for (uint32_t *word = bss_start; word < bss_end; word++) {
        *word = 0;
    }
    ar_flash flash;
    ar_store store;
    ar_flash_nrf(&flash, STATE_AT, AR_NRF51_PAGE, PAGES);
    progress[0] = (uint32_t)ar_store_start(&store, &flash, RECORD_BYTES, 1, copy);
    uint32_t number = 0;
    for (uint32_t i = 0; i < 4 && progress[0] == AR_STORE_LOADED; i++) {
        number |= (uint32_t)copy[i] << 8 * i;
    }
    progress[1] = progress[2] = number;
    started();
    for (;;) {
        fill(++number);
        progress[1] = number;
        ar_store_save(&store, record);
        record[number % RECORD_BYTES] ^= 0xFF; /* the caller goes on learning */
        int result;
        do {
            result = ar_store_step(&store);
        } while (result == AR_STORE_BUSY);
        if (result == AR_STORE_SAVED) {
            progress[2] = number;
        }
    }
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[24])(void);
} vectors = {stack_top, {[0] = reset, [1] = cut, [2] = cut, [23] = cut}};
