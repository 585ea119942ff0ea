// Random programs for the tests of causality and the step: a block M over a vocabulary of 11 and
// width 8, of one or two pieces, each y [B, S, 8] of x [B, S, 8]. Masks, softmaxes, heads and
// shifts are put together in many ways, right and wrong ones; the seed says which.
#pragma once
#include "runtime/numerics.h"
#include "stdlib_help.h"

typedef struct {
    Test *r;        // random numbers
    StrBuf *params; // declarations
    StrBuf *body;   // statements
    int p;          // number of the piece: its names end with it
    const char *x;  // what it reads
} Piece;

#define SAY(...) strbuf_printf(c->body, __VA_ARGS__)
#define PICK(r, ...)                                                                               \
    pick_of((r), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                    \
            (const char *[]){__VA_ARGS__})

static inline const char *pick_of(Test *r, int n, const char *const *of) {
    return of[random_below(r, (uint32_t)n)];
}

static inline bool chance(Test *r, int percent) {
    return random_below(r, 100) < percent;
}

// ---- Masks: conditions on at[i] (the query's position) and at[j] (the key's) -------------------

static inline void mask_atom(Test *r, StrBuf *out) {
    int n = random_below(r, 6), m = 2 + random_below(r, 7);
    switch (random_below(r, 16)) {
    case 0:
        strbuf_printf(out, "at[j] <= at[i]");
        break;
    case 1:
        strbuf_printf(out, "at[j] < at[i]");
        break;
    case 2:
        strbuf_printf(out, "at[j] < at[i] + %d", n);
        break;
    case 3:
        strbuf_printf(out, "at[i] - at[j] < %d", m);
        break;
    case 4:
        strbuf_printf(out, "at[j] >= at[i] - %d", n);
        break;
    case 5:
        strbuf_printf(out, "at[j] < %d", n);
        break;
    case 6:
        strbuf_printf(out, "at[j] >= %d", n);
        break;
    case 7:
        strbuf_printf(out, "at[j] == 0");
        break;
    case 8:
        strbuf_printf(out, "at[j] == at[i]");
        break;
    case 9:
        strbuf_printf(out, "at[i] >= %d", m);
        break;
    case 10:
        strbuf_printf(out, "(at[i] - at[j]) %% %d == 0", m);
        break;
    case 11:
        strbuf_printf(out, "at[j] / %d == at[i] / %d", m, m);
        break;
    case 12:
        strbuf_printf(out, "at[j] / %d < at[i] / %d", m, m);
        break;
    case 13:
        strbuf_printf(out, "at[j] / %d <= at[i] / %d", m, m);
        break;
    case 14:
        strbuf_printf(out, "at[j] %% 2 == at[i] %% 2");
        break;
    default:
        strbuf_printf(out, "at[j] + %d > at[i]", n);
        break;
    }
}

static inline void mask_tree(Test *r, StrBuf *out, int depth) {
    int x = random_below(r, 100);
    if (depth == 0 || x < 30) {
        mask_atom(r, out);
        return;
    }
    strbuf_printf(out, x < 93 ? "(" : "!(");
    mask_tree(r, out, depth - 1);
    if (x < 93) {
        strbuf_printf(out, x < 70 ? ") && (" : ") || (");
        mask_tree(r, out, depth - 1);
    }
    strbuf_printf(out, ")");
}

// let seen{p}[i, j] = ..
static inline void say_mask(const Piece *c) {
    SAY("        let seen%d[i, j] = ", c->p);
    bool plain = chance(c->r, 20), within = chance(c->r, 60);
    SAY("%s", plain || within ? "at[j] <= at[i]" : "at[j] + at[i] >= 0"); // both must be there
    if (!plain) {
        SAY(" && (");
        mask_tree(c->r, c->body, 2);
        SAY(")");
    }
    SAY("\n");
    SAY("        let one%d[i, j] = cast<f32>(select(seen%d[i, j], 1, 0))\n", c->p, c->p);
}

// ---- Attention: 4 heads of width 2 over 2 key heads --------------------------------------------

