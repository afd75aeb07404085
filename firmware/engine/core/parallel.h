/* Two cores: half of a layer on each. The board's port implements it, see firmware/boards/second_core/mailbox.h.
 *
 * Both halves read what the layers before have written, and write bytes that the other half neither reads nor writes:
 * the generator proves it from the plan. Between fork and join neither waits for the other.
 */
#ifndef ARENITE_PARALLEL_H
#define ARENITE_PARALLEL_H

#include "arenite.h"

/* Run `work` on the second core, which is idle; it sees everything that was written before. */
void ar_fork(ar_layer_fn work);

/* Wait until the second core is idle again; everything that it has written is seen afterwards. */
void ar_join(void);

#endif
