/* A mailbox of one word through which two cores share the halves of a layer. Each core writes it only in its turn.
 *
 * The word is the function that the second core has to run, 0 while it is idle. The first core stores it (release), the
 * second loads it (acquire), runs it, and stores 0 (release), for which the first waits (acquire). So whatever one core
 * wrote before its store is seen by the other after its load. The compilers make plain loads and stores and fences of
 * these: no core needs instructions for atomic read-modify-write.
 *
 * A port waits as its board does best, and defines ar_fork and ar_join of parallel.h with these functions.
 */
#ifndef ARENITE_MAILBOX_H
#define ARENITE_MAILBOX_H

#include "parallel.h"

static ar_layer_fn mailbox;

/* First core: gives the second one its work. */
static inline void mailbox_put(ar_layer_fn work) { __atomic_store_n(&mailbox, work, __ATOMIC_RELEASE); }

/* First core: returns whether the second one has finished. */
static inline int mailbox_empty(void) { return __atomic_load_n(&mailbox, __ATOMIC_ACQUIRE) == 0; }

/* Second core: runs the function in the mailbox. Returns 0 when the mailbox is empty. */
static inline int mailbox_serve(void)
{
    const ar_layer_fn work = __atomic_load_n(&mailbox, __ATOMIC_ACQUIRE);
    if (work == 0) {
        return 0;
    }
    work();
    __atomic_store_n(&mailbox, (ar_layer_fn)0, __ATOMIC_RELEASE);
    return 1;
}

#endif
