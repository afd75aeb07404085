/* Implements pico/multicore.h and hardware/sync.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "hardware/sync.h"
#include "pico/multicore.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int event[2];
static int was_reset;
static _Thread_local int core;

static void *run(void *entry)
{
    core = 1;
    ((void (*)(void))entry)();
    abort();
}

void multicore_reset_core1(void) { was_reset = 1; }

void multicore_launch_core1_with_stack(void (*entry)(void), uint32_t *stack_bottom, size_t stack_size_bytes)
{
    pthread_t thread;
    /* Core 1 must be reset before it is launched, and a stack is aligned to 8 bytes. */
    if (!was_reset || stack_size_bytes < 64 || ((uintptr_t)stack_bottom & 7u)) {
        abort();
    }
    if (pthread_create(&thread, 0, run, (void *)entry) != 0) {
        abort();
    }
}

void __sev(void)
{
    pthread_mutex_lock(&lock);
    event[0] = event[1] = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void __wfe(void)
{
    pthread_mutex_lock(&lock);
    while (!event[core]) {
        pthread_cond_wait(&changed, &lock);
    }
    event[core] = 0;
    pthread_mutex_unlock(&lock);
}
