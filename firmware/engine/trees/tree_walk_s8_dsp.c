/* Tree ensembles with int8 features, on cores with the DSP extension. */
#define AR_TREE_NAME ar_tree_walk_s8_dsp
#define AR_TREE_FEATURE int8_t
#define AR_TREE_LOAD "ldrsb"

#include "tree_walk_body_dsp.h"
