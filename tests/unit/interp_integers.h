// Integer operations of Core by their definitions, in 128 bits, for the tests of the interpreter.
#pragma once
#include "core/core.h"
#include <stdlib.h>

// A number of either kind.
typedef struct {
    double f;  // floats
    int64_t i; // integers (u64: the bits) and bool
} Number;

__extension__ typedef __int128 Wide; // holds every 64-bit result
__extension__ typedef unsigned __int128 UWide;

static inline int64_t floor_div(Wide a, Wide b) {
    Wide q = a / b;
    return (int64_t)(a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q);
}

static inline Number integer_op(NodeOp op, Dtype t, int64_t ia, int64_t ib) {
    bool is_signed = dtype_is_signed(t);
    Wide a = is_signed ? (Wide)ia : (Wide)(uint64_t)ia;
    Wide b = is_signed ? (Wide)ib : (Wide)(uint64_t)ib, v = 0;
    int width = 8 * dtype_size(t);
    bool inside = b >= 0 && b < width;
    switch (op) {
    case N_NEG:
        v = -a;
        break;
    case N_ABS:
        v = a < 0 ? -a : a;
        break;
    case N_NOT:
        v = !a;
        break;
    case N_ADD:
        v = a + b;
        break;
    case N_SUB:
        v = a - b;
        break;
    case N_MUL:
        return (Number){0, core_wrap(t, (int64_t)((uint64_t)ia * (uint64_t)ib))};
    case N_DIV:
        v = b ? a / b : 0;
        break;
    case N_MOD:
        v = b ? a % b : 0;
        break;
    case N_FLOORDIV:
        v = b ? floor_div(a, b) : 0;
        break;
    case N_FLOORMOD:
        v = b ? a - b * (Wide)(is_signed ? floor_div(a, b) : 0) : 0;
        if (b && !is_signed)
            v = a % b;
        break;
    case N_MIN:
        v = a < b ? a : b;
        break;
    case N_MAX:
        v = a > b ? a : b;
        break;
    case N_AND:
        return (Number){0, core_wrap(t, ia & ib)};
    case N_OR:
        return (Number){0, core_wrap(t, ia | ib)};
    case N_XOR:
        return (Number){0, core_wrap(t, ia ^ ib)};
    case N_SHL:
        v = inside ? (Wide)((UWide)a << (int)b) : 0;
        break;
    case N_SHR:
        v = inside ? a >> (int)b : is_signed ? a >> (width - 1) : 0;
        break;
    case N_EQ:
        return (Number){0, a == b};
    case N_NE:
        return (Number){0, a != b};
    case N_LT:
        return (Number){0, a < b};
    case N_LE:
        return (Number){0, a <= b};
    case N_GT:
        return (Number){0, a > b};
    case N_GE:
        return (Number){0, a >= b};
    default:
        abort();
    }
    return (Number){0, core_wrap(t, (int64_t)(uint64_t)(UWide)v)};
}
