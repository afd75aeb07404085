/* A block of bytes from one place to another. */
#include "copy.h"

void ar_copy(const ar_copy_params *p) { ar_copy_bytes(p->output, p->input, p->bytes); }
