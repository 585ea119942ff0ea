/* From logits to a token; see sampler.h. A line that starts with "//:" opens a unit, as in
 * numerics.h.
 */
#include "runtime/numerics.h"

#include "runtime/sampler.h"

//: rt_argmax
int32_t rt_argmax(const float *logits, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (logits[i] != logits[i])
            return (int32_t)(n - 1);
        if (logits[i] > logits[best])
            best = i;
    }
    return (int32_t)best;
}

//: rt_sample needs rt_open_uniform rt_log
int32_t rt_sample(const float *logits, int64_t n, float temperature, RtKey key) {
    int64_t best = 0;
    float greatest = 0;
    for (int64_t i = 0; i < n; i++) {
        float u = rt_open_uniform(key, (uint32_t)i);
        float noise = -rt_log(-rt_log(1.0f - u));
        float x = logits[i] / temperature + noise;
        if (x != x)
            return (int32_t)n;
        if (i > 0 && !(x > greatest))
            continue;
        best = i;
        greatest = x;
    }
    return (int32_t)best;
}

//: end
