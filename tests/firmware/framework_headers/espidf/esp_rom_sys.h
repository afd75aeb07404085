/* A stand-in for esp_rom_sys.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include <stdint.h>
uint32_t esp_rom_get_cpu_ticks_per_us(void);