static inline void say_heads(const Piece *c, const char *name, int heads, bool roped) {
    int p = c->p;
    strbuf_printf(c->params, "    param w%s%d: Tensor[%d, 2, 8; f32]\n", name, p, heads);
    SAY("        let %s%s%d[b, s, h, e] = sum[d] %s[b, s, d] * w%s%d[h, e, d]\n",
        roped ? "raw" : "", name, p, c->x, name, p);
    if (roped)
        SAY("        let %s%d[b, s, h, e] = raw%s%d[b, s, h, e] * cos(cast<f32>(at[s]) * 0.3) + "
            "raw%s%d[b, s, h, (es[e] + 1) %% 2] * sin(cast<f32>(at[s]) * 0.3)\n",
            name, p, name, p, name, p);
}

static inline void say_score(const Piece *c) {
    int p = c->p;
    const char *how = PICK(c->r, "index", "repeat", "reshape");
    const char *bias = PICK(c->r, "", "", " + cast<f32>(at[j] - at[i]) * 0.25",
                            " + cast<f32>(at[i] - at[j]) * exp(cast<f32>(hs[h]) * -0.5)");
    if (how[2] == 'p') { // repeat
        SAY("        let kr%d[b, s, h, e] = k%d[b, s, hs[h] / 2, e]\n", p, p);
        SAY("        let vr%d[b, s, h, e] = v%d[b, s, hs[h] / 2, e]\n", p, p);
        SAY("        let dot%d[b, h, i, j] = sum[e] q%d[b, i, h, e] * kr%d[b, j, h, e]\n", p, p, p);
    } else if (how[2] == 's') { // reshape
        SAY("        let qg%d = reshape(q%d, [B, S, 2, 2, 2])\n", p, p);
        SAY("        let dg%d[b, n, g, i, j] = sum[e] qg%d[b, i, n, g, e] * k%d[b, j, n, e]\n", p,
            p, p);
        SAY("        let dot%d = reshape(dg%d, [B, 4, S, S])\n", p, p);
    } else {
        SAY("        let dot%d[b, h, i, j] = sum[e] q%d[b, i, h, e] * k%d[b, j, hs[h] / 2, e]\n", p,
            p, p);
    }
    if (how[2] != 'p')
        SAY("        let vr%d[b, s, h, e] = v%d[b, s, hs[h] / 2, e]\n", p, p);
    SAY("        let score%d[b, h, i, j] = dot%d[b, h, i, j] * 0.7%s\n", p, p, bias);
}

static inline const char *masked_form(const char *mode) {
    static const char *const forms[][2] = {
        {"select", "select(seen@[i, j], score@[b, h, i, j], -1e30)"},
        {"add9", "score@[b, h, i, j] + select(seen@[i, j], 0.0, -1e9)"},
        {"add4", "score@[b, h, i, j] + select(seen@[i, j], 0.0, -1e4)"},
        {"blend", "score@[b, h, i, j] * one@[i, j] + (1.0 - one@[i, j]) * -1e9"},
        {"late9", "(dot@[b, h, i, j] + select(seen@[i, j], 0.0, -1e9)) * 0.7"},
        {"mulscore", "score@[b, h, i, j] * one@[i, j]"},
        {"rawmax", "score@[b, h, i, j]"},
        {"none", "score@[b, h, i, j]"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(forms[i][0], mode) == 0)
            return forms[i][1];
    }
    return forms[0][1]; // the max is taken over masked scores
}

// "let NAME{p}[b, h, i, j] = FORM", @ being the number of the piece.
static inline void say_form(const Piece *c, const char *name, const char *axes, const char *form) {
    SAY("        let %s%d[%s] = ", name, c->p, axes);
    for (const char *s = form; *s; s++) {
        if (*s == '@')
            SAY("%d", c->p);
        else
            strbuf_char(c->body, *s);
    }
    SAY("\n");
}

