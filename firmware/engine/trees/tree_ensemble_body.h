/* The function of tree_ensemble.h for one type of features. Define before including:
 *   AR_TREE_NAME           its name
 *   AR_TREE_FEATURE        the C type of a stored feature
 *   AR_TREE_GOES_RIGHT(x, feature, threshold)
 *                          whether a node goes to the right, for the features x and the feature's bits in its word
 *   AR_TREE_THRESHOLD(at)  the threshold at the word `at`
 *   AR_TREE_WORDS          the words of a threshold */
#include "tree_ensemble.h"

void AR_TREE_NAME(const ar_tree_ensemble_params *p)
{
    const AR_TREE_FEATURE *x = p->input;
    const uint16_t *next = p->nodes;
    int32_t *out = p->output;
    const uint32_t shift = p->feature_shift, far = (1u << shift) - 1;

    for (uint32_t k = 0; k < p->outputs; k++) {
        out[k] = p->bias[k];
    }
    out += p->pairs ? 0 : p->outputs - p->width;
    for (uint32_t tree = p->trees; tree != 0; tree--) {
        const uint16_t *at = next + 1;
        uint32_t word = *at++;
        next += 1 + *next;
        while ((word & AR_TREE_LEAF) == 0) {
            uint32_t skip = word & far;
            if (skip == far) {
                skip = *at++;
            }
            const int32_t threshold = AR_TREE_THRESHOLD(at);
            at += AR_TREE_WORDS;
            if (AR_TREE_GOES_RIGHT(x, word >> shift, threshold)) {
                at += skip;
            }
            word = *at++;
        }
        word -= AR_TREE_LEAF;
        if (p->pairs) {
            const uint16_t *at_pair = p->pairs + word;
            uint32_t pair;
            do {
                pair = *at_pair++;
                out[(pair & ~AR_TREE_LAST) >> p->value_bits] += p->leaves[pair & ((1u << p->value_bits) - 1)];
            } while ((pair & AR_TREE_LAST) == 0);
        } else {
            const int16_t *leaf = p->leaves + word * p->width;
            for (uint32_t k = 0; k < p->width; k++) {
                out[k] += leaf[k];
            }
        }
    }
}
