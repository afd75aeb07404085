/* External delegates with faults, for tests. The macro WHAT is one of CRASH, HANG, IDLE, HALF.

   A delegate takes operators from TensorFlow Lite and runs them. CRASH aborts and HANG sleeps when they run. IDLE takes
   every operator and computes nothing: it is fast and wrong. HALF takes only the last operator and computes nothing.
   The declarations follow the public interface of TensorFlow Lite's delegates. Structures end in padding because they
   are longer in later versions. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { CRASH, HANG, IDLE, HALF };

struct integers {
    int size;
    int data[64];
};

struct context;
struct node;

struct kernel {
    void *(*init)(struct context *, const char *, size_t);
    void (*free)(struct context *, void *);
    int (*prepare)(struct context *, struct node *);
    int (*invoke)(struct context *, struct node *);
    const char *(*text)(const struct context *, const struct node *);
    int32_t builtin;
    const char *name;
    int version;
    void *later[8];
};

struct delegate {
    void *data;
    int (*prepare)(struct context *, struct delegate *);
    void *copies[3];
    int64_t flags;
    void *later[8];
};

struct context {
    size_t tensors;
    int (*plan)(struct context *, struct integers **);
    void *values;
    void *interpreter;
    int (*resize)(struct context *, void *, struct integers *);
    void (*report)(struct context *, const char *, ...);
    int (*add)(struct context *, int, int *);
    int (*node)(struct context *, int, struct node **, struct kernel **);
    int (*replace)(struct context *, struct kernel, const struct integers *, struct delegate *);
};

static int nothing(struct context *context, struct node *node)
{
    (void)context;
    (void)node;
    return 0;
}

static int crash(struct context *context, struct node *node)
{
    (void)context;
    (void)node;
    abort();
}

static int hang(struct context *context, struct node *node)
{
    (void)context;
    (void)node;
    sleep(3600);
    return 1;
}

/* Takes operators of the graph: the last one for HALF, else all, up to 64. */
static int take(struct context *context, struct delegate *self)
{
    struct integers *all;
    struct integers taken = {0, {0}};
    struct kernel kernel = {0};
    int status = context->plan(context, &all);
    if (status != 0) {
        return status;
    }
    for (int i = WHAT == HALF ? all->size - 1 : 0; i < all->size && taken.size < 64; i++) {
        taken.data[taken.size++] = all->data[i];
    }
    kernel.prepare = nothing;
    kernel.invoke = WHAT == CRASH ? crash : WHAT == HANG ? hang : nothing;
    kernel.name = "Misbehaves";
    kernel.version = 1;
    return context->replace(context, kernel, &taken, self);
}

struct delegate *tflite_plugin_create_delegate(char **keys, char **values, size_t count,
                                               void (*report)(const char *))
{
    (void)keys;
    (void)values;
    (void)count;
    (void)report;
    struct delegate *delegate = calloc(1, sizeof *delegate);
    if (delegate != NULL) {
        delegate->prepare = take;
    }
    return delegate;
}

void tflite_plugin_destroy_delegate(struct delegate *delegate) { free(delegate); }