static inline void say_softmax(const Piece *c, const char *mode, const char *soft, bool queries) {
    bool raw =
        strcmp(mode, "mulexp") == 0 || strcmp(mode, "selexp") == 0 || strcmp(mode, "rawden") == 0;
    bool max = strcmp(soft, "plain") != 0;
    const char *at = queries ? "j" : "i", *over = queries ? "i" : "j";
    Arena *a = c->body->arena;
    const char *from = raw ? "score@" : "masked@";
    const char *power = max ? arena_printf(a, "exp(%s[b, h, i, j] - peak@[b, h, %s])", from, at)
                            : arena_printf(a, "exp(%s[b, h, i, j])", from);
    const char *axes = arena_printf(a, "b, h, %s", at);
    say_form(c, "masked", "b, h, i, j", masked_form(mode));
    if (max)
        say_form(c, "peak", axes, arena_printf(a, "max[%s] masked@[b, h, i, j]", over));
    if (strcmp(mode, "mulexp") == 0 || strcmp(mode, "rawmax") == 0)
        power = arena_printf(a, "%s * one@[i, j]", power);
    if (strcmp(mode, "selexp") == 0)
        power = arena_printf(a, "select(seen@[i, j], %s, 0.0)", power);
    say_form(c, "power", "b, h, i, j", power);
    say_form(c, "total", axes, arena_printf(a, "sum[%s] power@[b, h, i, j]", over));
    const char *top =
        strcmp(mode, "rawden") == 0 ? "power@[b, h, i, j] * one@[i, j]" : "power@[b, h, i, j]";
    const char *by = strcmp(soft, "late") == 0 && !queries ? ""
                     : strcmp(soft, "one") == 0 ? arena_printf(a, " / (total@[%s] + 1.0)", axes)
                                                : arena_printf(a, " / total@[%s]", axes);
    say_form(c, "share", "b, h, i, j", arena_printf(a, "%s%s", top, by));
}

static inline void say_attention(const Piece *c, bool queries) {
    int p = c->p;
    bool roped = chance(c->r, 30), talk = chance(c->r, 20);
    const char *mode = chance(c->r, 85) ? PICK(c->r, "select", "add9", "add4", "blend", "late9",
                                               "mulexp", "selexp")
                                        : PICK(c->r, "mulscore", "rawmax", "rawden", "none");
    const char *soft = PICK(c->r, "max", "plain", "late", "one");
    say_mask(c);
    say_heads(c, "q", 4, roped);
    say_heads(c, "k", 2, roped);
    say_heads(c, "v", 2, false);
    say_score(c);
    say_softmax(c, mode, soft, queries);
    if (talk) {
        strbuf_printf(c->params, "    param mix%d: Tensor[4, 4; f32]\n", p);
        SAY("        let talk%d[b, h, i, j] = sum[g] share%d[b, g, i, j] * mix%d[g, h]\n", p, p, p);
    }
    SAY("        let mixed%d[b, i, h, e] = sum[j] %s%d[b, h, i, j] * vr%d[b, j, h, e]\n", p,
        talk ? "talk" : "share", p, p);
    bool late = strcmp(soft, "late") == 0 && !queries;
    SAY("        let each%d[b, i, h, e] = mixed%d[b, i, h, e]%s\n", p, p,
        late ? arena_printf(c->body->arena, " / total%d[b, h, i]", p) : "");
    strbuf_printf(c->params, "    param wo%d: Tensor[8, 8; f32]\n", p);
    SAY("        let flat%d = reshape(each%d, [B, S, 8])\n", p, p);
    SAY("        let y%d[b, s, o] = sum[d] flat%d[b, s, d] * wo%d[o, d]\n", p, p, p);
}

// ---- Other pieces ------------------------------------------------------------------------------

static inline void say_running(const Piece *c) {
    bool max = chance(c->r, 50);
    say_mask(c);
    SAY("        let y%d[b, i, d] = %s[j] select(seen%d[i, j], %s[b, j, d], %s)\n", c->p,
        max ? "max" : "sum", c->p, c->x, max ? "-1e30" : "0.0");
}

