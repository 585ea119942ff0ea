// Writes of caches in place give the same bits as the library's bodies, for positions and rows in
// and out of range, named once and twice.
#include "package_help.h"

enum { B = 3, HEADS = 2, S = 5, D = 3, N = 4, CACHE = B * HEADS * S * D };

static const char text[] =
    "module t\n"
    "use std.nn.cache::{write_at, write_rows, write_slot, write_slots, write_span, write_tokens}\n"
    "block Model<B: Dim, S: Dim, T: Float> where B > 0, S > 0 {\n"
    "    state c: Tensor[B, 2, S, 3; T]\n"
    "    state d: Tensor[B, 2, S, 3; T]\n"
    "    entry all(x: Tensor[B, 2, S, 3; T]) -> Tensor[B, 2, S, 3; T] {\n"
    "        let before = c\n"
    "        c = x\n"
    "        return before\n"
    "    }\n"
    "    entry at(x: Tensor[B, 2, 1, 3; T], at: i32) -> Tensor[B, 2, S, 3; T] {\n"
    "        c = write_at(c, x, at)\n"
    "        return c\n"
    "    }\n"
    "    entry span<N: Dim>(x: Tensor[B, 2, N, 3; T], at: i32) -> Tensor[B, 2, S, 3; T]\n"
    "    where N > 0 {\n"
    "        c = write_span(c, x, at)\n"
    "        return c\n"
    "    }\n"
    "    entry rows(x: Tensor[B, 2, 1, 3; T], at: Tensor[B; i32]) -> Tensor[B, 2, S, 3; T] {\n"
    "        c = write_rows(c, x, at)\n"
    "        return c\n"
    "    }\n"
    "    entry slot<N: Dim>(x: Tensor[1, 2, N, 3; T], slot: i32, at: i32)\n"
    "        -> Tensor[B, 2, S, 3; T]\n"
    "    where N > 0 {\n"
    "        c = write_slot(c, x, slot, at)\n"
    "        return c\n"
    "    }\n"
    "    entry slots<M: Dim, N: Dim>(x: Tensor[M, 2, N, 3; T], slots: Tensor[M; i32], at: i32)\n"
    "        -> Tensor[B, 2, S, 3; T]\n"
    "    where N > 0, M > 0 {\n"
    "        c = write_slots(c, x, slots, at)\n"
    "        return c\n"
    "    }\n"
    "    entry tokens<P: Dim>(x: Tensor[1, 2, P, 3; T], rows: Tensor[P; i32], at: Tensor[P; i32])\n"
    "        -> Tensor[B, 2, S, 3; T]\n"
    "    where P > 0 {\n"
    "        c = write_tokens(c, x, rows, at)\n"
    "        return c\n"
    "    }\n"
    // The old contents are used after the write; another state is; a part of itself is written.
    "    entry kept(x: Tensor[B, 2, 1, 3; T], at: i32)\n"
    "        -> (Tensor[B, 2, S, 3; T], Tensor[B, 2, S, 3; T]) {\n"
    "        let before = c\n"
    "        c = write_at(c, x, at)\n"
    "        return (before, c)\n"
    "    }\n"
    "    entry other(x: Tensor[B, 2, 1, 3; T], at: i32) -> Tensor[B, 2, S, 3; T] {\n"
    "        d = write_at(c, x, at)\n"
    "        c = write_at(c, c[:, :, 0:1, :], at)\n"
    "        return c + d\n"
    "    }\n"
    "    entry turned(x: Tensor[B, 2, S, 3; T], at: i32) -> Tensor[B, 2, S, 3; T] {\n"
    "        c = write_span(c, reshape(c, [B, 2, S, 3]), at)\n"
    "        return c + x\n"
    "    }\n"
    "}\n";

typedef struct {
    Test plain, placed; // the same program without and with writes in place
    uint64_t state;     // of the random numbers
    float x[N * CACHE];
} Pair;

static uint32_t next(Pair *p) {
    p->state = p->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->state >> 33);
}

