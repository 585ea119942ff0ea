/* Random numbers: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy
 * as 1, 2, 3", 2011). A key and a counter give two 32-bit words; there is no state, so every
 * back end can make draw number i by itself, and all make the same one.
 * A line that starts with "//:" opens a unit: the name of what it defines, and the units it needs.
 * What stands before the first unit, and the unit "end", belong to any selection.
 */
#ifndef RT_THREEFRY_H
#define RT_THREEFRY_H

#ifdef __CUDACC__
#ifdef __CUDACC_RTC__ /* NVRTC has no headers */
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif
#ifndef RT_FN
#define RT_FN static __device__ __forceinline__
#endif
#else
#include <stdint.h>
#ifndef RT_FN
#define RT_FN static inline
#endif
#endif

//: RtKey
/* Two words: a key, or a block of output. */
typedef struct {
    uint32_t word[2]; /* the first and the second word */
} RtKey;

//: rt_threefry needs RtKey
/* The block of `key` at counter (c0, c1). */
RT_FN RtKey rt_threefry(RtKey key, uint32_t c0, uint32_t c1) {
    const uint32_t ks[3] = {key.word[0], key.word[1], key.word[0] ^ key.word[1] ^ 0x1bd11bdau};
    const int rotate[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    RtKey x = {{c0 + ks[0], c1 + ks[1]}};
    for (uint32_t g = 0; g < 5; g++) {
        for (int i = 0; i < 4; i++) {
            int r = rotate[g % 2][i];
            x.word[0] += x.word[1];
            x.word[1] = (x.word[1] << r | x.word[1] >> (32 - r)) ^ x.word[0];
        }
        x.word[0] += ks[(g + 1) % 3];
        x.word[1] += ks[(g + 2) % 3] + g + 1;
    }
    return x;
}

//: rt_key needs RtKey
/* The key of a seed. */
RT_FN RtKey rt_key(uint64_t seed) {
    RtKey key = {{(uint32_t)(seed >> 32), (uint32_t)seed}};
    return key;
}

//: rt_child needs rt_threefry
/* Child number i of a key: fold_in(key, i), both words at counter (0, i). Token i (from 1) of a
 * generation draws with rt_child(rt_key(seed), i). */
RT_FN RtKey rt_child(RtKey key, uint32_t i) {
    return rt_threefry(key, 0, i);
}

//: rt_random_bits needs rt_threefry
/* Draw number i: 32 bits, the two words at counter (0, i) combined by xor. */
RT_FN uint32_t rt_random_bits(RtKey key, uint32_t i) {
    RtKey x = rt_threefry(key, 0, i);
    return x.word[0] ^ x.word[1];
}

//: rt_uniform needs rt_random_bits
/* Draw number i as a uniform number in [0, 1), a multiple of 2^-23. */
RT_FN float rt_uniform(RtKey key, uint32_t i) {
    return (float)(rt_random_bits(key, i) >> 9) * 0x1p-23f;
}

//: rt_open_uniform needs rt_random_bits
/* Draw number i as a uniform number in (0, 1): an odd multiple of 2^-24, exact in f32. */
RT_FN float rt_open_uniform(RtKey key, uint32_t i) {
    return ((float)(rt_random_bits(key, i) >> 9) + 0.5f) * 0x1p-23f;
}

//: end
#endif
