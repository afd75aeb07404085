/* Reads samples from the first file, runs the generated model, and writes all outputs to the second file.
 * The third argument is the pause after each sample, in milliseconds. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

int main(int count, char **names)
{
    FILE *in = count == 4 ? fopen(names[1], "rb") : 0, *out = count == 4 ? fopen(names[2], "wb") : 0;
    const struct timespec pause = {0, 1000000L * atoi(count == 4 ? names[3] : "0")};
    if (!in || !out) {
        return 2;
    }
    for (;;) {
        for (int i = 0; i < model.input_count; i++) {
            if (fread(model.inputs[i].data, 1, model.inputs[i].bytes, in) != model.inputs[i].bytes) {
                return fclose(out) != 0;
            }
        }
        model_invoke();
        for (int i = 0; i < model.output_count; i++) {
            fwrite(model.outputs[i].data, 1, model.outputs[i].bytes, out);
        }
        nanosleep(&pause, 0); /* long enough for the second core to fall asleep */
    }
}
