/* What the drivers of the flash memories of STM32 share: keys, words and instructions of the processor. */
#ifndef ARENITE_FLASH_STM32_CORE_H
#define ARENITE_FLASH_STM32_CORE_H

#include <stdint.h>

#if defined(AR_FLASH_MODEL)
/* A model of processor and controller has these functions, for tests on a computer. */
void stm32_barrier(void);
void stm32_mask_faults(uint32_t is_set);
void stm32_forget(uint32_t address);
extern uint32_t stm32_scb_ccr;
#define STM32_SCB_CCR stm32_scb_ccr
#elif defined(__arm__)
/* All accesses before this are complete, and an NMI that they asked for was taken. */
static inline void stm32_barrier(void) { __asm__ volatile("dsb\n\tisb" ::: "memory"); }
/* Lets no exception but NMI run. Only the cores of ARMv7-M and later have this register. */
static inline void stm32_mask_faults(uint32_t is_set)
{
#if __ARM_ARCH >= 7
    __asm__ volatile("msr faultmask, %0" ::"r"(is_set) : "memory");
#else
    (void)is_set;
#endif
}
#define STM32_SCB_CCR (*(volatile uint32_t *)0xE000ED14u)
/* Lets the data cache forget the line of an address: DCIMVAC. Without a cache, this does nothing. */
static inline void stm32_forget(uint32_t address) { *(volatile uint32_t *)0xE000EF5Cu = address; }
#else
/* The library is compiled for other processors too, where nothing calls these drivers. */
static inline void stm32_barrier(void) {}
static inline void stm32_mask_faults(uint32_t is_set) { (void)is_set; }
static volatile uint32_t stm32_no_register;
#define STM32_SCB_CCR stm32_no_register
static inline void stm32_forget(uint32_t address) { (void)address; }
#endif

#define STM32_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define STM32_FLASH_FIRST 0x08000000u
/* The keys that unlock the control register. */
#define STM32_FLASH_KEY_1 0x45670123u
#define STM32_FLASH_KEY_2 0xCDEF89ABu

/* Returns the address of the first page. */
static inline uint32_t stm32_first(const void *context) { return (uint32_t)(uintptr_t)context; }

/* Returns the word at offset `at`. */
static inline volatile uint32_t *stm32_word(const void *context, uint32_t at)
{
    return (volatile uint32_t *)((uintptr_t)context + at);
}

/* Writes the word of four bytes at `from`. */
static inline void stm32_write(volatile uint32_t *word, const uint8_t *from)
{
    *word = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* Copies `bytes` bytes from offset `at`. */
static inline void stm32_copy(const void *context, uint32_t at, uint8_t *to, uint32_t bytes)
{
    const volatile uint8_t *from = (const volatile uint8_t *)stm32_word(context, 0) + at;
    for (uint32_t k = 0; k < bytes; k++) {
        to[k] = from[k];
    }
}

/* Programs double words from offset `at`, with an unlocked controller. The bits `busy` of `status` are set meanwhile.
 * Returns which of the bits `problems` a double word has set; the ones behind it were not programmed. */
static inline uint32_t stm32_program_double_words(const void *context, uint32_t at, const uint8_t *from,
                                                  uint32_t bytes, const volatile uint32_t *status,
                                                  uint32_t busy, uint32_t problems)
{
    uint32_t found = 0;
    for (uint32_t k = 0; k < bytes && !found; k += 8) {
        stm32_write(stm32_word(context, at + k), from + k);
        stm32_barrier(); /* the two words stay two writes, in their order */
        stm32_write(stm32_word(context, at + k + 4), from + k + 4);
        while (*status & busy) {
        }
        found = *status & problems;
    }
    return found;
}

#endif
