/* Fuzz target: models with every operator compute hostile inputs. The first two bytes of the fuzzer's input choose
 * a model, the third byte fills the arena before the inference, and the other bytes, repeated, are the model's input. */
#include "target.h"
#include "tested_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) {
        return 0;
    }
    const tested_model *tested = &tested_models[(data[0] | data[1] << 8) % tested_model_count];
    prepare_arena(tested, data[2]);
    reset_model(tested);
    data += 3;
    size -= 3;
    size_t at = 0;
    for (uint32_t k = 0; k < tested->model->input_count; k++) {
        const uint32_t bytes = tested->model->inputs[k].bytes;
        uint8_t *input = malloc(bytes ? bytes : 1);
        EXPECT(input != 0);
        for (uint32_t i = 0; i < bytes; i++) {
            input[i] = data[at++ % size];
        }
        give_input(tested, k, input);
        free(input);
    }
    compute(tested);
    return 0;
}
