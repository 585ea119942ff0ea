// Keeps what entries lead to; callees stand before callers, so one walk backwards finds all.
#include "opt/prune.h"
#include "opt/dce.h"

static int number_of(const Core *c, const CoreFn *f) {
    for (int i = 0; i < c->fns.len; i++) {
        if (c->fns.data[i] == f)
            return i;
    }
    return -1;
}

void opt_prune(Core *c, int n, CoreFn *const *entries) {
    bool *used = NEW_N(c->session->arena, bool, c->fns.len + 1);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        int at = number_of(c, entries[i]);
        if (at >= 0)
            used[at] = true;
    }
    for (int i = c->fns.len - 1; i >= 0; i--) {
        const CoreFn *f = c->fns.data[i];
        const bool *live = used[i] ? opt_live(c->session->arena, f) : NULL;
        for (int v = 0; live && v < f->values.len; v++) {
            int callee =
                live[v] && f->values.data[v].callee ? number_of(c, f->values.data[v].callee) : -1;
            if (callee >= 0)
                used[callee] = true;
        }
    }
    for (int i = 0; i < c->fns.len; i++) {
        if (used[i])
            c->fns.data[kept++] = c->fns.data[i];
    }
    c->fns.len = kept;
}
