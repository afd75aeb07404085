/* The last step for lines of bytes: a table of 32-bit values normalizes and quantizes each value. */
#define AR_FINISH ar_finish_table_32
#define AR_ELEMENT uint32_t
#include "finish_table.h"
