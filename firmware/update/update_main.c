/* A program that runs one model and takes updates of itself and of the model. After its start it tests the model, and
 * confirms or rejects the images. Then it answers on the serial port. A line `status` asks for its report, a line `test`
 * for another self-test. With the agent of a fleet (AR_AGENT), a line `infer NUMBER` runs an inference, which the agent
 * counts.
 *
 * This file includes no header that is generated from the model: its code must be the same for another model of the same
 * graph, whose constants are in the slot of the model. */
#include "health.h"
#include "port.h"
#include "program.h"
#include "self_test.h"
#include "update_glue.h"
#ifdef AR_AGENT
#include "agent_glue.h"
#endif

#ifdef AR_UPDATE_PARTITIONS
#include "esp_memories.h" /* the model is data, and there may be none */
#else
extern const ar_model model;
extern const ar_golden golden;
#endif

#ifdef AR_AGENT
enum { LINE_BYTES = 20 };
#else
enum { LINE_BYTES = 16 };
#endif

static char line[LINE_BYTES];
static uint32_t line_bytes; /* more than LINE_BYTES - 1: the line is too long */
static uint32_t result;     /* of the latest self-test */

void update_print(const char *text)
{
    while (*text) {
        port_putc((uint8_t)*text++);
    }
}

static void print_hex(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < 2 * count; i++) {
        port_putc((uint8_t)"0123456789abcdef"[bytes[i / 2] >> (i & 1u ? 0 : 4) & 15u]);
    }
}

void update_print_number(uint32_t number)
{
    char digits[11];
    uint32_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    update_print(digits + at);
}

static void report(void)
{
    static const uint8_t graph[] = PROGRAM_GRAPH;
    update_print("board " PROGRAM_BOARD "\ngraph ");
    print_hex(graph, sizeof graph);
    update_print("\nmodel ");
    print_hex(model.hash, sizeof model.hash);
    update_print(" ");
    update_print(model.name);
    update_print("\n");
    update_glue_report();
    update_print("self-test ");
    if (result == AR_SELF_TEST_PASSED) {
        update_print_number(golden.count);
        update_print(" samples passed\n");
    } else {
        update_print("failed with ");
        update_print_number(result);
        update_print("\n");
    }
}

static void test_model(void) { result = ar_self_test(&model, &golden, health_alive); }

static uint32_t is_line(const char *text)
{
    uint32_t i = 0;
    while (text[i] && text[i] == line[i]) {
        i++;
    }
    return text[i] == line[i];
}

#ifdef AR_AGENT
#define COMMANDS "status, test or infer NUMBER"

/* Runs an inference if the line is `infer NUMBER`. Returns 0 if it is not. */
static uint32_t infer(void)
{
    static const char command[] = "infer ";
    uint32_t at = 0, number = 0;
    for (; command[at]; at++) {
        if (line[at] != command[at]) {
            return 0;
        }
    }
    do {
        const uint32_t digit = (uint32_t)(line[at] - '0');
        if (digit > 9 || number > (UINT32_MAX - digit) / 10) {
            return 0;
        }
        number = 10 * number + digit;
    } while (line[++at]);
#ifdef AR_UPDATE_PARTITIONS
    if (golden.count == 0) {
        update_print("impossible: there is no model\n");
        return 1;
    }
#endif
    update_print("inference ");
    update_print_number(agent_glue_infer(&model, &golden, number));
    update_print(" us\n");
    return 1;
}
#else
#define COMMANDS "status or test"

static uint32_t infer(void) { return 0; }
#endif

/* Takes a byte of text from the serial port. */
void update_text(uint8_t byte)
{
    if (byte != '\n' && byte != '\r') {
        if (line_bytes < LINE_BYTES - 1) {
            line[line_bytes] = (char)byte;
        }
        line_bytes += line_bytes < LINE_BYTES;
        return;
    }
    if (line_bytes == 0) {
        return;
    }
    line[line_bytes < LINE_BYTES ? line_bytes : 0] = 0;
    line_bytes = 0;
    if (is_line("status")) {
        report();
    } else if (is_line("test")) {
        test_model();
        report();
    } else if (!infer()) {
        update_print("unknown command: send " COMMANDS "\n");
    }
}

int main(void)
{
    port_init();
#ifdef AR_AGENT
    agent_glue_start();
#endif
    update_glue_start();
    test_model();
    report();
    update_glue_judge(result);
    for (;;) {
        update_glue_serve();
    }
}
