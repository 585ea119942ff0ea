// Tests of GGUF files (the loader's checklist, 7 and 8) and of the storage formats.

#include "runtime/gguf.h"
#include "runtime/numerics.h"
#include "runtime/weights.h"
#include "weights_help.h"

#include <math.h>

enum { TYPE_F32 = 0, TYPE_Q4_1 = 3, TYPE_Q4_K = 12, TYPE_I8 = 24 };

static void put_text(Bytes *b, const char *text) {
    put_number(b, strlen(text), 8);
    put(b, text, strlen(text));
}

static void put_head(Bytes *b, uint64_t version, uint64_t tensors, uint64_t keys) {
    b->size = 0;
    put(b, "GGUF", 4);
    put_number(b, version, 4);
    put_number(b, tensors, 8);
    put_number(b, keys, 8);
}

static void put_key(Bytes *b, const char *key, uint64_t type) {
    put_text(b, key);
    put_number(b, type, 4);
}

static void put_tensor(Bytes *b, const char *name, uint64_t rank, const uint64_t *dims,
                       uint64_t type, uint64_t offset) {
    put_text(b, name);
    put_number(b, rank, 4);
    for (uint64_t i = 0; i < rank; i++)
        put_number(b, dims[i], 8);
    put_number(b, type, 4);
    put_number(b, offset, 8);
}

static void align(Bytes *b, size_t to) {
    while (b->size % to != 0)
        put_zeros(b, 1);
}

static void refuse_at(Test *t, const Bytes *b, const char *part, int line) {
    RtError err = {{0}};
    void *copy = malloc(b->size ? b->size : 1); // of exactly this size: ASan watches its end
    if (!copy)
        abort();
    memcpy(copy, b->bytes, b->size);
    RtGguf *gguf = rt_gguf_parse(copy, b->size, "x", &err);
    refused_at(t, !gguf, err.text, part, __FILE__, line);
    rt_gguf_free(gguf);
    free(copy);
}

#define REFUSE(t, b, part) refuse_at((t), (b), (part), __LINE__)

static void test_head(Test *t) {
    Bytes b;
    put_head(&b, 3, 0, 0);
    for (size_t size = 0; size < 24; size++) {
        Bytes cut = b;
        cut.size = size;
        REFUSE(t, &cut, size < 4 ? "not a GGUF file" : "cut short");
    }
    b.bytes[0] = 'g';
    REFUSE(t, &b, "not a GGUF file");
    put_head(&b, 0x03000000, 0, 0);
    REFUSE(t, &b, "big-endian");
    static const uint64_t versions[] = {0, 1, 4, 99};
    for (size_t i = 0; i < 4; i++) {
        put_head(&b, versions[i], 0, 0);
        REFUSE(t, &b, "GGUF version");
    }
    put_head(&b, 3, UINT64_MAX, 0);
    REFUSE(t, &b, "tensors are more than");
    put_head(&b, 3, UINT64_C(1) << 60, 0);
    REFUSE(t, &b, "tensors are more than");
    put_head(&b, 3, 0, UINT64_MAX);
    REFUSE(t, &b, "keys are more than");
    put_head(&b, 3, 0, 0);
    put_zeros(&b, 40);
    REFUSE(t, &b, "32 unused bytes after the last");
}

static void test_keys(Test *t) {
    Bytes b;
    put_head(&b, 3, 0, 1);
    put_number(&b, UINT64_C(1) << 63, 8);
    put_zeros(&b, 16);
    REFUSE(t, &b, "would have 9223372036854775808 bytes");
    put_head(&b, 3, 0, 1);
    put_key(&b, "", 0);
    put_zeros(&b, 16);
    REFUSE(t, &b, "a key of 0 bytes");
    put_head(&b, 3, 0, 1);
    put_key(&b, "a b", 0);
    put_zeros(&b, 16);
    REFUSE(t, &b, "not plain ASCII");
    static const uint64_t bad_types[] = {13, 255, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        put_head(&b, 3, 0, 1);
        put_key(&b, "k", bad_types[i]);
        put_zeros(&b, 16);
        REFUSE(t, &b, "unknown value type");
    }
    put_head(&b, 3, 0, 2);
    put_key(&b, "k", 0);
    put_number(&b, 1, 1);
    put_key(&b, "k", 4);
    put_number(&b, 1, 4);
    REFUSE(t, &b, "\"k\" occurs twice");
    put_head(&b, 3, 0, 1);
    put_key(&b, "k", 7);
    put_number(&b, 2, 1);
    REFUSE(t, &b, "a bool is 2");
    put_head(&b, 3, 0, 1);
    put_key(&b, "k", 10);
    put_number(&b, 2, 4);
    REFUSE(t, &b, "more than the file holds");
    put_head(&b, 3, 0, 1);
    put_key(&b, "k", 8);
    put_number(&b, UINT64_MAX, 8);
    REFUSE(t, &b, "would have 18446744073709551615 bytes");
}

