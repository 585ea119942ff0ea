// Storage formats of tensors: what the bytes of a weight file mean as numbers.
//
// Plain formats store one element in 1 to 8 bytes. Block formats store 32 consecutive elements of
// a row with a shared scale; the numbers they mean are defined by the format's own dequantisation,
// done in f32 with one rounding an operation (see quant.c), and everything else in the project
// takes those f32 values as the weights.

#ifndef RUNTIME_QUANT_H
#define RUNTIME_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    RT_F32,     // IEEE binary32
    RT_F16,     // IEEE binary16
    RT_BF16,    // the upper half of an f32
    RT_F64,     // IEEE binary64
    RT_I8,      // two's complement
    RT_U8,      //
    RT_I16,     //
    RT_I32,     //
    RT_I64,     //
    RT_BOOL,    // one byte, 0 or 1
    RT_Q8_0,    // block of 32: f16 d, 32 x i8; value d * q
    RT_Q4_0,    // block of 32: f16 d, 16 bytes of nibbles; value d * (q - 8)
    RT_Q4_1,    // block of 32: f16 d, f16 m, 16 bytes of nibbles; value d * q + m
    RT_U16,     //
    RT_U32,     //
    RT_U64,     //
    RT_F8_E4M3, // 1 sign, 4 exponent (bias 7), 3 fraction bits; no infinities, S.1111.111 is NaN
    RT_F8_E5M2, // the upper half of an f16
    RT_FORMAT_COUNT
} RtFormat;

// The format's name as users write it ("f32", "bf16", "q4_1"); never NULL.
const char *rt_format_name(RtFormat format);

// Elements in a block: 32 for Q8_0, Q4_0, Q4_1; 1 for the plain formats.
uint32_t rt_format_block(RtFormat format);

// Bytes of a block, or of an element of a plain format. Also the natural alignment of the plain
// ones; blocks are aligned to 2.
uint32_t rt_format_block_bytes(RtFormat format);
uint32_t rt_format_align(RtFormat format);

// True for formats whose elements are all exact in f32: all but F64, I32, U32, I64 and U64.
bool rt_format_exact(RtFormat format);

// True for floats and block formats, false for integers and bool.
bool rt_format_is_float(RtFormat format);

// Bytes of `elements` elements. *ok becomes false (and 0 is returned) if the count is no multiple
// of the block or the size does not fit 63 bits; it is set to true otherwise. ok may be NULL.
uint64_t rt_format_bytes(RtFormat format, uint64_t elements, bool *ok);

// Writes elements first .. first + count - 1 of `data` to `out` as f32. Any range works; the
// caller keeps it inside the tensor. `data` needs no alignment. Exact, except that F64, I32, U32,
// I64 and U64 round to nearest even. A NaN stays a NaN, denormals are kept.
void rt_format_row(RtFormat format, const void *data, uint64_t first, uint64_t count, float *out);

// One element as f32, as above.
float rt_format_at(RtFormat format, const void *data, uint64_t index);

#endif
