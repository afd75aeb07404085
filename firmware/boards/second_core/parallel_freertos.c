/* The second core of an ESP32, ESP32-S3 or ESP32-P4: a task of FreeRTOS, pinned to the core that the caller does not
 * use.
 *
 * Between the layers of an inference the task spins, because waking it takes longer than a small layer. If it finds no
 * work for ARENITE_SPIN_TURNS turns, it sleeps until it is notified. It has the caller's priority and lets the idle
 * task run every second, so that the idle task's watchdog is fed even if inferences follow each other without a pause.
 *
 * This file was compiled and run with a stub of FreeRTOS on a computer, but never on a board. In a build for any other
 * platform the two halves of a layer run one after the other.
 */
#include "mailbox.h"
#include "second_core.h"

#ifdef AR_SECOND_STACK
#ifdef ESP_PLATFORM
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#endif

#if defined(ESP_PLATFORM) && !defined(CONFIG_FREERTOS_UNICORE)

/* The number of looks into the empty mailbox before the task sleeps: about 100 microseconds at 240 MHz. */
#ifndef ARENITE_SPIN_TURNS
#define ARENITE_SPIN_TURNS 2000
#endif
/* The longest time without the idle task, in milliseconds; its watchdog waits for five seconds. */
#define MAX_BUSY_MS 1000

static StackType_t stack[(AR_SECOND_STACK + sizeof(StackType_t) - 1) / sizeof(StackType_t)];
static StaticTask_t memory;
static TaskHandle_t task;
static uint32_t asleep;

/* Lets the idle task of this core run if it has not run for MAX_BUSY_MS. */
static void yield_to_idle(TickType_t *latest)
{
    if (xTaskGetTickCount() - *latest >= pdMS_TO_TICKS(MAX_BUSY_MS)) {
        vTaskDelay(1);
        *latest = xTaskGetTickCount();
    }
}

static void second_core(void *unused)
{
    TickType_t latest = xTaskGetTickCount();
    (void)unused;
    for (;;) {
        for (uint32_t turns = ARENITE_SPIN_TURNS; turns; turns--) {
            if (mailbox_serve()) {
                turns = ARENITE_SPIN_TURNS;
                yield_to_idle(&latest);
            }
        }
        /* First set the flag, then look into the mailbox again: the other core first stores the work and then reads the
         * flag, so one of the two cores notices the other one. */
        __atomic_store_n(&asleep, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&mailbox, __ATOMIC_SEQ_CST) == 0) {
            ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        }
        __atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
        latest = xTaskGetTickCount();
    }
}

void ar_fork(ar_layer_fn work)
{
    if (!task) {
        task = xTaskCreateStaticPinnedToCore(second_core, "arenite", sizeof stack, 0, uxTaskPriorityGet(0),
                                             stack, &memory, 1 - xPortGetCoreID());
    }
    __atomic_store_n(&mailbox, work, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST)) {
        xTaskNotifyGive(task);
    }
}

void ar_join(void)
{
    while (!mailbox_empty()) {
    }
}

uint32_t ar_second_stack_used(void)
{
    return task ? (uint32_t)(sizeof stack - sizeof(StackType_t) * uxTaskGetStackHighWaterMark(task)) : 0;
}
#else
void ar_fork(ar_layer_fn work) { work(); }
void ar_join(void) {}
uint32_t ar_second_stack_used(void) { return 0; }
#endif
#endif
