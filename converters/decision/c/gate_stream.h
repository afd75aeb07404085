/* A gate that takes samples as they arrive, and measures one block after the other. It keeps sums, not samples. */
#ifndef ARENITE_GATE_STREAM_H
#define ARENITE_GATE_STREAM_H

#include "gate.h"

typedef struct {
    int64_t sum;
    uint64_t squares;
} ar_gate_sums;

/* Set `gate` and the fields after it, then call ar_gate_restart. */
typedef struct {
    ar_gate gate;
    ar_gate_sums *sums; /* one per channel */
    uint32_t block;     /* samples of each channel, at most AR_GATE_MAX_BLOCK */
    uint32_t filled;    /* samples of the block that is not complete */
} ar_gate_stream;

/* Closes the gate and forgets the samples of the block that is not complete, at the beginning and after a gap. */
void ar_gate_restart(ar_gate_stream *s);

/* Takes `count` samples of each channel. After each complete block, the gate opens or closes as with
 * ar_gate_samples(). */
void ar_gate_feed(ar_gate_stream *s, const int16_t *samples, uint32_t count);

/* Returns whether the gate is open after the last complete block. */
uint32_t ar_gate_is_open(const ar_gate_stream *s);

#endif
