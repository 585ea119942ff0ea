/* How functions are compiled for one kind of vector instructions within a file that is not: by
 * attributes, so that no compiler flag is needed and one binary holds all kinds. */
#ifndef RT_SIMD_H
#define RT_SIMD_H

//: rt_targets
#if defined(__x86_64__) && defined(__GNUC__)
#define RT_X86 1
#include <immintrin.h>
#define RT_AVX2_FN __attribute__((target("avx2,fma")))
#define RT_AVX512_FN __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define RT_BF16_FN __attribute__((target("avx512bf16,avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define RT_INLINED static inline __attribute__((always_inline))
#else
#define RT_X86 0
#endif
/* Before a loop over registers: it is to vanish. */
#ifdef __clang__
#define RT_UNROLL _Pragma("unroll")
#else
#define RT_UNROLL _Pragma("GCC unroll 16")
#endif

//: end
#endif
