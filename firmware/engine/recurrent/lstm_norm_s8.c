/* UNIDIRECTIONAL_SEQUENCE_LSTM with layer normalization, which needs all sums of a gate at the same time. */
#include "fixed_point.h"
#include "gate_s16.h"
#include "inv_sqrt.h"
#include "lstm_cell.h"

/* Normalizes the `count` sums of a gate to mean 0 and variance 1, in Q21.10. Then multiplies each by its
 * coefficient, adds its bias, and converts it to Q3.12. */
static void normalize(const ar_lstm_gate *gate, int16_t *values, int32_t count)
{
    int32_t sum = 0;
    int64_t squares = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    const int32_t mean = sum / count * 1024 + sum % count * 1024 / count; /* sum * 1024 / count in 32 bits */
    /* 2^20 times the variance; the mean is multiplied by 2^10. */
    const int64_t scaled_variance = squares * ((1 << 20) / count) - (int64_t)mean * mean;
    int32_t variance = (int32_t)(scaled_variance / (1 << 20));
    if (variance < 1) {
        variance = gate->variance_guard;
    }
    int right_shift;
    const int32_t multiplier = ar_inv_sqrt(variance, &right_shift);

    for (int32_t i = 0; i < count; i++) {
        const int32_t normal = ar_requant(1024 * values[i] - mean, multiplier, -right_shift);
        const int32_t weighted =
            (int32_t)((uint32_t)normal * (uint32_t)gate->norm[i] + (uint32_t)gate->norm_bias[i]);
        const int64_t nudged = (int64_t)weighted + (weighted > 0 ? 512 : -512);
        const int32_t value = ar_requant((int32_t)(nudged / 1024), gate->norm_multiplier, gate->norm_shift);
        values[i] = (int16_t)ar_clamp(value, INT16_MIN, INT16_MAX);
    }
}

/* Writes the normalized sums of a gate for all cells to `values`. */
static void sums(const ar_lstm_params *p, const ar_lstm_gate *gate, const int8_t *in, const int8_t *state,
                 const int16_t *cell, int16_t *values)
{
    for (uint32_t c = 0; c < p->cells; c++) {
        values[c] = ar_lstm_gate_sum(p, gate, c, in, state, cell[c]);
    }
    normalize(gate, values, p->cells);
}

/* Computes one time step of one batch. `first` holds the forget gate, later the output gate; `second` holds the
 * cell gate, later the input gate after its sigmoid; `third` holds the input gate. */
static void step(const ar_lstm_params *p, const int8_t *in, int8_t *out, int8_t *state, int16_t *cell)
{
    int16_t *first = p->gates_scratch, *second = first + p->cells, *third = second + p->cells;
    int8_t *hidden = p->projection ? p->hidden : out;
    const int has_input_gate = p->gate[AR_LSTM_INPUT].input_weights != 0;

    sums(p, &p->gate[AR_LSTM_FORGET], in, state, cell, first);
    sums(p, &p->gate[AR_LSTM_CELL], in, state, cell, second);
    if (has_input_gate) {
        sums(p, &p->gate[AR_LSTM_INPUT], in, state, cell, third);
    }
    for (uint32_t c = 0; c < p->cells; c++) {
        const int16_t forget = ar_sigmoid_s16(first[c]);
        const int16_t input = has_input_gate ? ar_sigmoid_s16(third[c]) : (int16_t)(INT16_MAX - forget);
        cell[c] = ar_lstm_update(p, cell[c], input, forget, ar_tanh_s16(second[c], 3));
        second[c] = input;
    }
    sums(p, &p->gate[AR_LSTM_OUTPUT], in, state, cell, first);
    for (uint32_t c = 0; c < p->cells; c++) {
        hidden[c] = ar_lstm_hidden(p, cell[c], second[c], ar_sigmoid_s16(first[c]));
    }
    ar_lstm_output(p, hidden, state, out);
}

void ar_lstm_norm_s8(const ar_lstm_params *p)
{
    for (uint32_t b = 0; b < p->batches; b++) {
        for (uint32_t t = 0; t < p->steps; t++) {
            const uint32_t row = b * p->batch_step + t * p->time_step;
            step(p, p->input + row * p->inputs, p->output + row * p->outputs,
                 p->output_state + b * p->outputs, p->cell_state + b * p->cells);
        }
    }
}
