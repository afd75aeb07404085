/* The check of an Ed25519 signature (RFC 8032) of a hash with less code and stack than ed25519.c, and more time. It accepts
 * what ed25519.c accepts. p256-m does the arithmetic of long numbers, for any odd modulus; its functions for this have no
 * names outside its file, so the file is included. */
#include "signature.h"
#include "sha512.h"
#include "p256-m.c"

const uint8_t AR_SIGNATURE_INFO[AR_SIGNATURE_INFO_BYTES] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                            0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

enum { WORDS = 8, NUMBER_BYTES = 32 };

/* A number below 2^256, its least significant word first. Those of the field are x * 2^256 mod p instead of x. */
typedef uint32_t number[WORDS];

/* A point (x/z, y/z) of the curve -x^2 + y^2 = 1 + d x^2 y^2, with t = x y / z. */
typedef struct {
    number x, y, z, t;
} point;

/* Each has the modulus m, 2^512 mod m, and -1/m mod 2^32. */
static const m256_mod FIELD = {
    {0xffffffed, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x7fffffff},
    {1444},
    0x286bca1b};
static const m256_mod ORDER = {
    {0x5cf5d3ed, 0x5812631a, 0xa2f79cd6, 0x14def9de, 0x00000000, 0x00000000, 0x00000000, 0x10000000},
    {0x449c0f01, 0xa40611e3, 0x68859347, 0xd00e1ba7, 0x17f5be65, 0xceec73d2, 0x7c309a3d, 0x0399411b},
    0x12547e1b};
/* 2 d, and a root of -1. */
static const number DOUBLE_D = {0xbe8fd3f4, 0x01db17fd, 0x5f8c52e7, 0x21430eef,
                                0x78310d20, 0xcb27240f, 0xe53f8a4d, 0x590456b4};
static const number ROOT = {0xfe2bdb04, 0x3b5807d4, 0xb51be9ed, 0x03f590fd,
                            0x336202d1, 0x6d6e16bf, 0xd6c71ba8, 0x75776b0b};
/* 2^256 mod p: the number 1 of the field. */
enum { ONE = 38 };

static void __attribute__((noinline)) multiply(number z, const number x, const number y)
{
    m256_mul(z, x, y, &FIELD);
}

static void __attribute__((noinline)) add(number z, const number x, const number y)
{
    m256_add(z, x, y, &FIELD);
}

static void __attribute__((noinline)) subtract(number z, const number x, const number y)
{
    m256_sub(z, x, y, &FIELD);
}

static int are_equal(const number x, const number y) { return u256_diff(x, y) == 0; }

static void __attribute__((noinline)) load(number z, const uint8_t bytes[NUMBER_BYTES])
{
    for (unsigned i = 0; i < WORDS; i++, bytes += 4) {
        z[i] = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    }
}

/* p += q. The formula has no exceptions on this curve, so it doubles a point too. */
static void __attribute__((noinline)) add_point(point *p, const point *q)
{
    number a, b, c, t;
    subtract(a, p->y, p->x);
    subtract(t, q->y, q->x);
    multiply(a, a, t);
    add(b, p->y, p->x);
    add(t, q->y, q->x);
    multiply(b, b, t);
    multiply(c, p->t, q->t);
    multiply(c, c, DOUBLE_D);
    multiply(t, p->z, q->z);
    add(t, t, t);
    subtract(p->x, b, a);
    add(p->y, b, a);
    subtract(p->z, t, c);
    add(c, t, c);
    multiply(p->t, p->x, p->y);
    multiply(p->x, p->x, p->z);
    multiply(p->y, p->y, c);
    multiply(p->z, p->z, c);
}

