/* How two cores hand a half of a layer over: one word, written by either core only when it is its turn.
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

/* First core: give the second its work. */
static inline void mailbox_put(ar_layer_fn work) { __atomic_store_n(&mailbox, work, __ATOMIC_RELEASE); }

/* First core: has the second done it? */
static inline int mailbox_empty(void) { return __atomic_load_n(&mailbox, __ATOMIC_ACQUIRE) == 0; }

/* Second core: run what there is to run. Gives 0 when there was nothing. */
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
