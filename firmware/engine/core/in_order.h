/* Keeps a compiler from rearranging sums.
 *
 * In an unrolled loop of products GCC loads many operands early and adds in an order of its own; on the small cores
 * there are no registers for that, and it spills the sums to the stack. */
#ifndef ARENITE_IN_ORDER_H
#define ARENITE_IN_ORDER_H

#if defined(__GNUC__) && !defined(AR_HOST)
#define AR_IN_ORDER(a, b) __asm__ volatile("" : "+r"(a), "+r"(b))
#define AR_IN_REGISTER(a) __asm__("" : "+r"(a)) /* a constant that is not to be added as an immediate */
#else
#define AR_IN_ORDER(a, b) (void)0
#define AR_IN_REGISTER(a) (void)0
#endif

#endif
