/* UNIDIRECTIONAL_SEQUENCE_LSTM without layer normalization. It computes one cell at a time, so that the gates need no
 * memory. */
#include "fixed_point.h"
#include "gate_s16.h"
#include "lstm_cell.h"

void ar_lstm_s8(const ar_lstm_params *p)
{
    const ar_lstm_gate *gate = p->gate;

    for (uint32_t b = 0; b < p->batches; b++) {
        int8_t *state = p->output_state + b * p->outputs;
        int16_t *cell = p->cell_state + b * p->cells;
        for (uint32_t t = 0; t < p->steps; t++) {
            const uint32_t row = b * p->batch_step + t * p->time_step;
            const int8_t *in = p->input + row * p->inputs;
            int8_t *out = p->output + row * p->outputs;
            int8_t *hidden = p->projection ? p->hidden : out;
            for (uint32_t c = 0; c < p->cells; c++) {
                const int16_t old = cell[c];
                const int16_t forget =
                    ar_sigmoid_s16(ar_lstm_gate_sum(p, &gate[AR_LSTM_FORGET], c, in, state, old));
                int16_t input = (int16_t)(INT16_MAX - forget);
                if (gate[AR_LSTM_INPUT].input_weights) {
                    input = ar_sigmoid_s16(ar_lstm_gate_sum(p, &gate[AR_LSTM_INPUT], c, in, state, old));
                }
                const int16_t modulation =
                    ar_tanh_s16(ar_lstm_gate_sum(p, &gate[AR_LSTM_CELL], c, in, state, old), 3);
                cell[c] = ar_lstm_update(p, old, input, forget, modulation);
                const int16_t output =
                    ar_sigmoid_s16(ar_lstm_gate_sum(p, &gate[AR_LSTM_OUTPUT], c, in, state, cell[c]));
                hidden[c] = ar_lstm_hidden(p, cell[c], input, output);
            }
            ar_lstm_output(p, hidden, state, out);
        }
    }
}
