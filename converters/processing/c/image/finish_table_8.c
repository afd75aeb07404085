#define AR_FINISH ar_finish_table_8
#define AR_ELEMENT uint8_t
#include "finish_table.h"
