/* Xtensa (call0 ABI): reset and exception vectors, at the first address of the program memory. */
    .section .vectors, "ax"
    .global ar_start
    .align 4
ar_start:
    j start

    /* Each .org is the offset of one of the LX106's vectors from VECBASE. All exceptions that can occur are faults. */
    .org 0x10
    j trapped /* debug */
    .org 0x20
    j trapped /* non-maskable interrupt */
    .org 0x30
    j trapped /* kernel exception */
    .org 0x50
    j trapped /* user exception */
    .org 0x70
    j trapped /* double exception */

    .org 0x80
    /* L32R reaches only backwards, so its constants stand before the code. */
vectors_address: .word ar_start
stack_top:       .word ar_stack_top
start_c:         .word ar_start_c
fault_c:         .word ar_fault

start:
    movi    a0, 0
    wsr     a0, ps          /* interrupt level 0, no exception mode */
    l32r    a2, vectors_address
    wsr     a2, vecbase
    rsync
    l32r    a1, stack_top
    l32r    a2, start_c
    jx      a2
trapped:
    l32r    a1, stack_top
    l32r    a2, fault_c
    jx      a2
