/* Tree ensembles as machine code, for cores with Thumb-2. */
#include "tree_ensemble.h"

#if defined(__thumb2__)

void ar_tree_code(const ar_tree_code_params *p)
{
    for (uint32_t k = 0; k < p->outputs; k++) {
        p->output[k] = p->bias[k];
    }
    register const void *features __asm__("r0") = p->input;
    register int32_t *outputs __asm__("r1") = p->output;
    register uintptr_t code __asm__("r3") = (uintptr_t)p->code | 1; /* bit 0: Thumb */
    __asm__ volatile("blx %[code]"
                     : [code] "+r"(code), "+r"(features), "+r"(outputs)
                     :
                     : "r2", "r4", "r5", "lr", "cc", "memory");
}

#endif
