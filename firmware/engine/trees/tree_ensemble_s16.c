/* Tree ensembles with int16 features. */
#define AR_TREE_NAME ar_tree_ensemble_s16
#define AR_TREE_FEATURE int16_t
#define AR_TREE_GOES_RIGHT(x, feature, threshold) ((x)[feature] > (threshold))
#define AR_TREE_THRESHOLD(at) ((int16_t)*(at))
#define AR_TREE_WORDS 1

#include "tree_ensemble_body.h"
