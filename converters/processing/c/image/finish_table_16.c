/* The last step for lines of bytes: a table of 16-bit values normalizes and quantizes each value. */
#define AR_FINISH ar_finish_table_16
#define AR_ELEMENT uint16_t
#include "finish_table.h"
