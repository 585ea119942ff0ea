// Forms, interned sets of constraints, and Fourier-Motzkin elimination with integer tightening.
#include "opt/affine_impl.h"
#include <string.h>

// ---- Forms -------------------------------------------------------------------------------------

Form form_const(int64_t k) {
    return (Form){.k = k};
}

Form form_var(const Var *v) {
    return (Form){.n = 1, .t = {{v, 1}}};
}

static bool mul_add(int64_t *out, int64_t a, int64_t b, int64_t times) {
    int64_t product;
    return !__builtin_mul_overflow(b, times, &product) && !__builtin_add_overflow(a, product, out);
}

bool form_add(Form *out, const Form *a, const Form *b, int64_t times) {
    Form r = {0};
    if (!mul_add(&r.k, a->k, b->k, times))
        return false;
    for (int i = 0, j = 0; i < a->n || j < b->n;) {
        FormTerm t = {0};
        bool left = i < a->n && (j == b->n || a->t[i].var->id <= b->t[j].var->id);
        bool right = j < b->n && (i == a->n || b->t[j].var->id <= a->t[i].var->id);
        t.var = left ? a->t[i].var : b->t[j].var;
        if (!mul_add(&t.c, left ? a->t[i].c : 0, right ? b->t[j].c : 0, times))
            return false;
        i += left;
        j += right;
        if (t.c && r.n == FORM_MAX)
            return false;
        if (t.c)
            r.t[r.n++] = t;
    }
    *out = r;
    return true;
}

bool form_length(const Form *f) {
    for (int i = 0; i < f->n; i++) {
        if (f->t[i].var->length)
            return true;
    }
    return false;
}

static int compare_coefficients(const Form *a, const Form *b) {
    if (a->n != b->n)
        return a->n - b->n;
    for (int i = 0; i < a->n; i++) {
        if (a->t[i].var != b->t[i].var)
            return a->t[i].var->id - b->t[i].var->id;
        if (a->t[i].c != b->t[i].c)
            return a->t[i].c < b->t[i].c ? -1 : 1;
    }
    return 0;
}

bool form_equal(const Form *a, const Form *b) {
    return a->k == b->k && compare_coefficients(a, b) == 0;
}

double form_bound(const Form *f) {
    double most = f->k < 0 ? -(double)f->k : (double)f->k;
    for (int i = 0; i < f->n; i++)
        most += (f->t[i].c < 0 ? -(double)f->t[i].c : (double)f->t[i].c) * f->t[i].var->most;
    return most;
}

static int64_t floor_div(int64_t a, int64_t b) { // b > 0
    return a / b - (a % b < 0);
}

// As a constraint form >= 0 over integers: coefficients without common divisor, the constant
// rounded down.
static Form normal(Form f) {
    int64_t g = 0;
    for (int i = 0; i < f.n; i++) {
        int64_t x = f.t[i].c < 0 ? -f.t[i].c : f.t[i].c;
        while (x) {
            int64_t rest = g % x;
            g = x;
            x = rest;
        }
    }
    if (g > 1) {
        for (int i = 0; i < f.n; i++)
            f.t[i].c /= g;
        f.k = floor_div(f.k, g);
    }
    return f;
}

// ---- Sets of constraints -----------------------------------------------------------------------

static uint32_t hash_cons(const Form *forms, int n) {
    uint64_t h = 7;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)forms[i].k) * 0x9e3779b97f4a7c15u;
        for (int j = 0; j < forms[i].n; j++) {
            h = (h ^ (uint64_t)forms[i].t[j].var->id) * 0x9e3779b97f4a7c15u;
            h = (h ^ (uint64_t)forms[i].t[j].c ^ h >> 31) * 0x9e3779b97f4a7c15u;
        }
    }
    return (uint32_t)(h >> 32);
}

static bool same_cons(const Cons *c, const Form *forms, int n) {
    if (c->n != n)
        return false;
    for (int i = 0; i < n; i++) {
        if (!form_equal(&c->forms[i], &forms[i]))
            return false;
    }
    return true;
}

static void place(Affine *p, const Cons *c) {
    uint32_t at = hash_cons(c->forms, c->n) & (uint32_t)(p->slot_count - 1);
    while (p->slots[at])
        at = (at + 1) & (uint32_t)(p->slot_count - 1);
    p->slots[at] = c;
}