static int32_t between(Pair *p, int low, int high) {
    return low + (int32_t)(next(p) % (uint32_t)(high - low + 1));
}

// Calls both; every result is the same.
static void both(Pair *p, const char *name, const Bound *bounds, int n, int nargs,
                 const Tensor *args) {
    Tensor a[2] = {0}, b[2] = {0};
    if (!call(&p->plain, name, bounds, n, nargs, args, a) ||
        !call(&p->placed, name, bounds, n, nargs, args, b))
        return;
    bool same = true;
    for (int i = 0; i < 2 && a[i].data; i++)
        same = same && memcmp(a[i].data, b[i].data, sizeof(float) * CACHE) == 0;
    if (!same)
        printf("%s differs\n", name);
    CHECK(&p->plain, same);
}

static void one_round(Pair *p) {
    int32_t at = between(p, -6, S + 3), slot = between(p, -1, B), ats[2 * N], rows[2 * N];
    int m = between(p, 1, 2 * N), n = between(p, 1, N), wide = between(p, 1, 2);
    for (int i = 0; i < N * CACHE; i++)
        p->x[i] = (float)between(p, -1000, 1000);
    for (int i = 0; i < 2 * N; i++) {
        ats[i] = between(p, -2, S + 1);
        rows[i] = between(p, -1, B);
    }
    if (between(p, 0, 9) == 0)
        at = between(p, 0, 1) ? INT32_MAX : INT32_MIN;
    const float *x = p->x;
    Tensor args[] = {F32(x, B, HEADS, 1, D), SCALAR(DT_I32, &at), {0}};
    both(p, "at", NULL, 0, 2, args);
    both(p, "kept", NULL, 0, 2, args);
    both(p, "other", NULL, 0, 2, args);
    args[0] = F32(x, B, HEADS, S, D);
    both(p, "turned", NULL, 0, 2, args);
    args[0] = F32(x, B, HEADS, n, D);
    both(p, "span", BOUNDS({"N", n}), 2, args);
    args[0] = F32(x, 1, HEADS, n, D);
    args[1] = SCALAR(DT_I32, &slot);
    args[2] = SCALAR(DT_I32, &at);
    both(p, "slot", BOUNDS({"N", n}), 3, args);
    args[0] = F32(x, wide, HEADS, n, D);
    args[1] = I32(rows, wide);
    both(p, "slots", BOUNDS({"M", wide}, {"N", n}), 3, args);
    args[0] = F32(x, m < 4 ? m : 4, HEADS, 1, D);
    args[1] = I32(rows, m < 4 ? m : 4);
    both(p, "slots", BOUNDS({"M", m < 4 ? m : 4}, {"N", 1}), 3, args);
    args[0] = F32(x, B, HEADS, 1, D);
    args[1] = I32(ats, B);
    both(p, "rows", NULL, 0, 2, args);
    args[0] = F32(x, 1, HEADS, m, D);
    args[1] = I32(rows, m);
    args[2] = I32(ats, m);
    both(p, "tokens", BOUNDS({"P", m}), 3, args);
    args[0] = F32(x + 17, B, HEADS, S, D);
    if (between(p, 0, 3) == 0)
        both(p, "all", NULL, 0, 1, args);
}

int main(void) {
    static Pair p;
    p.state = 7;
    p.placed.inplace = true;
    if (open_text(&p.plain, text, BOUNDS({"B", B}, {"S", S})) &&
        open_text(&p.placed, text, BOUNDS({"B", B}, {"S", S}))) {
        CHECK(&p.placed, p.placed.places == 9); // all but `all` and the first of `other`
        for (int i = 0; i < 200; i++)
            one_round(&p);
    }
    close_package(&p.plain);
    close_package(&p.placed);
    printf("%d passed, %d failed\n", p.plain.passed + p.placed.passed,
           p.plain.failed + p.placed.failed);
    return p.plain.failed + p.placed.failed != 0;
}