static inline void say_linear_attention(const Piece *c) {
    int p = c->p;
    const char *decay = chance(c->r, 50) ? " * exp(cast<f32>(at[i] - at[j]) * -0.1)" : "";
    say_mask(c);
    for (int i = 0; i < 3; i++) {
        strbuf_printf(c->params, "    param w%c%d: Tensor[%d, 8; f32]\n", "qkv"[i], p,
                      i < 2 ? 2 : 8);
        SAY("        let %c%d[b, s, o] = sum[d] %s[b, s, d] * w%c%d[o, d]\n", "qkv"[i], p, c -> x,
            "qkv"[i], p);
    }
    SAY("        let st%d[b, i, e, d] = sum[j] select(seen%d[i, j], k%d[b, j, e] * v%d[b, j, d]%s, "
        "0.0)\n",
        p, p, p, p, decay);
    SAY("        let y%d[b, i, d] = sum[e] q%d[b, i, e] * st%d[b, i, e, d]\n", p, p, p);
}

static inline void say_convolution(const Piece *c) {
    int p = c->p, late = chance(c->r, 25), width = 1 + random_below(c->r, 4);
    strbuf_printf(c->params, "    param c%d: Tensor[%d, 8; f32]\n", p, width);
    SAY("        let tap%d = iota<i64>(%d)\n", p, width);
    SAY("        let go%d[s, j] = at[s] - tap%d[j] + %d\n", p, p, late);
    SAY("        let y%d[b, s, d] = sum[j] select(go%d[s, j] >= 0 && go%d[s, j] < S, %s[b, "
        "max(min(go%d[s, j], S - 1), 0), d] * c%d[j, d], 0.0)\n",
        p, p, p, c->x, p, p);
}

static inline void say_read(const Piece *c) {
    int p = c->p, n = 1 + random_below(c->r, 4);
    Arena *a = c->body->arena;
    const char *token = "cast<i64>(tokens[b, s])";
    const char *forms[] = {
        arena_printf(a, "at[s] / %d", n),
        arena_printf(a, "max(at[s] - %d, 0)", n),
        "S - 1 - at[s]",
        arena_printf(a, "min(%s, at[s])", token),
        arena_printf(a, "at[s] - at[s] %% %d", n),
        "0 * at[s]",
        arena_printf(a, "min(at[s] + %d, S - 1)", n),
        arena_printf(a, "min(at[s], %d)", n),
        arena_printf(a, "select(at[s] < %d, at[s], at[s] - %d)", n, n),
        arena_printf(a, "max(min(at[s], %s) - %d, 0)", token, n),
        arena_printf(a, "min(at[s] / %d * %d + %d, S - 1)", n, n, n - 1),
        arena_printf(a, "select(at[s] + %d < S, at[s] + %d, at[s])", n, n),
    };
    const char *form = pick_of(c->r, 12, forms), *axes = strstr(form, "tokens") ? "b, s" : "s";
    SAY("        let go%d[%s] = %s\n", p, axes, form);
    SAY("        let y%d[b, s, d] = %s[b, go%d[%s], d]\n", p, c->x, p, axes);
}

