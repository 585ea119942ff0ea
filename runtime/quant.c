// Storage formats: sizes, names and reading as f32.
//
// The block formats are defined by these formulas, each operation rounded to f32 on its own (a
// float multiply, then a float add, never fused):
//   Q8_0  y[j]      = q[j] * d                         q signed bytes
//   Q4_0  y[j]      = (low nibble of byte j  - 8) * d
//         y[16 + j] = (high nibble of byte j - 8) * d
//   Q4_1  y[j]      = (low nibble of byte j) * d + m,   y[16 + j] likewise from the high one

#include "runtime/quant.h"
#include "runtime/numerics.h"

#include <string.h>

enum { BLOCK = 32 }; // elements of every block format

typedef struct {
    char name[8];  // as users write it
    uint8_t block; // elements of a block, 1 for plain formats
    uint8_t bytes; // of a block
    uint8_t align; // in a file
    bool exact;    // every element is exact in f32
    bool real;     // floats and blocks
} FormatRow;

static const FormatRow formats[RT_FORMAT_COUNT] = {
    [RT_F32] = {"f32", 1, 4, 4, true, true},
    [RT_F16] = {"f16", 1, 2, 2, true, true},
    [RT_BF16] = {"bf16", 1, 2, 2, true, true},
    [RT_F64] = {"f64", 1, 8, 8, false, true},
    [RT_I8] = {"i8", 1, 1, 1, true, false},
    [RT_U8] = {"u8", 1, 1, 1, true, false},
    [RT_I16] = {"i16", 1, 2, 2, true, false},
    [RT_I32] = {"i32", 1, 4, 4, false, false},
    [RT_I64] = {"i64", 1, 8, 8, false, false},
    [RT_BOOL] = {"bool", 1, 1, 1, true, false},
    [RT_Q8_0] = {"q8_0", BLOCK, 34, 2, true, true},
    [RT_Q4_0] = {"q4_0", BLOCK, 18, 2, true, true},
    [RT_Q4_1] = {"q4_1", BLOCK, 20, 2, true, true},
    [RT_U16] = {"u16", 1, 2, 2, true, false},
    [RT_U32] = {"u32", 1, 4, 4, false, false},
    [RT_U64] = {"u64", 1, 8, 8, false, false},
    [RT_F8_E4M3] = {"f8_e4m3", 1, 1, 1, true, true},
    [RT_F8_E5M2] = {"f8_e5m2", 1, 1, 1, true, true},
};

static const FormatRow *row_of(RtFormat format) {
    return &formats[(unsigned)format < RT_FORMAT_COUNT ? format : RT_U8];
}

const char *rt_format_name(RtFormat format) {
    return (unsigned)format < RT_FORMAT_COUNT ? formats[format].name : "unknown";
}

uint32_t rt_format_block(RtFormat format) {
    return row_of(format)->block;
}

uint32_t rt_format_block_bytes(RtFormat format) {
    return row_of(format)->bytes;
}

uint32_t rt_format_align(RtFormat format) {
    return row_of(format)->align;
}

bool rt_format_exact(RtFormat format) {
    return row_of(format)->exact;
}

bool rt_format_is_float(RtFormat format) {
    return row_of(format)->real;
}

uint64_t rt_format_bytes(RtFormat format, uint64_t elements, bool *ok) {
    uint64_t blocks = elements / rt_format_block(format);
    uint64_t each = rt_format_block_bytes(format);
    bool good = elements % rt_format_block(format) == 0 && blocks <= INT64_MAX / each;
    if (ok)
        *ok = good;
    return good ? blocks * each : 0;
}

static uint16_t load16(const unsigned char *at) {
    return (uint16_t)(at[0] | at[1] << 8);
}

// Spelled out rather than built from load16, so that compilers make one load of them.
static uint32_t load32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t load64(const unsigned char *at) {
    return (uint64_t)load32(at) | (uint64_t)load32(at + 4) << 32;
}

static float f8_e4m3(uint8_t bits) {
    uint32_t exponent = bits >> 3 & 15, fraction = bits & 7;
    uint32_t sign = (uint32_t)(bits & 0x80) << 24;
    if ((bits & 0x7F) == 0x7F)
        return rt_from_bits(sign | 0x7FC00000);
    if (exponent != 0)
        return rt_from_bits(sign | (exponent + 120) << 23 | fraction << 20);
    float size = (float)fraction * 0x1p-9f;
    return sign ? -size : size;
}

