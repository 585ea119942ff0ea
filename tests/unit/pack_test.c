// Tests of packed weights and of files written whole or not at all.

#include "runtime/file.h"
#include "runtime/pack.h"
#include "runtime/pack_write.h"
#include "weights_help.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

typedef struct {
    int calls;    // of the provider
    int stop_at;  // the call that fails, or -1
    size_t sizes; // bytes asked for in all
} Provider;

static bool fill(void *user, size_t tensor, uint64_t unit, size_t size, void *out, RtError *err) {
    Provider *p = user;
    if (p->calls++ == p->stop_at)
        return rt_fail(err, "the provider stops");
    p->sizes += size;
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)out)[i] = (unsigned char)(tensor * 50 + unit * 10 + i);
    return true;
}

static const RtPackSource sources[] = {{"model.w", 0, 2, {2, 3}, 24, 12},
                                       {"ü", 2, 1, {5}, 10, 4},
                                       {"nothing", 7, 1, {0}, 0, 1},
                                       {"last", 9, 0, {0}, 64, 100}};

static size_t files_in(Test *t) {
    DIR *dir = opendir(t->folder);
    size_t count = 0;
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count - 2; // less . and ..
}

static size_t load_file(Test *t, const char *name, unsigned char *out, size_t room) {
    FILE *file = fopen(path_of(t, name), "rb");
    size_t size = file ? fread(out, 1, room, file) : 0;
    if (file)
        fclose(file);
    return size;
}

static void test_round(Test *t) {
    Provider p = {.stop_at = -1};
    RtError err = {{0}};
    RtPack pack;
    char why[200] = "";
    unsigned char first[2000], second[2000];
    CHECK(t, rt_pack_write(path_of(t, "w"), sources, 4, fill, &p, &err));
    CHECK(t, p.calls == 6 && p.sizes == 98 && files_in(t) == 1);
    CHECK(t, rt_pack_open(&pack, t->path, why, sizeof why) && pack.count == 4);
    RtPackTensor w = rt_pack_tensor(&pack, 0), u = rt_pack_tensor(&pack, 1);
    CHECK(t, strcmp(w.name, "model.w") == 0 && w.format == 0 && w.rank == 2 && w.dims[1] == 3);
    CHECK(t, w.bytes == 24 && (uintptr_t)w.data % 64 == 0 && (uintptr_t)u.data % 64 == 0);
    CHECK(t, ((const unsigned char *)w.data)[13] == 11 && ((const unsigned char *)u.data)[9] == 71);
    CHECK(t, rt_pack_tensor(&pack, 2).bytes == 0 && rt_pack_tensor(&pack, 3).bytes == 64);
    CHECK(t, rt_pack_verify(&pack, t->path, why, sizeof why));
    rt_pack_close(&pack);
    CHECK(t, rt_pack_write(path_of(t, "v"), sources, 4, fill, &p, &err));
    size_t size = load_file(t, "w", first, sizeof first);
    CHECK(t, size > 0 && size % 64 == 0 && load_file(t, "v", second, sizeof second) == size);
    CHECK(t, memcmp(first, second, size) == 0);
    CHECK(t, rt_pack_write(path_of(t, "none"), NULL, 0, fill, &p, &err));
    CHECK(t, rt_pack_open(&pack, t->path, why, sizeof why) && pack.count == 0);
    rt_pack_close(&pack);
}

// Every byte of the file counts: flipping any is noticed, by the header's check or the data's.
static void test_damage(Test *t) {
    _Alignas(64) unsigned char file[2000];
    RtPack pack;
    char why[200];
    size_t size = load_file(t, "w", file, sizeof file), seen = 0;
    CHECK(t, rt_pack_read(&pack, file, size, "x", why, sizeof why));
    uint64_t header = (uint64_t)file[8] | (uint64_t)file[9] << 8;
    for (size_t i = 0; i < size; i++) {
        file[i] ^= 0x10;
        why[0] = '\0';
        bool ok = rt_pack_read(&pack, file, size, "x", why, sizeof why);
        CHECK(t, !ok || i >= header);
        if (!ok || !rt_pack_verify(&pack, "x", why, sizeof why))
            seen += why[0] != '\0';
        file[i] ^= 0x10;
    }
    CHECK(t, seen == header + 98); // all but the zeros between tensors, which nobody reads
    for (size_t cut = 0; cut < size; cut++)
        CHECK(t, !rt_pack_read(&pack, file, cut, "x", why, sizeof why));
    REFUSED(t, !rt_pack_open(&pack, path_of(t, "gone"), why, sizeof why), why, "No such file");
    REFUSED(t, !rt_pack_open(&pack, t->folder, why, sizeof why), why, "not a regular file");
    save(t, "small", "SERINW1\n", 8);
    REFUSED(t, !rt_pack_open(&pack, t->path, why, sizeof why), why, "its size is wrong");
    CHECK(t, mkfifo(path_of(t, "fifo"), 0600) == 0);
    REFUSED(t, !rt_pack_open(&pack, t->path, why, sizeof why), why, "not a regular file");
}

