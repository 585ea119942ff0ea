// Vector operations: one scalar operation over up to a block of elements in registers.
//
// A register holds a block of elements of one class: f16 and bf16 are held as f32 (and rounded
// after each operation), small integers as i32 (and wrapped), bool as a byte.
#pragma once
#include "core/core.h"

#define VEC_BLOCK 256 // elements a register holds

typedef enum {
    VEC_F32,
    VEC_F64,
    VEC_I32,
    VEC_U32,
    VEC_I64,
    VEC_U64,
    VEC_BOOL,
    VEC_CLASSES
} VecClass;

// dst[i] = op(a[i], b[i], c[i]) for i < n; unused sources are NULL; dst overlaps no source. `imm`
// holds what the operation's table asks for.
typedef void VecFn(void *dst, const void *a, const void *b, const void *c, int n,
                   const int64_t imm[2]);

VecClass vec_class(Dtype t);
int vec_size(VecClass c); // bytes of an element

// The operation of a node on operands of class `c`, NULL if there is none. `wide` asks for AVX2
// code. shl: imm[0] is the width in bits. shr: imm[1] too, the count that replaces one outside the
// width.
VecFn *vec_op(NodeOp op, VecClass c, bool wide);

// dst = condition (bool) ? b : c, of elements of a class.
VecFn *vec_select(VecClass c, bool wide);

// Moves a register's elements into the range of a dtype that the class does not enforce (f16, bf16:
// rounds; i8, i16, u8, u16: wraps). NULL if there is nothing to do.
VecFn *vec_fit(Dtype t);

// Steps of a conversion between classes: at most 3 functions from `from` to `to`, in order. imm of
// saturating steps is {least, greatest}, given by vec_bounds. Returns how many.
int vec_cast(Dtype from, Dtype to, VecFn *steps[3], VecClass classes[3]);
void vec_bounds(Dtype t, int64_t imm[2]);

// One scalar operation on the first elements, for folds.
void vec_fold(VecFn *fn, VecClass c, void *values, int n, void *result);

// Element off + i * stride of plain data of a dtype = src[i], i < n; floats are rounded to f16,
// bf16.
void vec_store(Dtype dtype, void *data, int64_t off, int64_t stride, int n, const void *src);
