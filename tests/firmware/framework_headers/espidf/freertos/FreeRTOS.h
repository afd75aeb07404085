/* A stand-in for freertos/FreeRTOS.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include "sdkconfig.h"
#include <stddef.h>
#include <stdint.h>
typedef int BaseType_t;
typedef unsigned int UBaseType_t;
typedef uint32_t TickType_t;
typedef uint8_t StackType_t; /* depths of stacks are bytes on these chips */
typedef struct {
    uint32_t words[88];
} StaticTask_t;
#define pdTRUE ((BaseType_t)1)
#define pdPASS pdTRUE
#define portMAX_DELAY ((TickType_t)0xFFFFFFFFu)
#ifndef CONFIG_FREERTOS_HZ
#define CONFIG_FREERTOS_HZ 100
#endif
#define pdMS_TO_TICKS(ms) \
    ((TickType_t)(((TickType_t)(ms) * (TickType_t)CONFIG_FREERTOS_HZ) / (TickType_t)1000u))
BaseType_t xPortGetCoreID(void);
