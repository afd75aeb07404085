/* Copies a block of bytes. */
#include "copy.h"

void ar_copy(const ar_copy_params *p) { ar_copy_bytes(p->output, p->input, p->bytes); }
