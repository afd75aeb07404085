/* The steps of an LSTM cell, see lstm_cell.h. */
#include "lstm_cell.h"

#include "fixed_point.h"
#include "gate_s16.h"

/* Returns acc plus the inner product of a and b. */
static int32_t dot(const int8_t *a, const int8_t *b, uint32_t count, int32_t acc)
{
    for (uint32_t i = 0; i < count; i++) {
        acc += a[i] * b[i];
    }
    return acc;
}

static int16_t saturate(int32_t x) { return (int16_t)ar_clamp(x, INT16_MIN, INT16_MAX); }

int16_t ar_lstm_gate_sum(const ar_lstm_params *p, const ar_lstm_gate *gate, uint32_t c, const int8_t *input,
                         const int8_t *output_state, int16_t cell)
{
    const int32_t from_input =
        dot(input, gate->input_weights + c * p->inputs, p->inputs, gate->input_bias[c]);
    int16_t sum = saturate(ar_requant(from_input, gate->input_multiplier, gate->input_shift));
    const int32_t from_state =
        dot(output_state, gate->recurrent_weights + c * p->outputs, p->outputs, gate->recurrent_bias[c]);
    sum = saturate(ar_requant(from_state, gate->recurrent_multiplier, gate->recurrent_shift) + sum);
    if (gate->peephole && c < p->peephole_cells) {
        const int32_t product = gate->peephole[c] * cell;
        sum = saturate(ar_requant(product, gate->peephole_multiplier, gate->peephole_shift) + sum);
    }
    return sum;
}

int16_t ar_lstm_update(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t forget,
                       int16_t modulation)
{
    /* The gates and the modulation are in Q0.15. Convert their products to the cell state's format. */
    const int16_t retained = (int16_t)ar_round_shift(forget * cell, 15);
    const int16_t added = (int16_t)ar_round_shift(input * modulation, 15 + p->cell_integer_bits);
    const int32_t sum = saturate(retained + added);
    return (int16_t)(p->cell_clip > 0 ? ar_clamp(sum, -p->cell_clip, p->cell_clip) : sum);
}

int8_t ar_lstm_hidden(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t output_gate)
{
    const int32_t product = output_gate * (p->has_tanh ? ar_tanh_s16(cell, p->cell_integer_bits) : input);
    const int32_t scaled = ar_requant(product, p->hidden_multiplier, p->hidden_shift) + p->hidden_offset;
    return (int8_t)ar_clamp(scaled, INT8_MIN, INT8_MAX);
}

void ar_lstm_output(const ar_lstm_params *p, const int8_t *hidden, int8_t *output_state, int8_t *output)
{
    for (uint32_t o = 0; o < p->outputs; o++) {
        int32_t value = hidden[o];
        if (p->projection) {
            value = dot(hidden, p->projection + o * p->cells, p->cells, p->projection_bias[o]);
            value = ar_requant(value, p->projection_multiplier, p->projection_shift) + p->output_zero_point;
            value = ar_clamp(value, INT8_MIN, INT8_MAX);
            if (p->output_clip > 0) {
                value = ar_clamp(value, -p->output_clip, p->output_clip);
            }
        }
        output_state[o] = (int8_t)value;
        output[o] = (int8_t)value;
    }
}
