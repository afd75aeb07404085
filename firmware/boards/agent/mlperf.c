/* The device's side of the MLPerf Tiny monitor: text commands that end in '%', answers that end in "m-ready".
 *
 * Commands: name, profile, timestamp, db load N, db HEX, db print, infer N W, results, help. Arenite adds raw, which
 * prints the outputs as hexadecimal bytes, so that a host can compare every bit.
 *
 * In the energy mode a timestamp is an edge on a pin instead of a line.
 */
#include "agent.h"
#include "port.h"

#define LINE_MAX 256u

static char line[LINE_MAX];
static uint32_t expected, loaded; /* bytes of input that "db load" announced, and bytes received so far */

#ifdef AR_MLPERF_ENERGY
/* A timestamp is a falling edge. The official firmware holds the pin low for some milliseconds; the rules
 * require only a microsecond, but few small meters would see such a short pulse. */
#define LOW_US 2000u
#else
static uint64_t clock_ticks;  /* device time in ticks; the counter has only 32 bits */
static uint32_t clock_latest; /* the counter when clock_ticks was updated */
#endif

static void put_text(const char *text)
{
    while (*text) {
        port_putc((uint8_t)*text++);
    }
}

static void put_number(uint64_t value)
{
    char digits[21];
    uint32_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10u);
        value /= 10u;
    } while (value);
    put_text(digits + at);
}

static void put_hex(uint8_t byte)
{
    port_putc((uint8_t)"0123456789abcdef"[byte >> 4]);
    port_putc((uint8_t)"0123456789abcdef"[byte & 15u]);
}

/* Prints a line: `text`, a number and `end`. */
static void put_line(const char *text, uint64_t number, const char *end)
{
    put_text(text);
    put_number(number);
    put_text(end);
    put_text("\r\n");
}

/* Prints a line: `text`, a name and a closing bracket. */
static void put_name(const char *text, const char *name)
{
    put_text(text);
    put_text(name);
    put_text("]\r\n");
}

static void put_error(const char *what) { put_name("e-[", what); }

#ifdef AR_MLPERF_ENERGY
static void put_timestamp(void)
{
    const uint32_t fell = port_ticks();
    port_mark(0);
    while (port_ticks() - fell < LOW_US * PORT_TICKS_PER_US) {
    }
    port_mark(1);
}
#else
/* Advances the clock by `known` ticks or, if that is 0, by the ticks since it was updated. */
static void clock_advance(uint64_t known)
{
    const uint32_t now = port_ticks();
    clock_ticks += known ? known : now - clock_latest;
    clock_latest = now;
}

static void put_timestamp(void)
{
    clock_advance(0);
    put_line("m-lap-us-", PORT_MICROSECONDS(clock_ticks), "");
}
#endif

/* Returns the part of `text` after `prefix`; 0 if `text` does not begin with `prefix`. */
static const char *skip_prefix(const char *text, const char *prefix)
{
    while (*prefix) {
        if (*text++ != *prefix++) {
            return 0;
        }
    }
    return text;
}

/* Returns the decimal number at *text, and moves *text past it and the spaces that follow. */
static uint32_t number_at(const char **text)
{
    uint32_t value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        value = value * 10u + (uint32_t)(**text - '0');
    }
    while (**text == ' ') {
        (*text)++;
    }
    return value;
}