static float f64_at(const unsigned char *at) {
    uint64_t bits = load64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

// Element j of the block at `at`.
static float block_at(RtFormat format, const unsigned char *at, unsigned j) {
    float d = rt_f16_to_f32(load16(at));
    if (format == RT_Q8_0)
        return (float)(int8_t)at[2 + j] * d;
    unsigned head = format == RT_Q4_1 ? 4 : 2; // bytes before the nibbles
    unsigned byte = at[head + j % 16];
    int q = (int)(j < 16 ? byte & 15 : byte >> 4);
    if (format == RT_Q4_0)
        return (float)(q - 8) * d;
    float scaled = (float)q * d;
    return scaled + rt_f16_to_f32(load16(at + 2));
}

float rt_format_at(RtFormat format, const void *data, uint64_t index) {
    const FormatRow *row = row_of(format);
    const unsigned char *at = (const unsigned char *)data + index / row->block * row->bytes;
    switch (format) {
    case RT_F32:
        return rt_from_bits(load32(at));
    case RT_F16:
        return rt_f16_to_f32(load16(at));
    case RT_BF16:
        return rt_bf16_to_f32(load16(at));
    case RT_F64:
        return f64_at(at);
    case RT_I8:
        return (float)(int8_t)at[0];
    case RT_U8:
        return (float)at[0];
    case RT_I16:
        return (float)(int16_t)load16(at);
    case RT_U16:
        return (float)load16(at);
    case RT_I32:
        return (float)(int32_t)load32(at);
    case RT_U32:
        return (float)load32(at);
    case RT_I64:
        return (float)(int64_t)load64(at);
    case RT_U64:
        return (float)load64(at);
    case RT_BOOL:
        return at[0] ? 1.0f : 0.0f;
    case RT_Q8_0:
    case RT_Q4_0:
    case RT_Q4_1:
        return block_at(format, at, (unsigned)(index % BLOCK));
    case RT_F8_E4M3:
        return f8_e4m3(at[0]);
    case RT_F8_E5M2:
        return rt_f16_to_f32((uint16_t)(at[0] << 8));
    case RT_FORMAT_COUNT:
        break;
    }
    return 0.0f;
}

// A whole block: the scale is converted once and the nibbles come from one byte each.
static void whole_block(RtFormat format, const unsigned char *restrict at, float *restrict out) {
    float d = rt_f16_to_f32(load16(at));
    if (format == RT_Q8_0) {
        for (int j = 0; j < BLOCK; j++)
            out[j] = (float)(int8_t)at[2 + j] * d;
    } else if (format == RT_Q4_0) {
        for (int j = 0; j < 16; j++) {
            out[j] = (float)((at[2 + j] & 15) - 8) * d;
            out[16 + j] = (float)((at[2 + j] >> 4) - 8) * d;
        }
    } else {
        float m = rt_f16_to_f32(load16(at + 2));
        for (int j = 0; j < 16; j++) {
            float low = (float)(at[4 + j] & 15) * d, high = (float)(at[4 + j] >> 4) * d;
            out[j] = low + m;
            out[16 + j] = high + m;
        }
    }
}

static void block_row(RtFormat format, const unsigned char *data, uint64_t first, uint64_t count,
                      float *out) {
    uint64_t bytes = rt_format_block_bytes(format), at = 0;
    while (at < count && (first + at) % BLOCK != 0) {
        out[at] = rt_format_at(format, data, first + at);
        at++;
    }
    for (; count - at >= BLOCK; at += BLOCK)
        whole_block(format, data + (first + at) / BLOCK * bytes, out + at);
    for (; at < count; at++)
        out[at] = rt_format_at(format, data, first + at);
}

void rt_format_row(RtFormat format, const void *data, uint64_t first, uint64_t count, float *out) {
    const unsigned char *base = data;
    switch (format) {
    case RT_F32:
        for (uint64_t i = 0; i < count; i++)
            out[i] = rt_from_bits(load32(base + 4 * (first + i)));
        return;
    case RT_F16:
        for (uint64_t i = 0; i < count; i++)
            out[i] = rt_f16_to_f32(load16(base + 2 * (first + i)));
        return;
    case RT_BF16:
        for (uint64_t i = 0; i < count; i++)
            out[i] = rt_bf16_to_f32(load16(base + 2 * (first + i)));
        return;
    case RT_Q8_0:
    case RT_Q4_0:
    case RT_Q4_1:
        block_row(format, base, first, count, out);
        return;
    default:
        for (uint64_t i = 0; i < count; i++)
            out[i] = rt_format_at(format, data, first + i);
        return;
    }
}
