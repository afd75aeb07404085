/* Reset registers and watchdogs of the chips behind Arduino cores; part of port_arduino.cpp.
 *
 * This file was written from the chips' reference manuals. It was compiled and run with stubs of the registers, but
 * never on a chip.
 */
#ifndef ARENITE_PORT_ARDUINO_HEALTH_H
#define ARENITE_PORT_ARDUINO_HEALTH_H

extern "C" {
#include "reset_cause.h"
}

#if defined(ESP32)
#include <esp_system.h>

/* The watchdog of the loop task. Its time is fixed when the core is built. */
const uint32_t port_watchdog_ms = 5000;
void port_watchdog_start(void) { enableLoopWDT(); }
void port_watchdog_feed(void) { feedLoopWDT(); }

uint32_t port_reset_cause(uint32_t *word)
{
    const esp_reset_reason_t reason = esp_reset_reason();
    *word = (uint32_t)reason;
    return reason == ESP_RST_PANIC
               ? (uint32_t)HEALTH_FAULT
               : reset_cause(reason == ESP_RST_INT_WDT || reason == ESP_RST_TASK_WDT || reason == ESP_RST_WDT,
                             reason == ESP_RST_SW, reason == ESP_RST_POWERON, reason == ESP_RST_BROWNOUT,
                             reason == ESP_RST_EXT);
}
#elif defined(ARDUINO_ARCH_STM32)
#if defined(IWDG1) && !defined(IWDG)
#define IWDG IWDG1
#endif

/* The time of the independent watchdog is 8 s: its clock of 32 kHz (accurate to a third), divided by 256 and 1000. */
const uint32_t port_watchdog_ms = 8000;
void port_watchdog_start(void)
{
    IWDG->KR = 0xCCCC; /* start */
    IWDG->KR = 0x5555; /* allow writes to PR and RLR */
    IWDG->PR = 6;      /* divider 256 */
    IWDG->RLR = 1000;
    IWDG->KR = 0xAAAA;
}
void port_watchdog_feed(void) { IWDG->KR = 0xAAAA; }

/* The Arduino core does not define the flags that a chip family lacks. A flag that power-on and brown-out share
 * counts as power-on. */
uint32_t port_reset_cause(uint32_t *word)
{
    uint32_t watchdog = 0, power_on = 0, brown_out = 0;
#if defined(RCC_FLAG_IWDG1RST)
    watchdog = __HAL_RCC_GET_FLAG(RCC_FLAG_IWDG1RST) || __HAL_RCC_GET_FLAG(RCC_FLAG_WWDG1RST);
#else
    watchdog = __HAL_RCC_GET_FLAG(RCC_FLAG_IWDGRST) || __HAL_RCC_GET_FLAG(RCC_FLAG_WWDGRST);
#endif
#if defined(RCC_FLAG_PORRST)
    power_on = __HAL_RCC_GET_FLAG(RCC_FLAG_PORRST);
#if defined(RCC_FLAG_BORRST)
    brown_out = __HAL_RCC_GET_FLAG(RCC_FLAG_BORRST);
#endif
#elif defined(RCC_FLAG_PWRRST)
    power_on = __HAL_RCC_GET_FLAG(RCC_FLAG_PWRRST);
#elif defined(RCC_FLAG_BORRST)
    power_on = __HAL_RCC_GET_FLAG(RCC_FLAG_BORRST);
#endif
    const uint32_t cause = reset_cause(watchdog, __HAL_RCC_GET_FLAG(RCC_FLAG_SFTRST), power_on, brown_out,
                                       __HAL_RCC_GET_FLAG(RCC_FLAG_PINRST));
#if defined(RCC_RSR_RMVF)
    *word = RCC->RSR;
#else
    *word = RCC->CSR;
#endif
    __HAL_RCC_CLEAR_RESET_FLAGS();
#if defined(RCC_CSR_RMVF)
    RCC->CSR &= ~RCC_CSR_RMVF; /* while it is set, no flag can be set again */
#elif defined(RCC_RSR_RMVF)
    RCC->RSR &= ~RCC_RSR_RMVF;
#endif
    return cause;
}
#elif defined(NRF_POWER) && defined(NRF_WDT)
const uint32_t port_watchdog_ms = 8000;
void port_watchdog_start(void)
{
    NRF_WDT->CRV = 8 * 32768 - 1;
    NRF_WDT->RREN = 1;
    NRF_WDT->CONFIG = 1; /* runs during sleep, pauses while a debugger halts the core */
    NRF_WDT->TASKS_START = 1;
}
void port_watchdog_feed(void) { NRF_WDT->RR[0] = 0x6E524635; }

