/* Tree ensembles with int16 features, on cores with the DSP extension. */
#define AR_TREE_NAME ar_tree_walk_s16_dsp
#define AR_TREE_FEATURE int16_t
#define AR_TREE_LOAD "ldrsh"

#include "tree_walk_body_dsp.h"
