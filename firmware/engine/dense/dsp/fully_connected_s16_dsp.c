/* FULLY_CONNECTED with int16 activations, for layers whose sums fit into 32 bits. The file
 * fully_connected_s16_body_dsp.h contains the code. */
#include "fully_connected_s16_dsp.h"

#include "row_dot4_s16_dsp.h"

#define FULLY_CONNECTED ar_fully_connected_s16_dsp
#define SUM int32_t
#define SUMS(p, c, sums, row, quad) ar_row_dot4_s16_dsp(sums, row, quad, (p)->groups)

#include "fully_connected_s16_body_dsp.h"
