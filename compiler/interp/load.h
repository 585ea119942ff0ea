// Reading elements of tensors into registers (vec.h).
#pragma once
#include "interp/interp.h"

// dst[i] = element off + i * stride of the stored data, i < n, converted to its register class.
// Storage formats are decoded; a row map is the caller's concern. Nothing is checked.
void load_run(const Tensor *t, int64_t off, int64_t stride, int n, void *dst);
void load_gather(const Tensor *t, const int64_t *offs, int n, void *dst); // at offs[i]
