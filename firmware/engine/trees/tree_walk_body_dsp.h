/* The function of tree_walk_dsp.h for one type of features. Define before including:
 *   AR_TREE_NAME     its name
 *   AR_TREE_FEATURE  the C type of a feature
 *   AR_TREE_LOAD     the instruction that loads a feature, as text */
#include "tree_walk_dsp.h"

/* The number of trees whose leaves are looked up before their rows are added. */
#define BLOCK 32

/* Returns the position of the row of the leaf to which the tree at `at` leads. */
static inline uint32_t leaf_row(const AR_TREE_FEATURE *x, const uint16_t *at)
{
#ifdef __ARM_FEATURE_DSP
/* One node. The offset of a feature is one feature too large, because 0 stands for a leaf. The lower half of `word` has
 * the bytes to skip, its upper half the threshold. */
#define NODE                                                                   \
    "ldrh %[offset], [%[at]], #2\n"                                            \
    "cbz %[offset], 2f\n"                                                      \
    "ldr %[word], [%[at]], #4\n" AR_TREE_LOAD " %[value], [%[x], %[offset]]\n" \
    "cmp %[value], %[word], asr #16\n"                                         \
    "it gt\n"                                                                  \
    "uxtahgt %[at], %[at], %[word]\n"
    uint32_t offset, word;
    int32_t value;
    const uintptr_t before = (uintptr_t)x - sizeof *x;
    __asm__("1:\n" NODE NODE NODE NODE NODE "b 1b\n"
            "2:\n"
            : [at] "+&l"(at), [offset] "=&l"(offset), [word] "=&l"(word), [value] "=&l"(value)
            : [x] "l"(before)
            : "cc", "memory");
    return *at;
#else
    for (;;) {
        const uint32_t offset = *at++;
        if (offset == 0) {
            return *at;
        }
        const int32_t threshold = (int16_t)at[1];
        at += 2 + (x[offset / sizeof *x - 1] > threshold ? at[0] / 2 : 0);
    }
#endif
}

/* Adds two values of `count` rows for each of `words` words. `words` is constant where this is inlined. */
static inline __attribute__((always_inline)) void add_rows(int32_t *out, int32_t width, const int32_t *column,
                                                           const uint16_t *positions, uint32_t count,
                                                           uint32_t words)
{
    int32_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
    for (const uint16_t *end = positions + count; positions != end;) {
        const int32_t *row = column + *positions++;
        a += (int16_t)row[0];
        b += row[0] >> 16;
        if (words > 1) {
            c += (int16_t)row[1];
            d += row[1] >> 16;
        }
        if (words > 2) {
            e += (int16_t)row[2];
            f += row[2] >> 16;
        }
    }
    const int32_t sums[6] = {a, b, c, d, e, f};
    for (int32_t k = 0; k < width && k < (int32_t)(2 * words); k++) {
        out[k] += sums[k];
    }
}

void AR_TREE_NAME(const ar_tree_walk_dsp_params *p)
{
    const AR_TREE_FEATURE *x = p->input;
    const uint16_t *next = p->nodes;
    for (uint32_t k = 0; k < p->outputs; k++) {
        p->output[k] = p->bias[k];
    }
    for (uint32_t left = p->trees; left != 0;) {
        uint16_t positions[BLOCK];
        const uint32_t count = left < BLOCK ? left : BLOCK;
        for (uint32_t k = 0; k < count; k++) {
            const uint16_t *tree = next + 1;
            next = tree + *next;
            positions[k] = (uint16_t)leaf_row(x, tree);
        }
        left -= count;
        int32_t *out = p->output + (p->outputs - p->width);
        const int32_t *column = p->rows;
        int32_t width = p->width;
        for (; width > 4; width -= 6, column += 3, out += 6) {
            add_rows(out, width, column, positions, count, 3);
        }
        if (width > 2) {
            add_rows(out, width, column, positions, count, 2);
        } else if (width > 0) {
            add_rows(out, width, column, positions, count, 1);
        }
    }
}
