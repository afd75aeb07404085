/* Prevents the compiler from reordering sums.
 *
 * In an unrolled loop of products GCC loads many operands early and adds them in another order. The small cores have
 * too few registers for that, and GCC spills the sums to the stack.
 *
 * AR_IN_ORDER(a, b) makes GCC compute the present values of a and b before it changes them further. AR_IN_REGISTER(a)
 * makes GCC hold a in a register. Both do nothing in programs for the host and with other compilers. */
#ifndef ARENITE_IN_ORDER_H
#define ARENITE_IN_ORDER_H

#if defined(__GNUC__) && !defined(AR_HOST)
#define AR_IN_ORDER(a, b) __asm__ volatile("" : "+r"(a), "+r"(b))
#define AR_IN_REGISTER(a) __asm__("" : "+r"(a)) /* for a constant that must not become an immediate operand */
#else
#define AR_IN_ORDER(a, b) (void)0
#define AR_IN_REGISTER(a) (void)0
#endif

#endif
