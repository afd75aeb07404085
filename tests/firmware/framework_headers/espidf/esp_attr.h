/* A stand-in for esp_attr.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include "sdkconfig.h"
#define IRAM_ATTR __attribute__((section(".iram1.0")))
#define RTC_NOINIT_ATTR __attribute__((section(".rtc_noinit.0")))
#define RTC_DATA_ATTR __attribute__((section(".rtc.data.0")))
#ifdef CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY
#define EXT_RAM_BSS_ATTR __attribute__((section(".ext_ram.bss.0")))
#else
#define EXT_RAM_BSS_ATTR
#endif
