/* Implements freertos/FreeRTOS.h and freertos/task.h. At its end the program prints how often the task waited for a
 * notification, was delayed, and was notified. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

static _Thread_local TaskHandle_t self;
static unsigned slept, delayed, notified;

struct start {
    TaskFunction_t code;
    void *argument;
    TaskHandle_t task;
};

static void *run(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    self = start.task;
    start.code(start.argument);
    abort(); /* a task never returns */
}

int xPortGetCoreID(void) { return self ? self->core : 1; }

TickType_t xTaskGetTickCount(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (TickType_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void vTaskDelay(TickType_t ticks)
{
    struct timespec time = {0, (long)ticks * 1000000};
    __atomic_fetch_add(&delayed, 1, __ATOMIC_RELAXED);
    nanosleep(&time, 0);
}

UBaseType_t uxTaskPriorityGet(TaskHandle_t task) { return task ? 0 : 1; }
UBaseType_t uxTaskGetStackHighWaterMark(TaskHandle_t task) { return task ? 64 : 0; }

static void print_counts(void)
{
    fprintf(stdout, "slept %u, delayed %u, notified %u\n", __atomic_load_n(&slept, __ATOMIC_RELAXED),
            __atomic_load_n(&delayed, __ATOMIC_RELAXED), __atomic_load_n(&notified, __ATOMIC_RELAXED));
}

TaskHandle_t xTaskCreateStaticPinnedToCore(TaskFunction_t code, const char *name, uint32_t depth,
                                           void *argument, UBaseType_t priority, StackType_t *stack,
                                           StaticTask_t *memory, BaseType_t core)
{
    pthread_t thread;
    struct start *start = malloc(sizeof *start);
    /* The port must create one task on core 0, with the priority of the model's task. */
    if (!start || !name || depth < 64 || !stack || priority != 1 || core != 0) {
        abort();
    }
    pthread_mutex_init(&memory->lock, 0);
    pthread_cond_init(&memory->changed, 0);
    memory->core = core;
    *start = (struct start){code, argument, memory};
    atexit(print_counts);
    if (pthread_create(&thread, 0, run, start) != 0) {
        abort();
    }
    return memory;
}

BaseType_t xTaskNotifyGive(TaskHandle_t task)
{
    pthread_mutex_lock(&task->lock);
    task->notifications++;
    __atomic_fetch_add(&notified, 1, __ATOMIC_RELAXED);
    pthread_cond_signal(&task->changed);
    pthread_mutex_unlock(&task->lock);
    return pdTRUE;
}

uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t wait)
{
    if (wait != portMAX_DELAY || !clear) {
        abort();
    }
    pthread_mutex_lock(&self->lock);
    __atomic_fetch_add(&slept, 1, __ATOMIC_RELAXED);
    while (self->notifications == 0) {
        pthread_cond_wait(&self->changed, &self->lock);
    }
    const uint32_t before = self->notifications;
    self->notifications = 0;
    pthread_mutex_unlock(&self->lock);
    return before;
}
