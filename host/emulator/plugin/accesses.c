/* QEMU TCG plugin that counts the loads and stores in each line (LINE_BYTES bytes) of the given memories, in each phase
 * of one inference.
 *
 * Phase k (1, 2, ...) begins when a block starts at the k-th address of `entries` while no phase is running. It ends
 * when a block starts in one of the ranges of `idle`. The host passes the addresses of the layer functions as
 * `entries`, and the functions that call them as `idle`, so the phase of a layer lasts from its call until it has
 * returned.
 *
 * Arguments, numbers in hexadecimal: out=FILE, entries=ADDRESS:ADDRESS:..., idle=ADDRESS:BYTES:ADDRESS:BYTES:...,
 * memory=ADDRESS:BYTES:ADDRESS:BYTES:...
 *
 * Output, one record per line, numbers in decimal except addresses:
 *     P phase                   the records that follow belong to this phase
 *     A address loads stores    accesses that begin in the LINE_BYTES bytes at this address, in hexadecimal
 *     E                         the end of the phase
 *
 * Accesses are counted as QEMU executes them: a load of two or four words counts as two or four.
 */
#include <stdio.h>

#include "arguments.h"
#include "qemu_plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_NUMBERS 65536
#define LINE_BYTES 16

typedef struct {
    uint64_t loads, stores;
} line;

typedef struct {
    uint64_t start, bytes;
    line *lines;
} memory;

typedef struct {
    unsigned phase; /* the phase that begins here; 0: none */
    bool idle;      /* the block starts in one of the ranges of `idle` */
} mark;

EXPORT int qemu_plugin_version = 1;

static FILE *out;
static unsigned phase; /* the current phase; 0: none, and nothing is counted */
static uint64_t entries[MAX_NUMBERS], idle[MAX_NUMBERS], memory_ranges[64];
static unsigned entry_count, idle_count, memory_count;
static memory memories[32];

static void write_phase(void)
{
    fprintf(out, "P %u\n", phase);
    for (unsigned m = 0; m < memory_count; m++) {
        for (uint64_t k = 0; k * LINE_BYTES < memories[m].bytes; k++) {
            line *l = memories[m].lines + k;
            if (l->loads || l->stores) {
                fprintf(out, "A %llx %llu %llu\n", (unsigned long long)(memories[m].start + k * LINE_BYTES),
                        (unsigned long long)l->loads, (unsigned long long)l->stores);
                l->loads = l->stores = 0;
            }
        }
    }
    fprintf(out, "E\n");
    fflush(out);
}

static void on_block(unsigned int vcpu, void *userdata)
{
    const mark *m = userdata;
    (void)vcpu;
    if (phase && m->idle) {
        write_phase();
        phase = 0;
    } else if (!phase) {
        phase = m->phase;
    }
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *userdata)
{
    (void)vcpu;
    (void)userdata;
    if (!phase) {
        return;
    }
    for (unsigned m = 0; m < memory_count; m++) {
        const uint64_t at = address - memories[m].start;
        if (at < memories[m].bytes) {
            line *l = memories[m].lines + at / LINE_BYTES;
            if (qemu_plugin_mem_is_store(info)) {
                l->stores++;
            } else {
                l->loads++;
            }
            return;
        }
    }
}

static void *zeroed(size_t count, size_t size)
{
    void *memory_block = calloc(count, size);
    if (!memory_block) {
        fprintf(stderr, "accesses.c: out of memory\n");
        exit(1);
    }
    return memory_block;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    const size_t count = qemu_plugin_tb_n_insns(tb);
    const uint64_t start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
    mark *m = zeroed(1, sizeof *m); /* never freed: QEMU gives no notice when it drops a block */
    (void)id;
    for (unsigned k = 0; k + 1 < idle_count; k += 2) {
        m->idle |= start >= idle[k] && start - idle[k] < idle[k + 1];
    }
    for (unsigned k = 0; k < entry_count; k++) {
        if (entries[k] == start) {
            m->phase = k + 1;
        }
    }
    if (m->idle || m->phase) {
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, m);
    }
    for (size_t k = 0; k < count; k++) {
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, k), on_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, 0);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    unsigned ranges = 0;
    (void)info;
    for (int k = 0; k < argc; k++) {
        const char *value;
        if ((value = value_of(argv[k], "out")) != 0) {
            out = fopen(value, "w");
        } else if ((value = value_of(argv[k], "entries")) != 0) {
            entry_count = numbers(value, entries, MAX_NUMBERS);
        } else if ((value = value_of(argv[k], "idle")) != 0) {
            idle_count = numbers(value, idle, MAX_NUMBERS);
        } else if ((value = value_of(argv[k], "memory")) != 0) {
            ranges = numbers(value, memory_ranges, 64) / 2;
        }
    }
    if (!out || !entry_count || !idle_count || !ranges) {
        fprintf(stderr, "accesses.c: out, entries, idle and memory are needed\n");
        return 1;
    }
    for (; memory_count < ranges; memory_count++) {
        memory *m = memories + memory_count;
        m->start = memory_ranges[2 * memory_count];
        m->bytes = memory_ranges[2 * memory_count + 1];
        m->lines = zeroed(m->bytes / LINE_BYTES + 1, sizeof(line));
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
