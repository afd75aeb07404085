/* The last step for lines of bytes: a table of bytes normalizes and quantizes each value. */
#define AR_FINISH ar_finish_table_8
#define AR_ELEMENT uint8_t
#include "finish_table.h"