static void put_array(Bytes *b, uint64_t element, uint64_t count) {
    put_head(b, 3, 0, 1);
    put_key(b, "k", RT_GGUF_ARRAY);
    put_number(b, element, 4);
    put_number(b, count, 8);
}

static void test_arrays(Test *t) {
    Bytes b;
    put_array(&b, RT_GGUF_ARRAY, 1);
    put_zeros(&b, 40);
    REFUSE(t, &b, "arrays inside arrays");
    put_array(&b, 255, 1);
    put_zeros(&b, 40);
    REFUSE(t, &b, "unknown element type 255");
    put_array(&b, RT_GGUF_U64, UINT64_C(1) << 61);
    put_zeros(&b, 40);
    REFUSE(t, &b, "more than the file holds");
    put_array(&b, RT_GGUF_TEXT, 3);
    put_text(&b, "a");
    put_number(&b, UINT64_C(1) << 63, 8);
    put_zeros(&b, 40);
    REFUSE(t, &b, "a text of an array");
    put_array(&b, RT_GGUF_BOOL, 2);
    put_number(&b, 0x0300, 2);
    REFUSE(t, &b, "a bool is 3");
}

static void test_alignment(Test *t) {
    static const uint64_t bad[] = {0, 1, 3, 4, 33, 1u << 30, UINT32_MAX};
    Bytes b;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_head(&b, 3, 0, 1);
        put_key(&b, "general.alignment", RT_GGUF_U32);
        put_number(&b, bad[i], 4);
        REFUSE(t, &b, "not a power of two");
    }
    put_head(&b, 3, 0, 1);
    put_key(&b, "general.alignment", RT_GGUF_U64);
    put_number(&b, 32, 8);
    REFUSE(t, &b, "must be a u32");
}

// A file of one tensor and `data` bytes of data.
static void one(Bytes *b, const char *name, uint64_t rank, const uint64_t *dims, uint64_t type,
                uint64_t offset, size_t data) {
    put_head(b, 3, 1, 0);
    put_tensor(b, name, rank, dims, type, offset);
    align(b, 32);
    put_zeros(b, data);
}

static void test_tensors(Test *t) {
    static const uint64_t d[] = {32, 1, 1, 1, 1}, huge[] = {UINT64_C(1) << 32, UINT64_C(1) << 32};
    static const uint64_t zero[] = {32, 0}, big[] = {UINT64_C(1) << 63}, odd[] = {33};
    Bytes b;
    one(&b, "a", 0, d, TYPE_F32, 0, 128);
    REFUSE(t, &b, "has 0 dimensions");
    one(&b, "a", 5, d, TYPE_F32, 0, 128);
    REFUSE(t, &b, "has 5 dimensions");
    one(&b, "a", 2, zero, TYPE_F32, 0, 128);
    REFUSE(t, &b, "has a dimension of 0");
    one(&b, "a", 1, big, TYPE_F32, 0, 128);
    REFUSE(t, &b, "has a dimension of 9223372036854775808");
    one(&b, "a", 2, huge, TYPE_F32, 0, 128);
    REFUSE(t, &b, "does not fit 63 bits");
    one(&b, "a", 1, odd, TYPE_Q4_1, 0, 128);
    REFUSE(t, &b, "no multiple of q4_1's 32");
    one(&b, "a", 1, d, TYPE_Q4_K, 0, 128);
    REFUSE(t, &b, "stored as Q4_K");
    one(&b, "a", 1, d, 20, 0, 128);
    REFUSE(t, &b, "stored as IQ4_NL");
    one(&b, "a", 1, d, 255, 0, 128);
    REFUSE(t, &b, "unknown type 255");
    one(&b, "a", 1, d, TYPE_F32, 1, 160);
    REFUSE(t, &b, "no multiple of the alignment 32");
    one(&b, "a", 1, d, TYPE_F32, 32, 160);
    REFUSE(t, &b, "32 unused bytes before");
    one(&b, "a", 1, d, TYPE_F32, 0, 160);
    REFUSE(t, &b, "32 unused bytes after");
    one(&b, "a", 1, d, TYPE_F32, 0, 127);
    REFUSE(t, &b, "cut short");
    one(&b, "a", 1, d, TYPE_F32, UINT64_MAX - 31, 128);
    REFUSE(t, &b, "cut short");
}

