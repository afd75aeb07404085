/* QEMU TCG plugin that counts how often each translation block ran in each phase of one inference, and how often it
 * ended in a jump.
 *
 * Phase k (1, 2, ...) begins when a block starts at the k-th address of `entries` while no phase is running. It ends
 * when a block starts in one of the ranges of `idle`. The host passes the addresses of the layer functions as
 * `entries`, and the functions that call them as `idle`, so the phase of a layer lasts from its call until it has
 * returned. When a block starts at `split`, the current run of the phase ends and the next run begins.
 *
 * Arguments, numbers in hexadecimal: out=FILE, entries=ADDRESS:ADDRESS:..., idle=ADDRESS:BYTES:ADDRESS:BYTES:...,
 * split=ADDRESS, waits=ADDRESS:BYTES:... (blocks in these ranges only wait for another core and are not counted).
 *
 * Each core has its own phase. A phase that only the second core enters is written like any other.
 *
 * Output, one record per line, numbers in decimal except addresses:
 *     B id start end    a block: its first address, and the address after its last instruction, in hexadecimal
 *     P phase           the records that follow belong to one run of the phase
 *     C id count taken misaligned  how often the block ran, how many of these runs ended in a jump, and how many of these
 *                       jumps led to a RISC-V instruction of four bytes whose address is not a multiple of four
 *     S or E            the end of the run, at the split or at the end of the phase
 * The B record of a block precedes its first C record.
 *
 * All cores must share one thread of QEMU. Run without -icount: with it, a block that accesses a device starts a
 * second time and would be counted twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "qemu_plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_NUMBERS 65536
#define CORES 2

typedef struct block {
    struct block *next; /* in the list of all blocks, newest first */
    uint64_t start, end;
    uint64_t count[CORES], taken[CORES],
        misaligned[CORES]; /* as in a C record, for the current run of each core's phase */
    unsigned id;
    unsigned phase; /* the phase that begins here; 0: none */
    bool idle, split, wait, written;
    bool is_misaligned; /* whether a jump to this block is counted as misaligned */
} block;

EXPORT int qemu_plugin_version = 1;

static FILE *out;
static block *blocks;
static block *previous[CORES]; /* the latest block of each core; 0 if it was not counted */
static unsigned block_count;
static unsigned phases[CORES]; /* the current phase of each core; 0: none, and nothing is counted */
static enum { THUMB, RISC_V, XTENSA } target;
static uint64_t entries[MAX_NUMBERS], idle[MAX_NUMBERS], waits[MAX_NUMBERS], split[1];
static unsigned entry_count, idle_count, wait_count, split_count;

/* Ends the current run of a core's phase: writes its counts and clears them. */
static void write_run(unsigned core, char end)
{
    fprintf(out, "P %u\n", phases[core]);
    for (block *b = blocks; b; b = b->next) {
        if (b->count[core] == 0) {
            continue;
        }
        if (!b->written) {
            fprintf(out, "B %u %llx %llx\n", b->id, (unsigned long long)b->start, (unsigned long long)b->end);
            b->written = true;
        }
        fprintf(out, "C %u %llu %llu %llu\n", b->id, (unsigned long long)b->count[core],
                (unsigned long long)b->taken[core], (unsigned long long)b->misaligned[core]);
        b->count[core] = b->taken[core] = b->misaligned[core] = 0;
    }
    fprintf(out, "%c\n", end);
    fflush(out);
}

static void on_block(unsigned int core, void *userdata)
{
    block *b = userdata;
    if (core >= CORES) {
        return;
    }
    if (phases[core] && previous[core] && previous[core]->end != b->start) {
        previous[core]->taken[core]++;
        previous[core]->misaligned[core] += b->is_misaligned;
    }
    if (phases[core] && b->idle) {
        write_run(core, 'E');
        phases[core] = 0;
    } else if (phases[core] && b->split) {
        write_run(core, 'S');
    } else if (!phases[core]) {
        phases[core] = b->phase;
    }
    if (phases[core] && !b->wait) {
        b->count[core]++;
        previous[core] = b;
    } else {
        previous[core] = 0;
    }
}

/* Returns the length of an instruction in bytes. It needs only the first bytes, because QEMU may not provide
 * the bytes on a second page. */
static unsigned bytes_of(const struct qemu_plugin_insn *insn)
{
    const uint8_t *data = qemu_plugin_insn_data(insn);
    switch (target) {
    case THUMB: /* two halfwords when the first begins with 0b11101, 0b11110 or 0b11111 */
        return data[1] >= 0xE8 ? 4 : 2;
    case RISC_V:
        return (data[0] & 3) == 3 ? 4 : 2;
    default: /* XTENSA: opcodes from 8 on are the short ones */
        return (data[0] & 15) >= 8 ? 2 : 3;
    }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    const size_t count = qemu_plugin_tb_n_insns(tb);
    const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, count - 1);
    /* QEMU gives no notice when it drops a block, so its record stays: a new translation adds a second record. */
    block *b = calloc(1, sizeof *b);
    (void)id;
    if (!b) {
        fprintf(stderr, "blocks.c: out of memory\n");
        exit(1);
    }
    b->start = qemu_plugin_insn_vaddr(first);
    b->is_misaligned = target == RISC_V && b->start % 4 != 0 && bytes_of(first) == 4;
    b->end = qemu_plugin_insn_vaddr(last) + bytes_of(last);
    b->id = block_count++;
    for (unsigned k = 0; k + 1 < idle_count; k += 2) {
        b->idle |= b->start >= idle[k] && b->start - idle[k] < idle[k + 1];
    }
    for (unsigned k = 0; k + 1 < wait_count; k += 2) {
        b->wait |= b->start >= waits[k] && b->start - waits[k] < waits[k + 1];
    }
    b->split = split_count && b->start == split[0];
    for (unsigned k = 0; k < entry_count; k++) {
        if (entries[k] == b->start) {
            b->phase = k + 1;
        }
    }
    b->next = blocks;
    blocks = b;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, b);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    target = strcmp(info->target_name, "arm") == 0         ? THUMB
             : strncmp(info->target_name, "riscv", 5) == 0 ? RISC_V
                                                           : XTENSA;
    for (int k = 0; k < argc; k++) {
        const char *value;
        if ((value = value_of(argv[k], "out")) != 0) {
            out = fopen(value, "w");
        } else if ((value = value_of(argv[k], "entries")) != 0) {
            entry_count = numbers(value, entries, MAX_NUMBERS);
        } else if ((value = value_of(argv[k], "idle")) != 0) {
            idle_count = numbers(value, idle, MAX_NUMBERS);
        } else if ((value = value_of(argv[k], "waits")) != 0) {
            wait_count = numbers(value, waits, MAX_NUMBERS);
        } else if ((value = value_of(argv[k], "split")) != 0) {
            split_count = numbers(value, split, 1);
        }
    }
    if (!out || !entry_count || !idle_count) {
        fprintf(stderr, "blocks.c: out, entries and idle are needed\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
