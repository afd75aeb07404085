/* A stand-in for freertos/task.h of ESP-IDF, with the declarations that the ports use. */
#pragma once
#include "freertos/FreeRTOS.h"
typedef struct tskTaskControlBlock *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task);
void vTaskDelay(TickType_t ticks);
BaseType_t xTaskCreatePinnedToCore(TaskFunction_t code, const char *name, uint32_t stack_depth,
                                   void *parameters, UBaseType_t priority, TaskHandle_t *created,
                                   BaseType_t core);
TaskHandle_t xTaskGetCurrentTaskHandle(void);
UBaseType_t uxTaskPriorityGet(TaskHandle_t task);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t wait);
BaseType_t xTaskNotifyGive(TaskHandle_t task);
TaskHandle_t xTaskCreateStaticPinnedToCore(TaskFunction_t code, const char *name, uint32_t stack_depth,
                                           void *parameters, UBaseType_t priority, StackType_t *stack,
                                           StaticTask_t *task, BaseType_t core);
TickType_t xTaskGetTickCount(void);