static void test_names(Test *t) {
    static const uint64_t d[] = {32};
    Bytes b;
    one(&b, "", 1, d, TYPE_F32, 0, 128);
    REFUSE(t, &b, "name is empty");
    one(&b, "a\n", 1, d, TYPE_F32, 0, 128);
    REFUSE(t, &b, "\"a\\x0A\" is not plain");
    put_head(&b, 3, 1, 0);
    put_tensor(&b, "a", 1, d, TYPE_F32, 0);
    REFUSE(t, &b, "cut short"); // not even the padding
    for (uint64_t offset = 0; offset <= 32; offset += 32) {
        put_head(&b, 3, 2, 0);
        put_tensor(&b, "a", 1, d, TYPE_I8, 0);
        put_tensor(&b, offset ? "a" : "b", 1, d, TYPE_I8, offset);
        align(&b, 32);
        put_zeros(&b, 64);
        REFUSE(t, &b, offset ? "\"a\" occurs twice" : "overlaps");
    }
}

static void put_values(Bytes *b) {
    put_key(b, "u8", RT_GGUF_U8);
    put_number(b, 200, 1);
    put_key(b, "i8", RT_GGUF_I8);
    put_number(b, 0xFE, 1);
    put_key(b, "u64", RT_GGUF_U64);
    put_number(b, UINT64_MAX, 8);
    put_key(b, "i64", RT_GGUF_I64);
    put_number(b, UINT64_MAX - 2, 8);
    put_key(b, "f32", RT_GGUF_F32);
    put_number(b, 0x3FC00000, 4);
    put_key(b, "flag", RT_GGUF_BOOL);
    put_number(b, 1, 1);
    put_key(b, "name", RT_GGUF_TEXT);
    put_text(b, "llama");
    put_key(b, "texts", RT_GGUF_ARRAY);
    put_number(b, RT_GGUF_TEXT, 4);
    put_number(b, 2, 8);
    put_text(b, "");
    put_text(b, "bc");
    put_key(b, "ints", RT_GGUF_ARRAY);
    put_number(b, RT_GGUF_I16, 4);
    put_number(b, 2, 8);
    put_number(b, 0xFFFF0003, 4);
}

