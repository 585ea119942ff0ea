// Tests of safetensors files, shards, and files that are none (the loader's checklist, 1-6, 8, 9).

#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "runtime/weights.h"
#include "weights_help.h"

// A safetensors file with this header (spaces fill it to 8 bytes) and `data` bytes of data.
static void build(Bytes *b, const char *header, size_t data) {
    size_t length = strlen(header), fill = (8 - length % 8) % 8;
    b->size = 0;
    put_number(b, length + fill, 8);
    put(b, header, length);
    while (fill-- > 0)
        put(b, " ", 1);
    put_zeros(b, data);
}

static void refuse_bytes(Test *t, const Bytes *b, const char *part, int line) {
    RtTensors tensors = {0};
    RtError err = {{0}};
    void *copy = malloc(b->size + 1); // aligned, and its end is watched under ASan
    memcpy(copy, b->bytes, b->size);
    bool ok = rt_safetensors_parse(copy, b->size, "x", &tensors, &err) &&
              rt_tensors_index(&tensors, "x", &err);
    refused_at(t, !ok, err.text, part, __FILE__, line);
    rt_tensors_free(&tensors);
    free(copy);
}

#define REFUSE_HEADER(t, header, data, part)                                                       \
    do {                                                                                           \
        Bytes bytes_;                                                                              \
        build(&bytes_, (header), (data));                                                          \
        refuse_bytes((t), &bytes_, (part), __LINE__);                                              \
    } while (0)

// 1. Files that are no files.
static void test_files(Test *t) {
    RtError err = {{0}};
    char link[400];
    REFUSED(t, !rt_weights_open(path_of(t, "none"), &err), err.text, "No such file");
    REFUSED(t, !rt_weights_open(save(t, "empty", "", 0), &err), err.text, "empty");
    REFUSED(t, !rt_weights_open(save(t, "short", "1234567", 7), &err), err.text, "too few");
    REFUSED(t, !rt_weights_open(t->folder, &err), err.text, "no weights here");
    CHECK(t, mkfifo(path_of(t, "fifo"), 0600) == 0);
    REFUSED(t, !rt_weights_open(t->path, &err), err.text, "pipe");
    REFUSED(t, !rt_weights_open("/dev/null", &err), err.text, "device");
    snprintf(link, sizeof link, "%s", path_of(t, "loop"));
    CHECK(t, symlink("loop", link) == 0);
    REFUSED(t, !rt_weights_open(link, &err), err.text, "symbolic links");
    CHECK(t, mkdir(path_of(t, "dir.safetensors"), 0700) == 0);
    REFUSED(t, !rt_weights_open(t->path, &err), err.text, "no weights here");
    RtFile file;
    REFUSED(t, !rt_file_map(&file, t->path, &err), err.text, "directory");
    save(t, "locked", "xxxxxxxx", 8);
    chmod(t->path, 0);
    if (geteuid() != 0) // root reads everything
        REFUSED(t, !rt_weights_open(t->path, &err), err.text, "denied");
}

// 2. Header lengths.
static void test_lengths(Test *t) {
    static const uint64_t lengths[] = {0, 1, 100000001, UINT64_C(1) << 63, UINT64_MAX};
    Bytes b;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        b.size = 0;
        put_number(&b, lengths[i], 8);
        put(&b, "{}      ", 8);
        refuse_bytes(t, &b, "not a safetensors file", __LINE__);
    }
    b.size = 0;
    put_number(&b, 9, 8);
    put(&b, "{}      ", 8);
    refuse_bytes(t, &b, "cut short", __LINE__);
}

