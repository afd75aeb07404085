/* A sum over trees: forests, boosted trees, and a single tree.
 *
 * The nodes of all trees are one array of 16-bit words. A tree begins with the number of words that follow. Its root is
 * next, then the root's left subtree, then its right subtree, and so on:
 *
 *   a leaf:  AR_TREE_LEAF + the number of the leaf's row in `leaves`, or the index of its first pair in `pairs`
 *   a node:  (feature << feature_shift) + the words to skip to the right subtree. If they do not fit into
 *            feature_shift bits, or are all ones there, these bits are ones, and a word with the words to skip follows.
 *            Then the threshold: one word, or the low and the high word for float features.
 *
 * A node goes to the left if its feature is less than or equal to the threshold. Float features are compared as
 * integers: all bits of a negative number except the sign are inverted, so the integers have the order of the
 * numbers. With ar_tree_ensemble_f32_missing, the number of a feature is multiplied by 2, and 1 is added if a missing
 * value (NaN) goes to the left at the node. */
#ifndef ARENITE_TREE_ENSEMBLE_H
#define ARENITE_TREE_ENSEMBLE_H

#include <stdint.h>

#define AR_TREE_LEAF 0x8000u /* the bit of a leaf in `nodes` */
#define AR_TREE_LAST 0x8000u /* the bit of a leaf's last pair in `pairs` */

typedef struct {
    const void *input;     /* [features] */
    int32_t *output;       /* [outputs] */
    const uint16_t *nodes; /* see above */
    const int16_t *leaves; /* rows of `width` values; with pairs: the different values */
    const uint16_t
        *pairs; /* 0 if a leaf is a row, which is added to the last outputs. Otherwise a leaf is a list of
                            * pairs (output << value_bits) + value. The last pair of a list has AR_TREE_LAST. */
    const int32_t *bias; /* [outputs] */
    uint16_t trees;      /* number of trees */
    uint16_t outputs;
    uint16_t width;        /* number of values in a row of `leaves` */
    uint8_t feature_shift; /* see the nodes above */
    uint8_t value_bits;    /* see `pairs` */
} ar_tree_ensemble_params;

void ar_tree_ensemble_f32(const ar_tree_ensemble_params *p);
void ar_tree_ensemble_f32_missing(const ar_tree_ensemble_params *p);
void ar_tree_ensemble_s16(const ar_tree_ensemble_params *p);
void ar_tree_ensemble_s8(const ar_tree_ensemble_params *p);

/* Trees as machine code of Armv7-M and later (Thumb-2). The generator writes machine code and not C, so that the size
 * of the code is known before the build. The code is a function that gets the addresses of the features and the
 * outputs, sets the outputs, and uses no stack. */
typedef struct {
    const void *input; /* [features] */
    int32_t *output;   /* [outputs] */
    const void *code;  /* address + 1: an odd address stands for Thumb code */
} ar_tree_code_params;

void ar_tree_code(const ar_tree_code_params *p);

#endif