static void check_values(Test *t, const RtGguf *g) {
    uint64_t u = 0, cursor = 0;
    int64_t i = 0;
    double f = 0;
    bool flag = false;
    const char *text;
    size_t bytes;
    char line[100];
    CHECK(t, rt_gguf_count(g) == 9 && rt_gguf_version(g) == 3);
    CHECK(t, rt_gguf_u64(g, "u8", &u) && u == 200 && rt_gguf_i64(g, "u8", &i) && i == 200);
    CHECK(t, rt_gguf_i64(g, "i8", &i) && i == -2 && !rt_gguf_u64(g, "i8", &u));
    CHECK(t, rt_gguf_u64(g, "u64", &u) && u == UINT64_MAX && !rt_gguf_i64(g, "u64", &i));
    CHECK(t, rt_gguf_i64(g, "i64", &i) && i == -3 && rt_gguf_f64(g, "i64", &f) && f == -3);
    CHECK(t, rt_gguf_f64(g, "f32", &f) && f == 1.5 && !rt_gguf_i64(g, "f32", &i));
    CHECK(t, rt_gguf_bool(g, "flag", &flag) && flag && !rt_gguf_bool(g, "u8", &flag));
    CHECK(t, !rt_gguf_u64(g, "flag", &u) && !rt_gguf_u64(g, "none", &u));
    text = rt_gguf_text(g, "name", &bytes);
    CHECK(t, text && strcmp(text, "llama") == 0 && bytes == 5 && !rt_gguf_text(g, "u8", NULL));
    const RtGgufValue *texts = rt_gguf_array(g, "texts", RT_GGUF_TEXT);
    CHECK(t, texts && texts->count == 2 && !rt_gguf_array(g, "texts", RT_GGUF_I16));
    CHECK(t, rt_gguf_next_text(texts, &cursor, &text, &bytes) && bytes == 0);
    CHECK(t, rt_gguf_next_text(texts, &cursor, &text, &bytes) && memcmp(text, "bc", 2) == 0);
    CHECK(t, !rt_gguf_next_text(texts, &cursor, &text, &bytes));
    const RtGgufValue *ints = rt_gguf_array(g, "ints", RT_GGUF_I16);
    CHECK(t, rt_gguf_element_i64(ints, 0, &i) && i == 3 && rt_gguf_element_i64(ints, 1, &i) &&
                 i == -1 && !rt_gguf_element_i64(ints, 2, &i));
    CHECK(t, strcmp(rt_gguf_print(ints, line, sizeof line), "[3, -1]") == 0);
    CHECK(t, strcmp(rt_gguf_print(texts, line, sizeof line), "[\"\", \"bc\"]") == 0);
    CHECK(t, strcmp(rt_gguf_type_name(texts), "text[]") == 0);
    CHECK(t, strcmp(rt_gguf_print(rt_gguf_find(g, "u64"), line, sizeof line),
                    "18446744073709551615") == 0);
}

// A whole file through rt_weights_open: dims are turned round, blocks are read.
static void test_good(Test *t) {
    static const uint64_t dims[] = {64, 2}, flat[] = {3};
    RtError err = {{0}};
    Bytes b;
    put_head(&b, 3, 2, 9);
    put_values(&b);
    put_tensor(&b, "q", 2, dims, TYPE_Q4_1, 32);
    put_tensor(&b, "n", 1, flat, TYPE_F32, 0);
    align(&b, 32);
    put_number(&b, 0x3F800000, 4);
    put_zeros(&b, 28);
    for (int block = 0; block < 4; block++) {
        put_number(&b, 0x3800, 2); // 0.5
        put_number(&b, 0xC000, 2); // -2
        for (int i = 0; i < 16; i++)
            put_number(&b, (uint64_t)(i | (15 - i) << 4), 1);
    }
    align(&b, 32);
    RtWeights *w = rt_weights_open(save(t, "good.gguf", b.bytes, b.size), &err);
    CHECK(t, w != NULL);
    if (!w) {
        printf("%s\n", err.text);
        return;
    }
    check_values(t, rt_weights_gguf(w));
    const RtTensor *q = rt_weights_find(w, "q");
    CHECK(t, q && q->rank == 2 && q->dims[0] == 2 && q->dims[1] == 64 && q->bytes == 80);
    float row[128], part[128];
    rt_format_row(q->format, q->data, 0, 128, row);
    CHECK(t, row[0] == -2.0f && row[15] == 5.5f && row[16] == 5.5f && row[31] == -2.0f);
    bool same = true;
    for (unsigned first = 0; first < 128; first++)
        for (unsigned count = 0; first + count <= 128; count++) {
            rt_format_row(q->format, q->data, first, count, part);
            same = same && memcmp(part, row + first, count * sizeof *row) == 0;
        }
    CHECK(t, same);
    rt_weights_close(w);
}

// ---- storage formats ----

static bool bits_equal(float value, uint32_t bits) {
    uint32_t mine;
    memcpy(&mine, &value, 4);
    return mine == bits;
}

// All 65,536 halves against the definition of the format.
static void test_halves(Test *t) {
    int wrong = 0;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        float value = rt_f16_to_f32((uint16_t)bits);
        double size = exponent == 0    ? ldexp(fraction, -24)
                      : exponent == 31 ? INFINITY
                                       : ldexp(1024 + fraction, exponent - 25);
        bool nan = exponent == 31 && fraction;
        wrong += nan ? !isnan(value) : (double)value != (bits & 0x8000 ? -size : size);
        wrong += !!signbit(value) != (bits >> 15);
    }
    CHECK(t, wrong == 0);
}

