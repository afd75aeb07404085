/* Tree ensembles as machine code, for cores with Thumb-2. */
#include "tree_ensemble.h"

#if defined(__thumb2__)

void ar_tree_code(const ar_tree_code_params *p)
{
    void (*const code)(const void *, int32_t *) = (void (*)(const void *, int32_t *))(uintptr_t)p->code;
    code(p->input, p->output);
}

#endif
