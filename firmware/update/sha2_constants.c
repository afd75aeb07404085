#include "sha2_constants.h"

#ifdef AR_UPDATE_P256
#define C(upper, lower) 0x##upper
#else
#define C(upper, lower) 0x##upper##lower
#endif

/* The first 64 bits of the fractional parts of the cube roots of the first 80 primes. */
const ar_sha2_constant AR_SHA2_ROUND[AR_SHA2_ROUNDS] = {
    C(428a2f98, d728ae22), C(71374491, 23ef65cd), C(b5c0fbcf, ec4d3b2f),
    C(e9b5dba5, 8189dbbc), C(3956c25b, f348b538), C(59f111f1, b605d019),
    C(923f82a4, af194f9b), C(ab1c5ed5, da6d8118), C(d807aa98, a3030242),
    C(12835b01, 45706fbe), C(243185be, 4ee4b28c), C(550c7dc3, d5ffb4e2),
    C(72be5d74, f27b896f), C(80deb1fe, 3b1696b1), C(9bdc06a7, 25c71235),
    C(c19bf174, cf692694), C(e49b69c1, 9ef14ad2), C(efbe4786, 384f25e3),
    C(0fc19dc6, 8b8cd5b5), C(240ca1cc, 77ac9c65), C(2de92c6f, 592b0275),
    C(4a7484aa, 6ea6e483), C(5cb0a9dc, bd41fbd4), C(76f988da, 831153b5),
    C(983e5152, ee66dfab), C(a831c66d, 2db43210), C(b00327c8, 98fb213f),
    C(bf597fc7, beef0ee4), C(c6e00bf3, 3da88fc2), C(d5a79147, 930aa725),
    C(06ca6351, e003826f), C(14292967, 0a0e6e70), C(27b70a85, 46d22ffc),
    C(2e1b2138, 5c26c926), C(4d2c6dfc, 5ac42aed), C(53380d13, 9d95b3df),
    C(650a7354, 8baf63de), C(766a0abb, 3c77b2a8), C(81c2c92e, 47edaee6),
    C(92722c85, 1482353b), C(a2bfe8a1, 4cf10364), C(a81a664b, bc423001),
    C(c24b8b70, d0f89791), C(c76c51a3, 0654be30), C(d192e819, d6ef5218),
    C(d6990624, 5565a910), C(f40e3585, 5771202a), C(106aa070, 32bbd1b8),
    C(19a4c116, b8d2d0c8), C(1e376c08, 5141ab53), C(2748774c, df8eeb99),
    C(34b0bcb5, e19b48a8), C(391c0cb3, c5c95a63), C(4ed8aa4a, e3418acb),
    C(5b9cca4f, 7763e373), C(682e6ff3, d6b2b8a3), C(748f82ee, 5defb2fc),
    C(78a5636f, 43172f60), C(84c87814, a1f0ab72), C(8cc70208, 1a6439ec),
    C(90befffa, 23631e28), C(a4506ceb, de82bde9), C(bef9a3f7, b2c67915),
    C(c67178f2, e372532b),
#ifndef AR_UPDATE_P256
    C(ca273ece, ea26619c), C(d186b8c7, 21c0c207), C(eada7dd6, cde0eb1e),
    C(f57d4f7f, ee6ed178), C(06f067aa, 72176fba), C(0a637dc5, a2c898a6),
    C(113f9804, bef90dae), C(1b710b35, 131c471b), C(28db77f5, 23047d84),
    C(32caab7b, 40c72493), C(3c9ebe0a, 15c9bebc), C(431d67c4, 9c100d4c),
    C(4cc5d4be, cb3e42b6), C(597f299c, fc657e2a), C(5fcb6fab, 3ad6faec),
    C(6c44198c, 4a475817)
#endif
};

/* The same of the square roots of the first 8 primes. */
const ar_sha2_constant AR_SHA2_START[8] = {
    C(6a09e667, f3bcc908), C(bb67ae85, 84caa73b), C(3c6ef372, fe94f82b), C(a54ff53a, 5f1d36f1),
    C(510e527f, ade682d1), C(9b05688c, 2b3e6c1f), C(1f83d9ab, fb41bd6b), C(5be0cd19, 137e2179)};