static void test_formats(Test *t) {
    static const unsigned char bytes[] = {0x80, 0xFF, 0x7F, 0xC0, 0, 0, 0,   0,
                                          0,    0,    0,    0,    0, 0, 0x59};
    CHECK(t, rt_format_at(RT_I8, bytes, 0) == -128 && rt_format_at(RT_U8, bytes, 0) == 128);
    CHECK(t, rt_format_at(RT_I16, bytes, 0) == -128 && rt_format_at(RT_U16, bytes, 0) == 65408);
    CHECK(t, rt_format_at(RT_I32, bytes, 1) == 0 && rt_format_at(RT_BOOL, bytes, 14) == 1);
    CHECK(t, bits_equal(rt_format_at(RT_I32, "\x81\xFF\xFF\xFF", 0), 0xC2FE0000));
    CHECK(t, bits_equal(rt_format_at(RT_U64, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 0), 0x5F800000));
    CHECK(t, bits_equal(rt_format_at(RT_F64, "\0\0\0\0\0\0\xF8\xBF", 0), 0xBFC00000));
    CHECK(t, bits_equal(rt_format_at(RT_BF16, "\x01\x80", 0), 0x80010000));
    CHECK(t, rt_format_at(RT_F8_E4M3, "\x7E\x01\x38\x88", 0) == 448);
    CHECK(t, rt_format_at(RT_F8_E4M3, "\x7E\x01\x38\x88", 1) == 0x1p-9f);
    CHECK(t, rt_format_at(RT_F8_E4M3, "\x7E\x01\x38\x88", 2) == 1);
    CHECK(t, rt_format_at(RT_F8_E4M3, "\x7E\x01\x38\x88", 3) == -0x1p-6f);
    CHECK(t, isnan(rt_format_at(RT_F8_E4M3, "\xFF", 0)) &&
                 rt_format_at(RT_F8_E5M2, "\x3D", 0) == 1.25f);
    unsigned char q8[34] = {0, 0x34, 0x80, 0x7F}, q4[18] = {0, 0xB4, 0x0F};
    CHECK(t, rt_format_at(RT_Q8_0, q8, 0) == -32 && rt_format_at(RT_Q8_0, q8, 1) == 31.75f);
    CHECK(t, rt_format_at(RT_Q4_0, q4, 0) == -1.75f && rt_format_at(RT_Q4_0, q4, 16) == 2);
    // 11 * 0x3555 is exact in f32, adding 0x03FF rounds.
    unsigned char q41[20] = {0x55, 0x35, 0xFF, 0x03, 0x0B};
    CHECK(t, bits_equal(rt_format_at(RT_Q4_1, q41, 0), 0x406A9D00));
}

static void test_sizes(Test *t) {
    bool ok;
    CHECK(t, rt_format_bytes(RT_Q4_1, 64, &ok) == 40 && ok);
    CHECK(t, rt_format_bytes(RT_Q4_1, 33, &ok) == 0 && !ok);
    CHECK(t, rt_format_bytes(RT_F32, UINT64_MAX, &ok) == 0 && !ok);
    CHECK(t, rt_format_bytes(RT_F64, (uint64_t)INT64_MAX / 8, &ok) > 0 && ok);
    CHECK(t, strcmp(rt_format_name(RT_Q8_0), "q8_0") == 0);
    CHECK(t, strcmp(rt_format_name((RtFormat)99), "unknown") == 0);
    for (int f = 0; f < RT_FORMAT_COUNT; f++)
        CHECK(t, rt_format_name((RtFormat)f)[0] && rt_format_block_bytes((RtFormat)f));
}

int main(void) {
    Test t;
    test_begin(&t);
    test_head(&t);
    test_keys(&t);
    test_arrays(&t);
    test_alignment(&t);
    test_tensors(&t);
    test_names(&t);
    test_good(&t);
    test_halves(&t);
    test_formats(&t);
    test_sizes(&t);
    return test_end(&t);
}