/* Flags of RESETREAS: 1 pin, 2 watchdog, 4 software, 8 lock-up. No flag means power-on or brown-out: the chip does not
 * report which one it was. */
uint32_t port_reset_cause(uint32_t *word)
{
    const uint32_t reasons = NRF_POWER->RESETREAS;
    *word = reasons;
    NRF_POWER->RESETREAS = reasons; /* writing ones clears the flags; otherwise they accumulate */
    return reasons & 8u ? (uint32_t)HEALTH_FAULT /* lock-up: a fault within a fault */
                        : reset_cause(reasons & 2u, reasons & 4u, reasons == 0, 0, reasons & 1u);
}
#elif defined(ARDUINO_ARCH_RP2040)
#include <hardware/watchdog.h>

/* The boot ROM uses the same watchdog to start a program that was copied to its drive, and a reset by software keeps
 * the flags of the reset before it. So the cause was this firmware's watchdog only if this word is in a register
 * that nothing else uses, and if no reset was requested since. */
#define WATCHDOG_OURS 0xA4E17E57u
const uint32_t port_watchdog_ms = 8000;
void port_watchdog_start(void)
{
    watchdog_hw->scratch[2] = WATCHDOG_OURS;
    watchdog_enable(8000, true);
}
void port_watchdog_feed(void) { watchdog_update(); }

/* Returns the cause. `power_on` and `pin` are flags of the latest reset by the supply or the pin. */
static uint32_t cause_of_flags(uint32_t power_on, uint32_t pin)
{
    const bool requested = (port_reason & ~0xFFu) == PORT_REASON_MAGIC;
    const bool by_watchdog = watchdog_hw->scratch[2] == WATCHDOG_OURS && (watchdog_hw->reason & 1u);
    watchdog_hw->scratch[2] = 0;
    return reset_cause(by_watchdog && !requested, requested || watchdog_hw->reason, power_on, 0, pin);
}

#if defined(PICO_RP2040) && PICO_RP2040
#include <hardware/structs/vreg_and_chip_reset.h>

/* Power-on and brown-out share one flag. */
uint32_t port_reset_cause(uint32_t *word)
{
    const uint32_t chip = vreg_and_chip_reset_hw->chip_reset;
    *word = chip | watchdog_hw->reason;
    return cause_of_flags(chip & 1u << 8, chip & 1u << 16);
}
#else
uint32_t port_reset_cause(uint32_t *word)
{
    *word = watchdog_hw->reason;
    return cause_of_flags(0, 0);
}
#endif
#else
/* With other Arduino cores there is no watchdog, because some of their functions run longer than its time and do not
 * feed it. */
const uint32_t port_watchdog_ms = 0;
void port_watchdog_start(void) {}
void port_watchdog_feed(void) {}

uint32_t port_reset_cause(uint32_t *word)
{
#if defined(ARDUINO_ARCH_SAMD)
    /* Flags: 1 power-on, 2 and 4 brown-out, 0x10 pin, 0x20 watchdog, 0x40 software. */
#if defined(__SAMD51__)
    const uint32_t flags = RSTC->RCAUSE.reg;
#else
    const uint32_t flags = PM->RCAUSE.reg;
#endif
    *word = flags;
    return reset_cause(flags & 0x20u, flags & 0x40u, flags & 1u, flags & 6u, flags & 0x10u);
#elif defined(__IMXRT1062__)
    /* Flags: 1 power-on, 2 software, 0x10 and 0x80 watchdogs, 8 pin, 0x20 and 0x40 JTAG. */
    const uint32_t flags = SRC_SRSR;
    *word = flags;
    SRC_SRSR = flags; /* writing ones clears the flags; otherwise they accumulate */
    return reset_cause(flags & 0x90u, flags & 2u, flags & 1u, 0, flags & 0x68u);
#else
    *word = 0;
    return HEALTH_UNKNOWN;
#endif
}
#endif

#endif
