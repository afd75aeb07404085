#define AR_FINISH ar_finish_table_16
#define AR_ELEMENT uint16_t
#include "finish_table.h"
