/* Tree ensembles with float32 features, without floating-point instructions. */
#define AR_TREE_NAME ar_tree_ensemble_f32
#define AR_TREE_FEATURE uint32_t
#define AR_TREE_KEY(x) (float_key(x))
#define AR_TREE_THRESHOLD(at) ((int32_t)((at)[0] | (uint32_t)(at)[1] << 16))
#define AR_TREE_WORDS 2

#include <stdint.h>

/* Returns an integer for the bits of a float32 number. These integers have the same order as the numbers. */
static inline int32_t float_key(uint32_t bits)
{
    return (int32_t)(bits ^ ((uint32_t)((int32_t)bits >> 31) >> 1));
}

#include "tree_ensemble_body.h"
