/* A sum over trees, on cores with the DSP extension. The tables are larger than those of tree_ensemble.h, but the code
 * executes fewer instructions.
 *
 * The nodes of all trees are one array of 16-bit words. A tree begins with the number of words that follow. Its root is
 * next, then the root's left subtree, then its right subtree, and so on:
 *
 *   a leaf:  0, then the index in `rows` of the first number of its row
 *   a node:  (feature + 1) * bytes of a feature, the bytes to skip to the right subtree, the threshold
 *
 * A node goes to the left if its feature is less than or equal to the threshold. */
#ifndef ARENITE_TREE_WALK_DSP_H
#define ARENITE_TREE_WALK_DSP_H

#include <stdint.h>

typedef struct {
    const void *input;     /* [features] */
    int32_t *output;       /* [outputs] */
    const uint16_t *nodes; /* see above */
    const int32_t *rows;   /* the values of each leaf, two int16 in a word; 0 fills up the last word */
    const int32_t *bias;   /* [outputs] */
    uint16_t trees;
    uint16_t outputs;
    uint16_t width; /* the number of values of a leaf, which are added to the last outputs */
} ar_tree_walk_dsp_params;

void ar_tree_walk_s16_dsp(const ar_tree_walk_dsp_params *p);
void ar_tree_walk_s8_dsp(const ar_tree_walk_dsp_params *p);

#endif
