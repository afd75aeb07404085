/* QEMU TCG plugin for user mode: records every byte that a program stores while counting is on.
 *
 * The program controls the plugin with a system call number that no kernel uses (MARK). The argument is the request:
 * start to observe stores (WATCH), begin or end a frame, or pause or resume counting for the calling thread alone. At
 * the end of a frame the plugin writes one line for each page of memory that was stored to:
 *     P page stored writer bitmap
 * page is the page's number, stored the number of bytes stored to it, and writer the address of the instruction that
 * stored most recently. bitmap marks which of the 4096 bytes were stored to: one bit per byte, lowest bit first. The
 * last line is:
 *     E stored read
 * stored is the number of all stored bytes, and read the number of bytes that the kernel wrote into the program's
 * memory for read, pread and recvfrom. All numbers are hexadecimal. Other writes by the kernel, and writes by devices,
 * are not seen.
 *
 * Argument: out=FILE. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

#define EXPORT __attribute__((visibility("default")))

/* Functions of QEMU's plugin interface that qemu_plugin.h does not declare. */
typedef void (*qemu_plugin_vcpu_syscall_cb_t)(qemu_plugin_id_t id, unsigned int vcpu, int64_t number,
                                              uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5,
                                              uint64_t a6, uint64_t a7, uint64_t a8);
typedef void (*qemu_plugin_vcpu_syscall_ret_cb_t)(qemu_plugin_id_t id, unsigned int vcpu, int64_t number,
                                                  int64_t result);
typedef void (*qemu_plugin_simple_cb_t)(qemu_plugin_id_t id);
void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_cb_t cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_ret_cb_t cb);

enum { MARK = 41500, BEGIN = 1, END = 2, PAUSE = 3, RESUME = 4, WATCH = 5 };
enum { THREADS = 256, PAGE = 4096, BUCKETS = 1 << 16 };

typedef struct page {
    struct page *next; /* next page of the same bucket */
    uint64_t number, stored, writer;
    uint8_t bitmap[PAGE / 8];
} page;

EXPORT int qemu_plugin_version = 1;

static FILE *out;
static page *buckets[BUCKETS];
static uint64_t total, received;
static volatile bool counting;
static bool paused[THREADS];
static int64_t receive_syscalls[3]; /* numbers of read, pread64 and recvfrom */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static page *find_page(uint64_t number)
{
    page **slot = &buckets[number % BUCKETS];
    page *p;
    for (p = *slot; p; p = p->next) {
        if (p->number == number) {
            return p;
        }
    }
    p = calloc(1, sizeof *p);
    if (!p) {
        abort();
    }
    p->number = number;
    p->next = *slot;
    *slot = p;
    return p;
}

static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *instruction)
{
    unsigned size = 1U << qemu_plugin_mem_size_shift(info);
    if (!counting || paused[vcpu % THREADS] || !qemu_plugin_mem_is_store(info)) {
        return;
    }
    pthread_mutex_lock(&lock);
    total += size;
    for (unsigned i = 0; i < size; i++) {
        uint64_t byte = address + i;
        page *p = find_page(byte / PAGE);
        p->stored++;
        p->writer = (uint64_t)(uintptr_t)instruction;
        p->bitmap[byte % PAGE / 8] |= (uint8_t)(1U << byte % 8);
    }
    pthread_mutex_unlock(&lock);
}

static void clear(void)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (buckets[i]) {
            page *p = buckets[i];
            buckets[i] = p->next;
            free(p);
        }
    }
    total = received = 0;
}

static void report(void)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const page *p = buckets[i]; p; p = p->next) {
            fprintf(out, "P %llx %llx %llx ", (unsigned long long)p->number, (unsigned long long)p->stored,
                    (unsigned long long)p->writer);
            for (size_t k = 0; k < sizeof p->bitmap; k++) {
                fprintf(out, "%02x", p->bitmap[k]);
            }
            fputc('\n', out);
        }
    }
    fprintf(out, "E %llx %llx\n", (unsigned long long)total, (unsigned long long)received);
    fflush(out);
}

static void watch(qemu_plugin_id_t id);

static void on_syscall(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number != MARK) {
        return;
    }
    if (a1 == WATCH) {
        qemu_plugin_reset(id, watch); /* discards all translated code, then calls watch */
        return;
    }
    pthread_mutex_lock(&lock);
    if (a1 == BEGIN) {
        clear();
        counting = true;
    } else if (a1 == END) {
        counting = false;
        report();
    } else {
        paused[vcpu % THREADS] = a1 == PAUSE;
    }
    pthread_mutex_unlock(&lock);
}

static void on_syscall_return(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result)
{
    (void)id;
    if (counting && !paused[vcpu % THREADS] && result > 0 &&
        (number == receive_syscalls[0] || number == receive_syscalls[1] || number == receive_syscalls[2])) {
        pthread_mutex_lock(&lock);
        received += (uint64_t)result;
        pthread_mutex_unlock(&lock);
    }
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W,
                                         (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
    }
}

/* Starts to observe every store. Until then the program runs at the emulator's full speed. */
static void watch(qemu_plugin_id_t id)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    /* The numbers of the system calls are those of Linux on aarch64 and on x86-64. */
    bool arm = strcmp(info->target_name, "aarch64") == 0;
    receive_syscalls[0] = arm ? 63 : 0;
    receive_syscalls[1] = arm ? 67 : 17;
    receive_syscalls[2] = arm ? 207 : 45;
    if (argc != 1 || strncmp(argv[0], "out=", 4) != 0 || info->system_emulation) {
        fputs("store_plugin: pass out=FILE, and use QEMU in user mode\n", stderr);
        return 1;
    }
    out = fopen(argv[0] + 4, "w");
    if (!out) {
        perror(argv[0] + 4);
        return 1;
    }
    qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
    return 0;
}
