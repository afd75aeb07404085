/* Runs models on samples and writes their outputs. Usage: program SAMPLES OUTPUTS
 *
 * A sample is the number of a model (4 bytes), whether its state is reset (1 byte), and the bytes of its inputs. Each
 * input is in memory of exactly its size. The arena has unknown contents before a sample with a reset. */
#include "target.h"
#include "tested_models.h"

int main(int count, char **names)
{
    FILE *samples = count == 3 ? fopen(names[1], "rb") : 0, *outputs = count == 3 ? fopen(names[2], "wb") : 0;
    uint32_t number, run = 0;
    EXPECT(samples && outputs);
    while (fread(&number, sizeof number, 1, samples) == 1) {
        EXPECT(number < tested_model_count);
        const tested_model *tested = &tested_models[number];
        if (fgetc(samples)) {
            prepare_arena(tested, run++ % 2 ? 0xA5 : 0x5A);
            reset_model(tested);
        }
        for (uint32_t k = 0; k < tested->model->input_count; k++) {
            const uint32_t bytes = tested->model->inputs[k].bytes;
            uint8_t *input = malloc(bytes ? bytes : 1);
            EXPECT(input && fread(input, 1, bytes, samples) == bytes);
            give_input(tested, k, input);
            free(input);
        }
        compute(tested);
        for (uint32_t k = 0; k < tested->model->output_count; k++) {
            const ar_io *output = &tested->model->outputs[k];
            EXPECT(fwrite(output->data, 1, output->bytes, outputs) == output->bytes);
        }
    }
    fclose(samples);
    return fclose(outputs) != 0;
}
