/* The second core on a computer is a thread. Tests use this file, and builds of a project with -DAR_HOST. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "mailbox.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *second_core(void *unused)
{
    for (;;) {
        if (!mailbox_serve()) {
            sched_yield();
        }
    }
    return unused;
}

static void start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, 0, second_core, 0) != 0 || pthread_detach(thread) != 0) {
        abort();
    }
}

void ar_fork(ar_layer_fn work)
{
    pthread_once(&once, start);
    mailbox_put(work);
}

void ar_join(void)
{
    while (!mailbox_empty()) {
        sched_yield();
    }
}
