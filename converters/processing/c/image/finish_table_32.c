#define AR_FINISH ar_finish_table_32
#define AR_ELEMENT uint32_t
#include "finish_table.h"
