#include "reed_solomon.h"

enum { MAX_ERRORS = AR_RS_PARITY_BYTES / 2, POLYNOMIAL = 0x11D, INVERSE_OF_2 = 0x8E };

void ar_rs_add(uint32_t parity[AR_RS_PARITY_WORDS], uint32_t byte)
{
    /* The coefficients of the generator behind the first one, times 2^row. */
    static const uint32_t generator[8][AR_RS_PARITY_WORDS] = {
        {0x3B0D68BD, 0x44D11E08, 0xA34129E5, 0x6232243B}, {0x761AD067, 0x88BF3C10, 0x5B8252D7, 0xC4644876},
        {0xEC34BDCE, 0x0D637820, 0xB619A4B3, 0x95C890EC}, {0xC5686781, 0x1AC6F040, 0x7132557B, 0x378D3DC5},
        {0x97D0CE1F, 0x3491FD80, 0xE264AAF6, 0x6E077A97}, {0x33BD813E, 0x683FE71D, 0xD9C849F1, 0xDC0EF433},
        {0x66671F7C, 0xD07ED33A, 0xAF8D92FF, 0xA51CF566}, {0xCCCE3EF8, 0xBDFCBB74, 0x430739E3, 0x5738F7CC}};
    uint32_t factor = parity[0] >> 24 ^ byte;
    for (uint32_t i = 0; i < AR_RS_PARITY_WORDS; i++) {
        parity[i] = parity[i] << 8 | (i + 1 < AR_RS_PARITY_WORDS ? parity[i + 1] >> 24 : 0);
    }
    for (uint32_t row = 0; factor; row++, factor >>= 1) {
        for (uint32_t i = 0; i < AR_RS_PARITY_WORDS && (factor & 1u); i++) {
            parity[i] ^= generator[row][i];
        }
    }
}

static uint8_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; b; b >>= 1) {
        product ^= b & 1u ? a : 0;
        a <<= 1;
        a ^= a & 0x100u ? POLYNOMIAL : 0;
    }
    return (uint8_t)product;
}

/* Returns a to the power of 254. */
static uint8_t invert(uint8_t a)
{
    uint8_t power = a, inverse = 1;
    for (uint32_t i = 0; i < 7; i++) {
        power = multiply(power, power);
        inverse = multiply(inverse, power);
    }
    return inverse;
}

/* Returns the value of a polynomial at x. The first coefficient is that of x^0. */
static uint8_t evaluate(const uint8_t *polynomial, uint32_t count, uint32_t x)
{
    uint8_t value = 0;
    while (count) {
        value = multiply(value, x) ^ polynomial[--count];
    }
    return value;
}

/* Writes the values of the block, as a polynomial, at the roots of the generator. Returns 0 if all of them are 0. */
static uint32_t find_syndromes(const uint8_t *block, uint32_t count, uint32_t stride, uint8_t *syndromes)
{
    uint32_t parity[AR_RS_PARITY_WORDS] = {0}, difference = 0;
    uint8_t rest[AR_RS_PARITY_BYTES];
    for (uint32_t i = 0; i < count - AR_RS_PARITY_BYTES; i++) {
        ar_rs_add(parity, block[i * stride]);
    }
    for (uint32_t i = 0; i < AR_RS_PARITY_BYTES; i++) {
        const uint8_t byte = block[(count - AR_RS_PARITY_BYTES + i) * stride] ^ ar_rs_parity(parity, i);
        rest[AR_RS_PARITY_BYTES - 1 - i] = byte;
        difference |= byte;
    }
    uint8_t root = 1;
    for (uint32_t i = 0; i < AR_RS_PARITY_BYTES; i++, root = multiply(root, 2)) {
        syndromes[i] = evaluate(rest, AR_RS_PARITY_BYTES, root);
    }
    return difference;
}

/* Finds the shortest recurrence of the syndromes (Berlekamp and Massey): the polynomial whose roots are the inverses of the
 * wrong positions. Returns its degree, or MAX_ERRORS + 1 if it is larger than MAX_ERRORS. */
static uint32_t find_locator(const uint8_t *syndromes, uint8_t *locator)
{
    uint8_t before[MAX_ERRORS + 1] = {1}, copy[MAX_ERRORS + 1];
    uint8_t divisor = 1;
    uint32_t degree = 0, shift = 1;
    locator[0] = 1;
    for (uint32_t n = 0; n < AR_RS_PARITY_BYTES; n++, shift++) {
        uint8_t discrepancy = syndromes[n];
        for (uint32_t i = 1; i <= degree; i++) {
            discrepancy ^= multiply(locator[i], syndromes[n - i]);
        }
        if (discrepancy == 0) {
            continue;
        }
        const uint8_t factor = multiply(discrepancy, invert(divisor));
        const int grows = 2 * degree <= n;
        if (grows && n + 1 - degree > MAX_ERRORS) {
            return MAX_ERRORS + 1;
        }
        for (uint32_t i = 0; i <= MAX_ERRORS; i++) {
            copy[i] = locator[i];
        }
        for (uint32_t i = shift; i <= MAX_ERRORS; i++) {
            locator[i] ^= multiply(factor, before[i - shift]);
        }
        if (grows) {
            for (uint32_t i = 0; i <= MAX_ERRORS; i++) {
                before[i] = copy[i];
            }
            degree = n + 1 - degree;
            divisor = discrepancy;
            shift = 0;
        }
    }
    return degree;
}

int ar_rs_repair(uint8_t *block, uint32_t count, uint32_t stride)
{
    uint8_t syndromes[AR_RS_PARITY_BYTES], locator[MAX_ERRORS + 1] = {0}, derivative[MAX_ERRORS] = {0};
    uint8_t evaluator[MAX_ERRORS] = {0}, places[MAX_ERRORS], errors[MAX_ERRORS];
    if (find_syndromes(block, count, stride, syndromes) == 0) {
        return 0;
    }
    const uint32_t degree = find_locator(syndromes, locator);
    if (degree > MAX_ERRORS) {
        return -1;
    }
    for (uint32_t i = 0; i < degree; i++) {
        derivative[i] = i & 1u ? 0 : locator[i + 1];
        for (uint32_t k = 0; k <= i; k++) {
            evaluator[i] ^= multiply(locator[k], syndromes[i - k]);
        }
    }
    /* The byte at place p from the end has position 2^p. The error values are those of Forney. */
    uint32_t found = 0, inverse = 1, position = 1;
    for (uint32_t place = 1; place <= count && found < degree; place++) {
        if (evaluate(locator, degree + 1, inverse) == 0) {
            const uint8_t slope = evaluate(derivative, degree, inverse);
            const uint8_t value = multiply(evaluate(evaluator, degree, inverse), invert(slope));
            places[found] = (uint8_t)(count - place);
            errors[found++] = multiply(value, position);
        }
        inverse = inverse >> 1 ^ (inverse & 1u ? INVERSE_OF_2 : 0);
        position = multiply(position, 2);
    }
    if (found < degree) {
        return -1;
    }
    for (uint32_t i = 0; i < found; i++) {
        block[places[i] * stride] ^= errors[i];
    }
    return (int)found;
}
