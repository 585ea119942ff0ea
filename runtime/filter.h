/* Filters before a draw: which tokens may be drawn at all. Logits that are filtered out become
 * minus infinity; rt_sample (sampler.h) then never draws them. At least one token always survives,
 * and with both filters off nothing changes.
 */
#ifndef RT_FILTER_H
#define RT_FILTER_H

#include <stdint.h>

/* Keeps the top_k greatest logits (0: all), and of these the fewest whose share of the probability
 * softmax(logits / temperature) reaches top_p (1: all). Equal logits go by the lower index.
 * logits[n] is changed, but not where one is a NaN; order[n] is scratch. temperature > 0, n > 0. */
void rt_filter(float *logits, int32_t n, float temperature, int32_t top_k, float top_p,
               int32_t *order);

#endif
