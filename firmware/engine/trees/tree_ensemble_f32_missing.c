/* Tree ensembles with float32 features whose nodes say where a missing value (NaN) goes. */
#include "tree_float_key.h"

/* Returns whether a node goes to the right. The lowest bit of `feature` is set if a missing value goes to the left. */
static inline uint32_t goes_right(const uint32_t *x, uint32_t feature, int32_t threshold)
{
    const uint32_t bits = x[feature >> 1];

    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
        return ~feature & 1u;
    }
    return float_key(bits) > threshold;
}

#define AR_TREE_NAME ar_tree_ensemble_f32_missing
#define AR_TREE_FEATURE uint32_t
#define AR_TREE_GOES_RIGHT(x, feature, threshold) (goes_right(x, feature, threshold))
#define AR_TREE_THRESHOLD(at) ((int32_t)((at)[0] | (uint32_t)(at)[1] << 16))
#define AR_TREE_WORDS 2

#include "tree_ensemble_body.h"