static inline void say_odd(const Piece *c) {
    int p = c->p;
    const char *x = c->x;
    switch (random_below(c->r, 8)) {
    case 0: // a norm over all positions
        SAY("        let all%d[b, d] = sum[s] %s[b, s, d] * %s[b, s, d]\n", p, x, x);
        SAY("        let y%d[b, s, d] = %s[b, s, d] * rsqrt(all%d[b, d] + 1.0)\n", p, x, p);
        break;
    case 1: // over the batch
        SAY("        let all%d[s, d] = sum[b] %s[b, s, d]\n", p, x);
        SAY("        let y%d[b, s, d] = %s[b, s, d] - all%d[s, d] * 0.1\n", p, x, p);
        break;
    case 2: // what followed the same token earlier
        SAY("        let y%d[b, i, d] = sum[j] select(at[j] < at[i] && tokens[b, j] == tokens[b, "
            "i], "
            "%s[b, min(at[j] + 1, at[i]), d], 0.0)\n",
            p, x);
        break;
    case 3: // a shift of the axis of positions and features together
        SAY("        let f%d = reshape(%s, [B, S * 8])\n", p, x);
        SAY("        let y%d[b, s, d] = select(at[s] >= 1, f%d[b, max(at[s] * 8 + ds[d] - 8, 0)], "
            "0.0)\n",
            p, p);
        break;
    case 4: // learned positions
        strbuf_printf(c->params, "    param place%d: Tensor[64, 8; f32]\n", p);
        SAY("        let y%d[b, s, d] = %s[b, s, d] + place%d[min(at[s], 63), d]\n", p, x, p);
        break;
    case 5: // the mean so far
        SAY("        let all%d[b, i, d] = sum[j] select(at[j] <= at[i], %s[b, j, d], 0.0)\n", p, x);
        SAY("        let y%d[b, i, d] = all%d[b, i, d] / cast<f32>(at[i] + 1)\n", p, p);
        break;
    case 6: // two indices summed, the position first or not
        SAY("        let y%d[b, i, d] = sum[%s] select(at[j] <= at[i], %s[b, j, g] * %s[b, j, d], "
            "0.0)\n",
            p, chance(c->r, 50) ? "g, j" : "j, g", x, x);
        break;
    default:
        say_attention(c, true);
    }
}

static inline void say_piece(const Piece *c) {
    int x = random_below(c->r, 100);
    if (x < 45) {
        say_attention(c, false);
    } else if (x < 55) {
        say_running(c);
    } else if (x < 65) {
        say_linear_attention(c);
    } else if (x < 72) {
        say_convolution(c);
    } else if (x < 77) {
        int n = 1 + random_below(c->r, 4);
        SAY("        let y%d[b, s, d] = select(at[s] >= %d, %s[b, max(at[s] - %d, 0), d], 0.0)\n",
            c->p, n, c->x, n);
    } else if (x < 90) {
        say_read(c);
    } else {
        say_odd(c);
    }
}

// Program number `seed`. Its entry `forward` gives logits [B, S, 11], or [B, 11] of the last row.
static inline const char *random_program(Arena *a, uint64_t seed) {
    Test r = {.state = seed * 2654435761u + 12345};
    StrBuf params = strbuf_new(a), body = strbuf_new(a), out = strbuf_new(a);
    for (int i = 0; i < 4; i++)
        random_bits(&r);
    int pieces = 1 + random_below(&r, 2);
    bool last = chance(&r, 10), resid = chance(&r, 50);
    for (int p = 0; p < pieces; p++) {
        Piece c = {&r, &params, &body, p, p ? "x1" : "x0"};
        say_piece(&c);
        strbuf_printf(&body, "        let x%d = y%d%s\n", p + 1, p,
                      !resid ? ""
                      : p    ? " + x1"
                             : " + x0");
    }
    strbuf_printf(&out,
                  "module t\nblock M {\n    param table: Tensor[11, 8; f32]\n%s"
                  "    pub entry forward<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> "
                  "Tensor[B, %s11; f32]\n    where S > 0 {\n"
                  "        let at = iota<i64>(S)\n        let hs = iota<i64>(4)\n"
                  "        let es = iota<i64>(2)\n        let ds = iota<i64>(8)\n"
                  "        let x0[b, s, d] = table[tokens[b, s], d] * 2.0\n%s",
                  params.data ? params.data : "", last ? "" : "S, ", body.data);
    if (last)
        strbuf_printf(&out, "        let h[b, d] = x%d[b, S - 1, d]\n", pieces);
    if (last)
        strbuf_printf(&out, "        let logits[b, n] = sum[d] h[b, d] * table[n, d]\n");
    else
        strbuf_printf(&out, "        let logits[b, s, n] = sum[d] x%d[b, s, d] * table[n, d]\n",
                      pieces);
    strbuf_printf(&out, "        return logits\n    }\n}\n");
    return out.data;
}
#undef SAY