// 3. The header's text.
static void test_header(Test *t) {
    char deep[256] = "{\"a\":";
    REFUSE_HEADER(t, "[]", 0, "does not begin with '{'");
    REFUSE_HEADER(t, " {}", 0, "does not begin with '{'");
    REFUSE_HEADER(t, "{\"a\xFF\":1}", 0, "not UTF-8");
    REFUSE_HEADER(t, "{} x", 0, "text after");
    for (int i = 0; i < 100; i++)
        strcat(deep, "[");
    REFUSE_HEADER(t, deep, 0, "nested too deeply");
    REFUSE_HEADER(t, "{\"a\":1,\"a\":1}", 0, "occurs twice");
    REFUSE_HEADER(t, "{\"a\":1,\"\\u0061\":1}", 0, "occurs twice");
    REFUSE_HEADER(t, "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "occurs twice");
    REFUSE_HEADER(t, "{\"a\":1}", 0, "must be an object");
    REFUSE_HEADER(t, "{\"__metadata__\":{\"a\":1}}", 0, "not a string");
    REFUSE_HEADER(t, "{\"__metadata__\":[]}", 0, "object of strings");
    REFUSE_HEADER(t, "{\"\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "empty");
    REFUSE_HEADER(t, "{\"a\\u0000\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0,
                  "not plain UTF-8");
    REFUSE_HEADER(t, "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0],\"x\":1}}", 0,
                  "a key other than");
    REFUSE_HEADER(t, "{\"a\":{\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "\"dtype\" must be");
    REFUSE_HEADER(t, "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", 0, "\"shape\" must be");
    REFUSE_HEADER(t, "{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, "\"data_offsets\" must be");
}

#define ROW(dtype, shape, offsets)                                                                 \
    "{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"
#define ONE(dtype, shape, offsets) "{\"a\":" ROW(dtype, shape, offsets) "}"
#define TWO(row, other) "{\"a\":" row ",\"b\":" other "}"

// 3, 4. Dimensions and their product.
static void test_shapes(Test *t) {
    static const char dim[] = "a dimension of \"shape\"";
    REFUSE_HEADER(t, ONE("F32", "-1", "0,4"), 4, dim);
    REFUSE_HEADER(t, ONE("F32", "1.0", "0,4"), 4, dim);
    REFUSE_HEADER(t, ONE("F32", "1e0", "0,4"), 4, dim);
    REFUSE_HEADER(t, ONE("F32", "9223372036854775808", "0,4"), 4, dim);
    REFUSE_HEADER(t, ONE("F32", "99999999999999999999999999", "0,4"), 4, dim);
    REFUSE_HEADER(t, ONE("F32", "\"1\"", "0,4"), 4, dim);
    REFUSE_HEADER(t, ONE("F32", "1,1,1,1,1,1,1,1,1", "0,4"), 4, "more than 8");
    REFUSE_HEADER(t, ONE("F32", "4294967296,4294967296", "0,0"), 0, "does not fit");
    REFUSE_HEADER(t, ONE("F32", "4294967296,4294967296,0", "0,0"), 0, "does not fit");
    REFUSE_HEADER(t, ONE("F32", "4611686018427387904", "0,0"), 0, "does not fit");
    REFUSE_HEADER(t, ONE("U8", "4294967296,4294967297", "0,4294967296"), 8, "cut short");
}

// 5, 6, 8. Offsets, sizes, dtypes, tails.
static void test_offsets(Test *t) {
    REFUSE_HEADER(t, ONE("F32", "1", "4,0"), 4, "before it begins");
    REFUSE_HEADER(t, ONE("F32", "1", "0,8"), 4, "cut short");
    REFUSE_HEADER(t, ONE("F32", "1", "0,4,8"), 8, "two integers");
    REFUSE_HEADER(t, ONE("F32", "1", "-4,0"), 4, "two integers");
    REFUSE_HEADER(t, ONE("F32", "1", "0.0,4"), 4, "two integers");
    REFUSE_HEADER(t, ONE("F32", "1", "18446744073709551612,18446744073709551616"), 4,
                  "two integers");
    REFUSE_HEADER(t, ONE("F32", "2", "0,4"), 4, "takes 8 bytes");
    REFUSE_HEADER(t, TWO(ROW("F32", "2", "0,8"), ROW("F32", "2", "4,12")), 12, "overlaps");
    REFUSE_HEADER(t, TWO(ROW("F32", "1", "0,4"), ROW("F32", "1", "0,4")), 4, "overlaps");
    REFUSE_HEADER(t, TWO(ROW("F32", "1", "0,4"), ROW("F32", "1", "8,12")), 12, "4 unused bytes");
    REFUSE_HEADER(t, ONE("F32", "1", "4,8"), 8, "4 unused bytes before");
    REFUSE_HEADER(t, ONE("F32", "1", "0,4"), 5, "1 unused bytes after");
    REFUSE_HEADER(t, TWO(ROW("U8", "1", "0,1"), ROW("F32", "1", "1,5")), 5, "no multiple of 4");
    REFUSE_HEADER(t, ONE("Q99", "1", "0,4"), 4, "unknown dtype \"Q99\"");
    REFUSE_HEADER(t, ONE("F6_E2M3", "1", "0,4"), 4, "F6_E2M3 is not supported");
    REFUSE_HEADER(t, ONE("f32", "1", "0,4"), 4, "unknown dtype");
    Bytes b = {.size = 0}; // a header of 59 bytes: the data itself lies crookedly
    put_number(&b, strlen(ONE("F32", "1", "0,4")), 8);
    put(&b, ONE("F32", "1", "0,4"), strlen(ONE("F32", "1", "0,4")));
    put_zeros(&b, 4);
    refuse_bytes(t, &b, "no multiple of 4", __LINE__);
}

static void test_good(Test *t) {
    RtError err = {{0}};
    Bytes b;
    uint16_t half[2] = {0x3C00, 0xC000};
    float row[4];
    build(&b,
          "{\"__metadata__\":{\"format\":\"pt\"},\"w\":" ROW("F32", "2,2", "0,16") ",\"h\":" ROW(
              "F16", "2", "16,20") ",\"s\":" ROW("BF16", "", "20,22") ",\"e\":" ROW("U8", "0",
                                                                                    "22,22") "}",
          0);
    float values[4] = {1, -2, 0.5f, 4};
    put(&b, values, 16);
    put(&b, half, 4);
    put_number(&b, 0x4040, 2);
    RtWeights *w = rt_weights_open(save(t, "good", b.bytes, b.size), &err);
    CHECK(t, w != NULL);
    if (!w) {
        printf("%s\n", err.text);
        return;
    }
    const RtTensor *m = rt_weights_find(w, "w"), *h = rt_weights_find(w, "h");
    const RtTensor *s = rt_weights_find(w, "s"), *e = rt_weights_find(w, "e");
    CHECK(t, rt_weights_count(w) == 4 && m && h && s && e && !rt_weights_find(w, "W"));
    CHECK(t, m->rank == 2 && m->dims[0] == 2 && m->dims[1] == 2 && m->bytes == 16);
    CHECK(t, memcmp(m->data, values, 16) == 0);
    rt_format_row(m->format, m->data, 1, 3, row);
    CHECK(t, memcmp(row, values + 1, 12) == 0);
    rt_format_row(h->format, h->data, 0, 2, row);
    CHECK(t, row[0] == 1.0f && row[1] == -2.0f);
    CHECK(t,
          s->rank == 0 && rt_tensor_elements(s) == 1 && rt_format_at(s->format, s->data, 0) == 3);
    CHECK(t, e->bytes == 0 && rt_tensor_elements(e) == 0);
    CHECK(t, rt_weights_gguf(w) == NULL && rt_weights_files(w) == 1);
    CHECK(t, rt_weights_at(w, 0) == m && rt_weights_at(w, 4) == NULL);
    rt_weights_close(w);
}

static void test_write(Test *t) {
    RtError err = {{0}};
    float values[3] = {1, 2, 3};
    double wide[1] = {0.25};
    unsigned char small[1] = {7}, block[34] = {0};
    RtTensor list[] = {{"b\"\\ü", RT_U8, 1, {1}, small, 1},
                       {"v", RT_F32, 1, {3}, values, 12},
                       {"d", RT_F64, 0, {0}, wide, 8},
                       {"none", RT_I16, 2, {0, 5}, NULL, 0}};
    CHECK(t, rt_safetensors_write(path_of(t, "out"), list, 4, &err));
    RtWeights *w = rt_weights_open(t->path, &err);
    CHECK(t, w && rt_weights_count(w) == 4);
    const RtTensor *b = w ? rt_weights_find(w, "b\"\\ü") : NULL;
    CHECK(t, b && b->format == RT_U8 && *(const unsigned char *)b->data == 7);
    const RtTensor *d = w ? rt_weights_find(w, "d") : NULL;
    CHECK(t, d && d->rank == 0 && memcmp(d->data, wide, 8) == 0);
    rt_weights_close(w);
    RtTensor blocks = {"q", RT_Q8_0, 1, {32}, block, 34};
    REFUSED(t, !rt_safetensors_write(path_of(t, "q"), &blocks, 1, &err), err.text, "cannot hold");
    CHECK(t, access(t->path, F_OK) != 0);
    REFUSED(t, !rt_safetensors_write(path_of(t, "no/q"), list, 1, &err), err.text, "No such file");
}

// ---- 9. shards ----

static const char *const index_name = "model.safetensors.index.json";

// A shard with one f32 tensor of each name.
static void save_shard(Test *t, const char *file, const char *first, const char *second) {
    RtError err = {{0}};
    float one = 1;
    RtTensor list[] = {{first, RT_F32, 1, {1}, &one, 4}, {second, RT_F32, 1, {1}, &one, 4}};
    CHECK(t, rt_safetensors_write(path_of(t, file), list, second ? 2 : 1, &err));
}

static void refuse_index(Test *t, const char *map, const char *part, int line) {
    char text[1000];
    RtError err = {{0}};
    snprintf(text, sizeof text, "{\"metadata\":{},\"weight_map\":%s}", map);
    save(t, index_name, text, strlen(text));
    RtWeights *w = rt_weights_open(t->folder, &err);
    refused_at(t, !w, err.text, part, __FILE__, line);
    rt_weights_close(w);
}

static void test_shards(Test *t) {
    static const char good[] = "{\"metadata\":{\"total_size\":12},\"weight_map\":"
                               "{\"b\":\"m2\",\"a\":\"m1\",\"c\":\"m2\"}}";
    RtError err = {{0}};
    save_shard(t, "m1", "a", NULL);
    save_shard(t, "m2", "b", "c");
    save_shard(t, "m3", "a", "z");
    save(t, index_name, good, strlen(good));
    RtWeights *w = rt_weights_open(t->folder, &err);
    CHECK(t, w && rt_weights_count(w) == 3 && rt_weights_files(w) == 2 && rt_weights_find(w, "c"));
    rt_weights_close(w);
    w = rt_weights_open(path_of(t, index_name), &err);
    CHECK(t, w && rt_weights_count(w) == 3);
    rt_weights_close(w);
    refuse_index(t, "{\"a\":\"m1\",\"b\":\"gone\"}", "No such file", __LINE__);
    refuse_index(t, "{\"a\":\"m1\",\"b\":\"m2\"}", "hold 3 tensors", __LINE__);
    refuse_index(t, "{\"a\":\"m1\",\"b\":\"m2\",\"c\":\"m2\",\"d\":\"m2\"}", "stale", __LINE__);
    refuse_index(t, "{\"a\":\"m1\",\"b\":\"m1\",\"c\":\"m2\"}", "is in m2", __LINE__);
    refuse_index(t, "{\"a\":\"m1\",\"z\":\"m3\"}", "occurs twice", __LINE__);
    refuse_index(t, "{\"a\":\"../m1\"}", "plain name", __LINE__);
    refuse_index(t, "{\"a\":\"/etc/passwd\"}", "plain name", __LINE__);
    refuse_index(t, "{\"a\":\"..\"}", "plain name", __LINE__);
    refuse_index(t, "{\"a\":\"\"}", "plain name", __LINE__);
    refuse_index(t, "{\"a\":\"m1\\u0000\"}", "plain name", __LINE__);
    refuse_index(t, "{\"a\":1}", "plain name", __LINE__);
    refuse_index(t, "{}", "empty", __LINE__);
    refuse_index(t, "[]", "must be an object", __LINE__);
    refuse_index(t, "{\"a\":\"m1\",\"a\":\"m1\"}", "occurs twice", __LINE__);
    unlink(path_of(t, index_name));
}

static void test_folder(Test *t) {
    RtError err = {{0}};
    save_shard(t, "model.safetensors", "x", NULL);
    RtWeights *w = rt_weights_open(t->folder, &err);
    CHECK(t, w && rt_weights_find(w, "x"));
    rt_weights_close(w);
    unlink(path_of(t, "model.safetensors"));
    save(t, "a.gguf", "GGUF", 4);
    REFUSED(t, !rt_weights_open(t->folder, &err), err.text, "a.gguf: the file is cut short");
    save(t, "b.gguf", "GGUF", 4);
    REFUSED(t, !rt_weights_open(t->folder, &err), err.text, "several GGUF files");
    save(t, "model.safetensors", "GGUF", 4);
    REFUSED(t, !rt_weights_open(t->folder, &err), err.text, "a GGUF file where");
}

int main(void) {
    Test t;
    test_begin(&t);
    test_files(&t);
    test_lengths(&t);
    test_header(&t);
    test_shapes(&t);
    test_offsets(&t);
    test_good(&t);
    test_write(&t);
    test_shards(&t);
    test_folder(&t);
    return test_end(&t);
}
