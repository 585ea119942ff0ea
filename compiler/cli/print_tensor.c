// Tensors as text; see print_tensor.h.
#include "cli/print_tensor.h"
#include "runtime/numerics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Floats ------------------------------------------------------------------------------------

// Does the text mean x in this format?
static bool reads_back(const char *text, RtFormat f, double x) {
    switch (f) {
    case RT_F16:
        return (double)rt_f16_to_f32(rt_f32_to_f16(strtof(text, NULL))) == x;
    case RT_BF16:
        return (double)rt_bf16_to_f32(rt_f32_to_bf16(strtof(text, NULL))) == x;
    case RT_F32:
        return (double)strtof(text, NULL) == x;
    default:
        return strtod(text, NULL) == x;
    }
}

// Digits without a point, times 10^exponent of the first: written out from 1e-4 to below 1e16.
static void print_decimal(FILE *out, const char *digits, int exponent) {
    int n = (int)strlen(digits);
    if (exponent < -4 || exponent > 15) {
        fprintf(out, "%c%s%se%d", digits[0], n > 1 ? "." : "", digits + 1, exponent);
        return;
    }
    if (exponent < 0)
        fprintf(out, "0.%.*s%s", -exponent - 1, "000", digits);
    else if (n <= exponent + 1)
        fprintf(out, "%s%.*s", digits, exponent + 1 - n, "000000000000000");
    else
        fprintf(out, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

static void print_float(FILE *out, RtFormat f, double x) {
    enum { MOST = 17 }; // digits that f64 needs
    char text[40], digits[MOST + 1];
    if (isnan(x) || isinf(x)) {
        fputs(isnan(x) ? "nan" : x > 0 ? "inf" : "-inf", out);
        return;
    }
    for (int n = 1; n <= MOST; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, fabs(x));
        if (reads_back(text, f, fabs(x)))
            break;
    }
    const char *e = strchr(text, 'e');
    int n = 0;
    for (const char *p = text; p < e; p++) {
        if (*p != '.')
            digits[n++] = *p;
    }
    digits[n] = 0;
    if (signbit(x))
        fputc('-', out);
    print_decimal(out, digits, atoi(e + 1));
}

// ---- Elements ----------------------------------------------------------------------------------

static void print_integer(FILE *out, const RtTensor *t, uint64_t i) {
    switch (t->format) {
    case RT_I8:
        fprintf(out, "%d", ((const int8_t *)t->data)[i]);
        break;
    case RT_I16:
        fprintf(out, "%d", ((const int16_t *)t->data)[i]);
        break;
    case RT_I32:
        fprintf(out, "%d", ((const int32_t *)t->data)[i]);
        break;
    case RT_I64:
        fprintf(out, "%lld", (long long)((const int64_t *)t->data)[i]);
        break;
    case RT_U8:
        fprintf(out, "%u", ((const uint8_t *)t->data)[i]);
        break;
    case RT_U16:
        fprintf(out, "%u", ((const uint16_t *)t->data)[i]);
        break;
    case RT_U32:
        fprintf(out, "%u", ((const uint32_t *)t->data)[i]);
        break;
    default:
        fprintf(out, "%llu", (unsigned long long)((const uint64_t *)t->data)[i]);
    }
}

static void print_element(FILE *out, const RtTensor *t, uint64_t i) {
    switch (t->format) {
    case RT_BOOL:
        fputs(((const uint8_t *)t->data)[i] ? "true" : "false", out);
        break;
    case RT_F16:
        print_float(out, t->format, (double)rt_f16_to_f32(((const uint16_t *)t->data)[i]));
        break;
    case RT_BF16:
        print_float(out, t->format, (double)rt_bf16_to_f32(((const uint16_t *)t->data)[i]));
        break;
    case RT_F32:
        print_float(out, t->format, (double)((const float *)t->data)[i]);
        break;
    case RT_F64:
        print_float(out, t->format, ((const double *)t->data)[i]);
        break;
    default:
        print_integer(out, t, i);
    }
}

// The part of t below the first `axis` axes, from element *at on. t has elements.
static void print_axes(FILE *out, const RtTensor *t, int axis, uint64_t *at) {
    if (axis == t->rank) {
        print_element(out, t, (*at)++);
        return;
    }
    fputc('[', out);
    for (int64_t i = 0; i < t->dims[axis]; i++) {
        fputs(i ? ", " : "", out);
        if (*at >= PRINTED_ELEMENTS) {
            fputs("...", out);
            break;
        }
        print_axes(out, t, axis + 1, at);
    }
    fputc(']', out);
}

void print_tensor(FILE *out, const RtTensor *t) {
    uint64_t count = 1, at = 0;
    fprintf(out, "%s: %s", t->name, rt_format_name(t->format));
    for (int i = 0; i < t->rank; i++) {
        fprintf(out, i ? ", %lld" : "[%lld", (long long)t->dims[i]);
        count *= (uint64_t)t->dims[i];
    }
    fputs(t->rank ? "] = " : " = ", out);
    if (count)
        print_axes(out, t, 0, &at);
    else
        fputs("[]", out);
    if (count > PRINTED_ELEMENTS)
        fprintf(out, " (%llu elements)", (unsigned long long)count);
    fputc('\n', out);
}
