/* A stand-in for the part of FreeRTOS that the port for ESP32 uses. Tasks are threads. */
#include <pthread.h>
#include <stdint.h>

typedef uint32_t TickType_t;
typedef uint8_t StackType_t; /* as in ESP-IDF, where stacks are counted in bytes */
typedef int BaseType_t;
typedef unsigned UBaseType_t;
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t notifications;
    int core;
} StaticTask_t;
typedef StaticTask_t *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);

#define pdTRUE 1
#define portMAX_DELAY 0xFFFFFFFFu
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))

int xPortGetCoreID(void);
