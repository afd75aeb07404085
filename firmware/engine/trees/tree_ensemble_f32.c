/* Tree ensembles with float32 features, without floating-point instructions. */
#include "tree_float_key.h"

#define AR_TREE_NAME ar_tree_ensemble_f32
#define AR_TREE_FEATURE uint32_t
#define AR_TREE_GOES_RIGHT(x, feature, threshold) (float_key((x)[feature]) > (threshold))
#define AR_TREE_THRESHOLD(at) ((int32_t)((at)[0] | (uint32_t)(at)[1] << 16))
#define AR_TREE_WORDS 2

#include "tree_ensemble_body.h"