static void test_failures(Test *t) {
    Provider p = {.stop_at = 2};
    RtError err = {{0}};
    size_t before = files_in(t);
    REFUSED(t, !rt_pack_write(path_of(t, "new"), sources, 4, fill, &p, &err), err.text, "stops");
    CHECK(t, files_in(t) == before && access(t->path, F_OK) != 0);
    p.stop_at = -1;
    REFUSED(t, !rt_pack_write(path_of(t, "no/new"), sources, 4, fill, &p, &err), err.text,
            "No such file");
    RtPackSource bad = {"x", 0, 9, {0}, 1, 1};
    REFUSED(t, !rt_pack_write(path_of(t, "new"), &bad, 1, fill, &p, &err), err.text, "cannot be");
}

// A disk that fills up: the error is told at the end and nothing is left behind.
static void test_full(Test *t) {
    static const unsigned char block[100000];
    struct rlimit before, small;
    RtError err = {{0}};
    size_t files = files_in(t);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(t, getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = (struct rlimit){.rlim_cur = 150000, .rlim_max = before.rlim_max};
    CHECK(t, setrlimit(RLIMIT_FSIZE, &small) == 0);
    RtWriter *w = rt_writer_open(path_of(t, "full"), &err);
    CHECK(t, w && rt_writer_put(w, block, sizeof block) && !rt_writer_put(w, block, sizeof block));
    CHECK(t, w && !rt_writer_put(w, block, 1));
    REFUSED(t, w && !rt_writer_commit(w, &err), err.text, "File too large");
    CHECK(t, setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(t, files_in(t) == files);
}

static void test_writer(Test *t) {
    RtError err = {{0}};
    static unsigned char big[200000];
    unsigned char *back = malloc(sizeof big + 100);
    if (!back)
        abort();
    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (unsigned char)(i * 7 + i / 251);
    save(t, "old", "old", 3);
    RtWriter *w = rt_writer_open(path_of(t, "old"), &err);
    CHECK(t, w && rt_writer_put(w, "x", 1) && rt_writer_pad(w, 64) && rt_writer_offset(w) == 64);
    CHECK(t, w && rt_writer_put(w, big, sizeof big) && rt_writer_patch(w, 0, "y", 1));
    CHECK(t, load_file(t, "old", back, 10) == 3); // until the end the old one is there
    CHECK(t, w && rt_writer_commit(w, &err));
    CHECK(t, load_file(t, "old", back, sizeof big + 100) == sizeof big + 64);
    CHECK(t, back[0] == 'y' && back[1] == 0 && memcmp(back + 64, big, sizeof big) == 0);
    free(back);
}

static void test_sum(Test *t) {
    unsigned char data[100];
    RtPackSum whole, split, shorter;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * i);
    for (size_t size = 0; size < sizeof data; size++)
        for (size_t cut = 0; cut <= size; cut += 3) {
            rt_pack_sum_start(&whole);
            rt_pack_sum_start(&split);
            rt_pack_sum_add(&whole, data, size);
            rt_pack_sum_add(&split, data, cut);
            rt_pack_sum_add(&split, data + cut, size - cut);
            CHECK(t, rt_pack_sum_end(&whole) == rt_pack_sum_end(&split));
        }
    memset(data, 0, sizeof data); // zeros are counted
    rt_pack_sum_start(&whole);
    rt_pack_sum_start(&shorter);
    rt_pack_sum_add(&whole, data, 16);
    rt_pack_sum_add(&shorter, data, 15);
    CHECK(t, rt_pack_sum_end(&whole) != rt_pack_sum_end(&shorter));
}

int main(void) {
    Test t;
    test_begin(&t);
    test_round(&t);
    test_damage(&t);
    test_failures(&t);
    test_full(&t);
    test_writer(&t);
    test_sum(&t);
    return test_end(&t);
}