/* Returns the value of a hexadecimal digit; -1 for any other character. */
static int nibble(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the number of bytes of all inputs of the model. */
static uint32_t input_bytes(void)
{
    const ar_model *model = ar_this_firmware.model;
    uint32_t bytes = 0;
    for (uint32_t k = 0; k < model->input_count; k++) {
        bytes += model->inputs[k].bytes;
    }
    return bytes;
}

/* Returns whether the host sent the input as floats, which take more bytes than the model's input. */
static uint32_t input_is_floats(void) { return ar_this_monitor.reals && expected > input_bytes(); }

/* Copies the loaded bytes to the model's inputs, one input after the other. This is needed before each inference,
 * because an inference may overwrite its inputs. */
static void fill_inputs(void)
{
    const ar_model *model = ar_this_firmware.model;
    const uint8_t *from = ar_this_monitor.input;
    if (input_is_floats()) {
        ar_this_monitor.reals->quantize(model->inputs->data, from, ar_this_monitor.reals);
        return;
    }
    for (uint32_t k = 0; k < model->input_count; k++) {
        for (uint32_t i = 0; i < model->inputs[k].bytes; i++) {
            ((uint8_t *)model->inputs[k].data)[i] = *from++;
        }
    }
}

/* Executes a command "db ..."; `text` is the part after "db ". */
static void load(const char *text)
{
    const char *size = skip_prefix(text, "load ");
    if (size) {
        expected = number_at(&size);
        loaded = 0;
        if (expected == 0 || (expected > input_bytes() &&
                              !(ar_this_monitor.reals && expected == ar_this_monitor.input_bytes))) {
            put_error(expected ? "the inputs are not that large" : "nothing to load");
            expected = 0;
            return;
        }
        put_line("m-[Expecting ", expected, " bytes]");
        return;
    }
    if (skip_prefix(text, "print")) {
        for (uint32_t i = 0; i < loaded; i++) {
            put_text(i % 8 ? "-" : "m-buffer-");
            put_hex(ar_this_monitor.input[i]);
            put_text(i % 8 == 7 || i + 1 == loaded ? "\r\n" : "");
        }
        return;
    }
    for (; *text; text += 2) {
        const int high = nibble(text[0]), low = high < 0 ? -1 : nibble(text[1]);
        if (low < 0 || loaded >= expected) {
            put_error(low < 0 ? "not hexadecimal" : "more bytes than announced");
            return;
        }
        ar_this_monitor.input[loaded++] = (uint8_t)(high * 16 + low);
    }
    if (expected && loaded == expected) {
        put_text("m-load-done\r\n");
    }
}

/* Returns the real value of element `i` of an output, in thousandths. Floats are converted with integers; if the
 * thousandths of a float do not fit into 64 bits, the result is too small. 1000 times the mantissa of a float has at
 * most 34 bits: with an exponent below -34 it rounds to 0, and with one above 28 it may need more than 63 bits. */
static int64_t thousandths(const ar_io *output, uint32_t i)
{
    const uint8_t *p = output->data;
    int64_t value;
    if (output->dtype == AR_FLOAT32) {
        const uint32_t bits = ((const uint32_t *)output->data)[i];
        const int exponent = (int)(bits >> 23 & 255u) - 150;
        value = (int64_t)((bits & 0x7FFFFFu) | 0x800000u) * 1000;
        value = exponent < -34 ? 0
                : exponent < 0 ? (value + ((int64_t)1 << (-exponent - 1))) >> -exponent
                               : value << (exponent < 28 ? exponent : 28);
        return bits >> 31 ? -value : value;
    }
    if (output->dtype == AR_INT8) {
        value = (int8_t)p[i];
    } else if (output->dtype == AR_INT16) {
        value = (int16_t)(p[2 * i] | p[2 * i + 1] << 8);
    } else if (output->dtype == AR_INT32) {
        value = ((const int32_t *)output->data)[i];
    } else {
        value = p[i];
    }
    value = (value - ar_this_monitor.zero_point) * ar_this_monitor.scale_thousandths_q16;
    return (value + 0x8000) >> 16;
}

static void put_thousandths(int64_t value)
{
    const uint64_t size = value < 0 ? (uint64_t)-value : (uint64_t)value;
    const uint32_t rest = (uint32_t)(size % 1000u);
    put_text(value < 0 ? "-" : "");
    put_number(size / 1000u);
    put_text(rest < 10 ? ".00" : rest < 100 ? ".0" : ".");
    put_number(rest);
}

static void results(void)
{
    const ar_monitor *monitor = &ar_this_monitor;
    const ar_io *output = ar_this_firmware.model->outputs;
    const uint32_t wide = output->dtype == AR_FLOAT32 || output->dtype == AR_INT32 ? 4
                          : output->dtype == AR_INT16                              ? 2
                                                                                   : 1;
    put_text("m-results-[");
    if (input_is_floats()) {
        put_thousandths((int64_t)monitor->reals->score(monitor->input, output->data, monitor));
    } else {
        for (uint32_t i = 0; i < output->bytes / wide; i++) {
            put_text(i ? "," : "");
            put_thousandths(thousandths(output, i));
        }
    }
    put_text("]\r\n");
}

static void raw(void)
{
    const ar_model *model = ar_this_firmware.model;
    put_text("m-raw-[");
    for (uint32_t k = 0; k < model->output_count; k++) {
        for (uint32_t i = 0; i < model->outputs[k].bytes; i++) {
            put_hex(((const uint8_t *)model->outputs[k].data)[i]);
        }
    }
    put_text("]\r\n");
}

/* Runs `times` inferences on the loaded input. The counter may wrap within an inference, so the clock is advanced by
 * the 64-bit count of ar_infer. The clock stops while the input is copied, because copying is not measured. */
static void run(uint32_t times)
{
    ar_run measured;
    while (times--) {
        fill_inputs();
#ifdef AR_MLPERF_ENERGY
        ar_infer(1, &measured);
#else
        clock_latest = port_ticks();
        ar_infer(1, &measured);
        clock_advance(measured.total + measured.init);
#endif
    }
}

static void infer(const char *text)
{
    /* Without numbers, the command runs one inference, after ten that warm up the caches. */
    const uint32_t times = *text ? number_at(&text) : 1;
    if (times == 0) {
        put_error("infer at least once");
        return;
    }
    const uint32_t warm_up = *text ? number_at(&text) : 10;
    put_line("m-warmup-start-", warm_up, "");
    run(warm_up);
    put_text("m-warmup-done\r\n");
    put_line("m-infer-start-", times, "");
    put_timestamp();
    run(times);
    put_timestamp();
    put_text("m-infer-done\r\n");
    results();
}

static void run_command(void)
{
    const char *rest;
    if (skip_prefix(line, "name")) {
        put_name("m-name-dut-[", ar_this_firmware.board);
    } else if (skip_prefix(line, "profile")) {
        put_text("m-profile-[MLPerf Tiny monitor of Arenite]\r\n");
        put_name("m-model-[", ar_this_firmware.model->name);
    } else if (skip_prefix(line, "timestamp")) {
        put_timestamp();
    } else if ((rest = skip_prefix(line, "db ")) != 0) {
        load(rest);
    } else if ((rest = skip_prefix(line, "infer")) != 0) {
        infer(*rest == ' ' ? rest + 1 : rest);
    } else if (skip_prefix(line, "results")) {
        results();
    } else if (skip_prefix(line, "raw")) {
        raw();
    } else if (skip_prefix(line, "help")) {
        put_text("m-[name profile timestamp db infer results raw]\r\n");
    } else {
        put_error("unknown command");
    }
}

void ar_serve(void)
{
    uint32_t length = 0;
#ifdef AR_MLPERF_ENERGY
    port_mark(1); /* so that the first timestamp is a falling edge */
#endif
    for (;;) {
        const char c = (char)port_getc();
        if (c == '%') {
            line[length < LINE_MAX ? length : 0] = 0;
            if (length >= LINE_MAX) {
                put_error("the command is too long");
            } else {
                run_command();
            }
            put_text("m-ready\r\n");
            length = 0;
        } else if (c != '\r' && c != '\n') {
            if (length < LINE_MAX) {
                line[length] = c;
            }
            length += length < LINE_MAX;
        }
    }
}
