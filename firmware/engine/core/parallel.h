/* Runs half of a layer on each of two cores. The board's port implements these functions, see
 * firmware/boards/second_core/mailbox.h.
 *
 * Both halves read what the previous layers have written. Neither half reads or writes a byte that the other half
 * writes: the generator proves this from the memory plan. Between fork and join neither half waits for the other
 * half.
 */
#ifndef ARENITE_PARALLEL_H
#define ARENITE_PARALLEL_H

#include "arenite.h"

/* Starts `work` on the second core, which must be idle. `work` sees everything that was written before this call. */
void ar_fork(ar_layer_fn work);

/* Waits until the second core is idle again. Afterwards the caller sees everything that the second core has written. */
void ar_join(void);

#endif
