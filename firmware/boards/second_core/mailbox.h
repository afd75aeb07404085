/* A mailbox of one word, through which two cores share the halves of a layer. The cores write it in turn.
 *
 * The word is the address of the function that the second core has to run, or 0 while that core is idle. The first core
 * stores the address (release). The second core loads the address (acquire), runs the function, and stores 0 (release).
 * The first core waits for this 0 (acquire). So each core sees everything that the other one wrote before its store.
 * The compiler turns these accesses into plain loads, stores and fences: no core needs instructions for atomic
 * read-modify-write.
 *
 * Each port waits in the way that suits its board, and defines ar_fork and ar_join of parallel.h with these functions.
 */
#ifndef ARENITE_MAILBOX_H
#define ARENITE_MAILBOX_H

#include "parallel.h"

static ar_layer_fn mailbox;

/* First core: gives the second core a function to run. */
static inline void mailbox_put(ar_layer_fn work) { __atomic_store_n(&mailbox, work, __ATOMIC_RELEASE); }

/* First core: returns whether the second core has finished. */
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
