/* Fuzz target: the MLPerf Tiny monitor receives text from a hostile host. The input goes to the serial port as it is. */
#include "agent.h"
#include "memory_watch.h"
#include "port.h"
#include "serial_port.h"
#include "target.h"

/* An input has at most 4096 characters, so at most 2048 commands of two characters. The answer to a command is a line of
 * at most 240 hexadecimal bytes, so all answers are shorter than this number of bytes. */
#define MAX_SENT (1u << 24)

static uint32_t sent;

void serial_sent(uint8_t byte)
{
    EXPECT(byte == '\r' || byte == '\n' || (byte >= ' ' && byte <= '~'));
    EXPECT(sent++ < MAX_SENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sent = 0;
    serial_receive(data, size);
    if (setjmp(serial_end) == 0) {
        ar_prepare();
        ar_serve();
    }
    EXPECT(ar_guards_damaged() == 0);
    return 0;
}
