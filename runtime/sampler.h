/* From logits to a token: the likeliest, or a draw. Both take the first of equal places and need no
 * memory. A line that starts with "//:" opens a unit, as in numerics.h; its definition is the unit
 * of the same name in sampler.c.
 */
#ifndef RT_SAMPLER_H
#define RT_SAMPLER_H

#include "runtime/threefry.h"
#include <stdint.h>

//: rt_argmax
/* The first index of the greatest of logits[0 .. n), n > 0; n - 1 where one of them is a NaN. */
int32_t rt_argmax(const float *logits, int64_t n);

//: rt_sample needs RtKey
/* A draw with probability softmax(logits / temperature), temperature > 0: the first index of the
 * maximum of logits[i] / temperature + Gumbel noise of draw number i of `key`, with the bits of
 * std.random::categorical for a batch of one. n where there is a NaN: no maximum equals it. */
int32_t rt_sample(const float *logits, int64_t n, float temperature, RtKey key);

//: end
#endif