static void grow(Affine *p) {
    const Cons **old = p->slots;
    int n = p->slot_count;
    p->slot_count = n ? 2 * n : 256;
    p->slots = NEW_N(p->arena, const Cons *, p->slot_count);
    for (int i = 0; i < n; i++) {
        if (old[i])
            place(p, old[i]);
    }
}

static const Cons *cons_intern(Affine *p, const Form *forms, int n) {
    if (2 * (p->cons_count + 1) > p->slot_count)
        grow(p);
    uint32_t at = hash_cons(forms, n) & (uint32_t)(p->slot_count - 1);
    for (; p->slots[at]; at = (at + 1) & (uint32_t)(p->slot_count - 1)) {
        if (same_cons(p->slots[at], forms, n))
            return p->slots[at];
    }
    Cons *c = NEW(p->arena, Cons);
    c->n = n;
    c->forms = n ? arena_copy(p->arena, forms, sizeof *forms * (size_t)n) : NULL;
    c->id = (uint32_t)p->cons_count++;
    c->feasible = -1;
    p->slots[at] = c;
    return c;
}

const Cons *cons_none(Affine *p) {
    if (!p->none)
        p->none = cons_intern(p, NULL, 0);
    return p->none;
}

const Cons *cons_with(Affine *p, const Cons *c, const Form *f) {
    Form forms[CONS_MAX + 1], g = normal(*f);
    if ((!g.n && g.k >= 0) || c->n == CONS_MAX)
        return c; // a fact left out proves less, nothing wrong
    int n = 0, i = 0;
    for (; i < c->n && compare_coefficients(&c->forms[i], &g) < 0; i++)
        forms[n++] = c->forms[i];
    if (i < c->n && compare_coefficients(&c->forms[i], &g) == 0) {
        if (c->forms[i].k <= g.k)
            return c;
        i++;
    }
    forms[n++] = g;
    for (; i < c->n; i++)
        forms[n++] = c->forms[i];
    return cons_intern(p, forms, n);
}

const Cons *cons_less(Affine *p, const Cons *c, const Form *a, const Form *b, int64_t gap) {
    Form f;
    if (!form_add(&f, b, a, -1) || __builtin_sub_overflow(f.k, gap, &f.k))
        return c;
    return cons_with(p, c, &f);
}

const Cons *cons_join(Affine *p, const Cons *a, const Cons *b) {
    for (int i = 0; i < b->n; i++)
        a = cons_with(p, a, &b->forms[i]);
    return a;
}

// ---- Elimination -------------------------------------------------------------------------------

enum { SYSTEM_MAX = 400 };

struct System {
    Affine *p;
    int n;
    bool contradiction;
    bool too_large;
    VEC(const Var *) vars; // seen so far
    Form forms[SYSTEM_MAX];
};

static void system_add(System *s, const Form *f) {
    Form g = normal(*f);
    if (!g.n) {
        s->contradiction = s->contradiction || g.k < 0;
        return;
    }
    for (int i = 0; i < s->n; i++) {
        if (compare_coefficients(&s->forms[i], &g) == 0) {
            if (g.k < s->forms[i].k)
                s->forms[i].k = g.k;
            return;
        }
    }
    if (s->n == SYSTEM_MAX)
        s->too_large = true;
    else
        s->forms[s->n++] = g;
}

// a <= b + gap
static void system_at_most(System *s, const Form *a, const Form *b, int64_t gap) {
    Form f;
    if (form_add(&f, b, a, -1) && !__builtin_add_overflow(f.k, gap, &f.k))
        system_add(s, &f);
}

static void system_close(System *s, const Form *f);

// What is always true of a variable.
static void system_define(System *s, const Var *v) {
    Form self = form_var(v), zero = form_const(0), extent, rest;
    if (v->kind == VAR_INDEX) {
        system_add(s, &self);
        if (form_dim(s->p, v->dim, &extent)) {
            system_at_most(s, &self, &extent, -1);
            system_close(s, &extent);
        }
    } else if (v->kind == VAR_DIM && dim_is_symbol(v->dim)) {
        system_at_most(s, &zero, &self, v == s->p->length ? -1 : 0);
    } else if (v->kind == VAR_TERM && v->natural) {
        system_add(s, &self);
    } else if (v->kind == VAR_DIV && form_add(&rest, v->of, &self, -v->by)) {
        Form most = form_const(v->by - 1);
        system_add(s, &rest);
        system_at_most(s, &rest, &most, 0);
        if (v->natural)
            system_add(s, &self);
        system_close(s, v->of);
    }
}