/* Decodes a point. `sign` is 1 for the negative of the point. Returns 0 if there is no such point. */
static int __attribute__((noinline)) load_point(point *p, const uint8_t bytes[NUMBER_BYTES], unsigned sign)
{
    number u, v, power;
    load(p->y, bytes);
    sign ^= p->y[WORDS - 1] >> 31;
    p->y[WORDS - 1] &= 0x7fffffff;
    m256_prep(p->y, &FIELD); /* y may be p or more, as in ed25519.c */
    /* x^2 = u / v, with u = 2 y^2 - 2 and v = 2 d y^2 + 2 */
    u256_set32(p->z, 2 * ONE);
    multiply(u, p->y, p->y);
    multiply(v, u, DOUBLE_D);
    add(v, v, p->z);
    add(u, u, u);
    subtract(u, u, p->z);
    u256_set32(p->z, ONE);
    /* The root, if there is one, is x = u v^3 (u v^7)^((p - 5) / 8), or this times the root of -1. */
    multiply(p->t, v, v);
    multiply(p->x, p->t, v);
    multiply(p->x, p->x, u); /* u v^3 */
    multiply(p->t, p->t, p->t);
    multiply(p->t, p->t, p->x); /* u v^7 */
    memcpy(power, p->t, sizeof power);
    for (unsigned i = 0; i < 251; i++) { /* (p - 5) / 8 has 250 bits 1, then 0, 1 */
        multiply(power, power, power);
        if (i != 249) {
            multiply(power, power, p->t);
        }
    }
    multiply(p->x, p->x, power);
    multiply(power, p->x, p->x);
    multiply(power, power, v);
    if (!are_equal(power, u)) {
        add(power, power, u);
        if (u256_diff0(power) != 0) {
            return 0;
        }
        multiply(p->x, p->x, ROOT);
    }
    memcpy(u, p->x, sizeof u);
    m256_done(u, &FIELD);
    if ((u[0] & 1) != sign) {
        u256_set32(v, 0);
        subtract(p->x, v, p->x);
    }
    multiply(p->t, p->x, p->y);
    return 1;
}

/* Writes the hash that binds the parts together, modulo the order of the base point. */
static void __attribute__((noinline)) challenge(number reduced, const uint8_t *signature,
                                                const uint8_t *public_key, const uint8_t *message)
{
    ar_sha512 hash;
    uint8_t digest[AR_SHA512_BYTES];
    number upper;
    ar_sha512_start(&hash);
    ar_sha512_add(&hash, signature, NUMBER_BYTES);
    ar_sha512_add(&hash, public_key, NUMBER_BYTES);
    ar_sha512_add(&hash, message, NUMBER_BYTES);
    ar_sha512_finish(&hash, digest);
    load(reduced, digest);
    load(upper, digest + NUMBER_BYTES);
    m256_prep(reduced, &ORDER);
    m256_done(reduced, &ORDER);
    m256_prep(upper, &ORDER); /* times 2^256, which is its place */
    m256_add(reduced, reduced, upper, &ORDER);
}

/* Returns 1 if 8 (s B - h A - R) is the neutral point, for the base point B and the points R of the signature and A of the key.
 * The factor makes the result the same for all points that differ by one of small order. */
static int __attribute__((noinline)) check(const uint8_t *signature, const uint8_t *public_key,
                                           const number h)
{
    static const uint8_t base[NUMBER_BYTES] = {
        0x58, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
        0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
    const uint8_t *s = signature + NUMBER_BYTES;
    point sum, base_point, other;
    /* s must be below the order: otherwise each signature has several forms. */
    load(sum.x, s);
    if (!u256_sub(sum.x, sum.x, ORDER.m) || !load_point(&other, public_key, 1) ||
        !load_point(&base_point, base, 0)) {
        return 0;
    }
    memset(&sum, 0, sizeof sum);
    sum.y[0] = sum.z[0] = ONE;
    /* A table with B - A would save one addition of seven, and cost 128 bytes of stack. */
    for (unsigned bit = 253; bit-- > 0;) {
        add_point(&sum, &sum);
        if ((uint32_t)s[bit / 8] >> bit % 8 & 1u) {
            add_point(&sum, &base_point);
        }
        if (h[bit / 32] >> bit % 32 & 1u) {
            add_point(&sum, &other);
        }
    }
    if (!load_point(&other, signature, 1)) {
        return 0;
    }
    add_point(&sum, &other);
    for (unsigned i = 0; i < 3; i++) {
        add_point(&sum, &sum);
    }
    return u256_diff0(sum.x) == 0 && are_equal(sum.y, sum.z);
}

int ar_signature_check(uint8_t *signature, uint32_t bytes, const uint8_t *public_key, const uint8_t hash[32])
{
    number reduced;
    if (bytes != AR_SIGNATURE_MAX_BYTES) {
        return 0;
    }
    challenge(reduced, signature, public_key, hash);
    return check(signature, public_key, reduced);
}
