/* Runs a firmware on a simulated board, with the board's serial port (a 16550) as a pseudo-terminal.
 *
 * Arguments: ELF LOG FLASH_WAIT RAM_WAIT. The program prints "port PATH" when the pseudo-terminal exists, and starts
 * after it has read a line. It writes one line per event to the file LOG:
 *     R cycle instructions    the firmware read the counter of retired instructions
 *     P cycle instructions    the state of the simulation, about once per million cycles */
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "Vboard.h"
#include "Vboard___024root.h"
#include "verilated.h"

namespace
{

constexpr uint32_t UART = 0x10000000, LINE_STATUS = 5;
constexpr uint32_t FLASH = 0x80000000, RAM = 0x80800000;
constexpr uint8_t DATA_READY = 1, TRANSMITTER_EMPTY = 0x60;
/* After this number of polls without a byte, the program waits for the host instead of simulating a waiting core. */
constexpr unsigned IDLE_POLLS = 1024;
constexpr int IDLE_WAIT_MS = 20;

uint64_t cycles;
int port = -1;
FILE *event_log;
struct {
    uint64_t cycle;
    uint32_t instructions;
    bool is_pending;
} latest_read;

[[noreturn]] void fail(const char *problem, const char *detail)
{
    fprintf(stderr, "%s: %s\n", problem, detail);
    exit(1);
}

uint8_t received[4096];
size_t received_count, received_at;
unsigned idle_polls;

bool has_byte()
{
    if (received_at < received_count) {
        return true;
    }
    pollfd ready = {port, POLLIN, 0};
    if (poll(&ready, 1, ++idle_polls > IDLE_POLLS ? IDLE_WAIT_MS : 0) <= 0) {
        return false;
    }
    const ssize_t count = read(port, received, sizeof received);
    if (count <= 0) {
        exit(0); /* the host closed the port */
    }
    received_count = (size_t)count;
    received_at = 0;
    idle_polls = 0;
    return true;
}

void write_pending()
{
    if (latest_read.is_pending) {
        fprintf(event_log, "R %llu %u\n", (unsigned long long)latest_read.cycle, latest_read.instructions);
        fflush(event_log);
        latest_read.is_pending = false;
    }
}

void copy_segment(const std::vector<char> &file, const Elf32_Phdr &segment, uint32_t origin, void *memory,
                  size_t bytes)
{
    const size_t at = segment.p_paddr - origin;
    if (at > bytes || segment.p_filesz > bytes - at || segment.p_offset > file.size() ||
        segment.p_filesz > file.size() - segment.p_offset) {
        fail("The firmware is not a program for this board", "a segment is outside the memory");
    }
    memcpy((char *)memory + at, file.data() + segment.p_offset, segment.p_filesz);
}

void load(const char *path, Vboard___024root *root)
{
    std::ifstream stream(path, std::ios::binary);
    const std::vector<char> file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    Elf32_Ehdr header;
    if (file.size() < sizeof header || memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
        fail("The firmware is not an ELF file", path);
    }
    memcpy(&header, file.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        const size_t at = header.e_phoff + i * sizeof(Elf32_Phdr);
        Elf32_Phdr segment;
        if (at + sizeof segment > file.size()) {
            fail("The firmware is damaged", path);
        }
        memcpy(&segment, file.data() + at, sizeof segment);
        if (segment.p_type == PT_LOAD && segment.p_filesz) {
            if (segment.p_paddr < RAM) {
                copy_segment(file, segment, FLASH, &root->board__DOT__memory_i__DOT__flash[0],
                             sizeof root->board__DOT__memory_i__DOT__flash);
            } else {
                copy_segment(file, segment, RAM, &root->board__DOT__memory_i__DOT__ram[0],
                             sizeof root->board__DOT__memory_i__DOT__ram);
            }
        }
    }
}

void open_port()
{
    port = posix_openpt(O_RDWR | O_NOCTTY);
    termios settings;
    if (port < 0 || grantpt(port) || unlockpt(port) || tcgetattr(port, &settings)) {
        fail("Cannot open a pseudo-terminal", strerror(errno));
    }
    cfmakeraw(&settings);
    tcsetattr(port, TCSANOW, &settings);
    printf("port %s\n", ptsname(port));
    fflush(stdout);
    for (int c = getchar(); c != '\n'; c = getchar()) {
        if (c == EOF) {
            exit(0);
        }
    }
}

} // namespace

extern "C" int device_read(int address)
{
    uint8_t byte = 0;
    if ((uint32_t)address == UART) {
        byte = has_byte() ? received[received_at++] : 0;
    } else if ((uint32_t)address == UART + LINE_STATUS) {
        byte = (uint8_t)(TRANSMITTER_EMPTY | (has_byte() ? DATA_READY : 0));
    }
    return byte * 0x01010101;
}

extern "C" void device_write(int address, int data)
{
    if ((uint32_t)address == UART) {
        const uint8_t byte = (uint8_t)data;
        if (write(port, &byte, 1) != 1) {
            exit(0); /* the host closed the port */
        }
    }
}

extern "C" void bus_error(int address, int is_write)
{
    char text[32];
    snprintf(text, sizeof text, "%s 0x%08x", is_write ? "write to" : "read from", (unsigned)address);
    fail("The firmware accessed an address without memory", text);
}

/* A read that waits in its pipeline stage is reported in each cycle. The latest cycle is that of the read. */
extern "C" void counter_read(int instructions)
{
    if (latest_read.cycle + 1 != cycles) {
        write_pending();
    }
    latest_read = {cycles, (uint32_t)instructions, true};
}

extern "C" void running(int instructions)
{
    fprintf(event_log, "P %llu %u\n", (unsigned long long)cycles, (unsigned)instructions);
    fflush(event_log);
}

int main(int count, char **arguments)
{
    if (count != 5) {
        fail("usage", "ELF LOG FLASH_WAIT RAM_WAIT");
    }
    auto *board = new Vboard;
    load(arguments[1], board->rootp);
    event_log = fopen(arguments[2], "w");
    if (!event_log) {
        fail("Cannot write", arguments[2]);
    }
    board->flash_wait = (uint8_t)atoi(arguments[3]);
    board->ram_wait = (uint8_t)atoi(arguments[4]);
    open_port();
    for (uint64_t cycle = 0;; cycle++) {
        board->rst_n = cycle >= 4;
        cycles = cycle;
        board->clk = 1;
        board->eval();
        board->clk = 0;
        board->eval();
        if (latest_read.is_pending && latest_read.cycle != cycle) {
            write_pending();
        }
    }
}