// The ranges and definitions of the variables of f.
static void system_close(System *s, const Form *f) {
    for (int i = 0; i < f->n; i++) {
        bool seen = false;
        for (int j = 0; j < s->vars.len; j++)
            seen = seen || s->vars.data[j] == f->t[i].var;
        if (seen)
            continue;
        vec_push(s->p->arena, &s->vars, f->t[i].var);
        system_define(s, f->t[i].var);
    }
}

static int64_t coefficient(const Form *f, const Var *v) {
    for (int i = 0; i < f->n; i++) {
        if (f->t[i].var == v)
            return f->t[i].c;
    }
    return 0;
}

// The variable that costs least to eliminate, or NULL.
static const Var *cheapest(const System *s) {
    const Var *best = NULL;
    int64_t least = 0;
    for (int i = 0; i < s->vars.len; i++) {
        int64_t up = 0, down = 0;
        for (int j = 0; j < s->n; j++) {
            int64_t c = coefficient(&s->forms[j], s->vars.data[i]);
            up += c > 0;
            down += c < 0;
        }
        if (up + down && (!best || up * down < least)) {
            best = s->vars.data[i];
            least = up * down;
        }
    }
    return best;
}

// f + g with v gone: a * g + b * f for coefficients a > 0 in f, -b in g.
static void combine(System *s, const Form *f, const Form *g, const Var *v) {
    int64_t a = coefficient(f, v), b = -coefficient(g, v);
    Form zero = {0}, scaled, sum;
    if (form_add(&scaled, &zero, g, a) && form_add(&sum, &scaled, f, b))
        system_add(s, &sum);
}

static void eliminate(System *s, const Var *v, Form *old) {
    int n = s->n;
    memcpy(old, s->forms, sizeof *old * (size_t)n);
    s->n = 0;
    for (int i = 0; i < n; i++) {
        if (!coefficient(&old[i], v))
            system_add(s, &old[i]);
    }
    for (int i = 0; i < n; i++) {
        if (coefficient(&old[i], v) <= 0)
            continue;
        for (int j = 0; j < n && !s->too_large; j++) {
            if (coefficient(&old[j], v) < 0)
                combine(s, &old[i], &old[j], v);
        }
    }
    s->p->fuel -= n + s->n;
}

static void system_solve(System *s) {
    Form *old = s->p->old;
    const Var *v;
    while (!s->contradiction && !s->too_large && s->p->fuel > 0 && (v = cheapest(s)))
        eliminate(s, v, old);
    if (s->p->fuel <= 0)
        s->too_large = true;
}

static System *system_new(Affine *p, const Cons *c) {
    if (!p->system) {
        p->system = NEW(p->arena, System);
        p->old = NEW_N(p->arena, Form, SYSTEM_MAX);
    }
    System *s = p->system; // one at a time
    s->p = p;
    s->n = s->vars.len = 0;
    s->contradiction = s->too_large = false;
    for (int i = 0; i < c->n; i++)
        system_add(s, &c->forms[i]);
    for (int i = 0; i < c->n; i++)
        system_close(s, &c->forms[i]);
    return s;
}

bool affine_feasible(Affine *p, const Cons *c) {
    if (c->feasible < 0) {
        System *s = system_new(p, c);
        system_solve(s);
        ((Cons *)c)->feasible = !s->contradiction;
    }
    return c->feasible;
}

static int64_t solve_sup(Affine *p, const Form *f, const Cons *c) {
    System *s = system_new(p, c);
    system_close(s, f);
    Form goal = form_var(p->goal);
    int64_t best = AFFINE_INF;
    system_at_most(s, &goal, f, 0);
    system_solve(s);
    if (s->contradiction)
        return -AFFINE_INF;
    for (int i = 0; i < s->n && !s->too_large; i++) {
        int64_t a = coefficient(&s->forms[i], p->goal);
        if (s->forms[i].n == 1 && a < 0 && floor_div(s->forms[i].k, -a) < best)
            best = floor_div(s->forms[i].k, -a);
    }
    return best;
}

int64_t affine_sup(Affine *p, const Form *f, const Cons *c) {
    if (!affine_feasible(p, c))
        return -AFFINE_INF;
    if (!f->n)
        return f->k;
    SupMemo *m = &p->sups[(hash_cons(f, 1) ^ c->id * 2654435761u) % SUP_CACHE];
    if (!m->used || m->cons != c->id || !form_equal(&m->form, f))
        *m = (SupMemo){true, c->id, *f, solve_sup(p, f, c)};
    return m->sup;
}
