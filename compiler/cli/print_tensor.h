// A tensor as one line of text: "result: f32[2, 3] = [[1, 2, 3], [4, 5, 6]]".
#pragma once
#include "runtime/tensors.h"
#include <stdio.h>

enum { PRINTED_ELEMENTS = 1000 }; // of one tensor, the first ones

// Numbers have the fewest digits that read back as the same number of their dtype; bool is true or
// false. After PRINTED_ELEMENTS comes "...", and the number of elements at the end of the line.
// A tensor without elements is [], whatever its shape.
// t->format is a dtype's, no quantised one.
void print_tensor(FILE *out, const RtTensor *t);
