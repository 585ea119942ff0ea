// serin check --engine: what keeps a serving engine from running the model, or an export from
// taking it. The engines' own rules are in opt/compat.h; Serin serves much that they do not, and
// each report says so.
#include "cli/cli.h"
#include "cli/model.h"
#include "opt/compat.h"
#include <string.h>

static bool is_export(const Model *m) {
    return strcmp(m->engine, "hf") == 0;
}

// The first entry of the root module that belongs to no block, or to one.
static const Item *find_entry(const Model *m, bool in_block) {
    for (int i = 0; i < m->program->root->items.len; i++) {
        const Item *item = m->program->root->items.data[i];
        if (item->kind == ITEM_ENTRY && !in_block)
            return item;
        for (int k = 0; in_block && item->kind == ITEM_BLOCK && k < item->items.len; k++) {
            if (item->items.data[k]->kind == ITEM_ENTRY)
                return item->items.data[k];
        }
    }
    return NULL;
}

static bool without_block(Model *m) {
    const Item *of_block = find_entry(m, true), *free = find_entry(m, false);
    Diag *d;
    if (is_export(m) && of_block)
        return true; // its block is the model
    if (is_export(m)) {
        d = report(m->s, free ? free->name_span : (Span){0}, E3306,
                   "`%s` doesn't take the model first, to be exported as one",
                   free ? free->name : m->path);
        diag_help(m->s, d, "make it an entry of the block that has the parameters");
        return false;
    }
    const Item *entry = of_block ? of_block : free;
    d = report(m->s, entry ? entry->name_span : (Span){0}, E3301,
               "`%s` is no forward pass that %s runs: no `inference serve` block names it",
               entry ? entry->name : m->path, m->engine);
    diag_help(m->s, d, "add `inference serve { model = .. }`");
    return false;
}

bool model_engine_early(Model *m) {
    Diag *d;
    if (m->s->errors)
        return false;
    if (!m->serve.block)
        return without_block(m);
    if (is_export(m))
        return true;
    if (!m->serve.entry) {
        d = report(m->s, m->serve.model->name_span, E3301, "`%s` has no forward pass that %s runs",
                   m->serve.model->name, m->engine);
        diag_help(m->s, d, "add an entry from the token ids [B, S] to logits [B, S, V]");
        return false;
    }
    d = report(m->s, m->serve.entry->name_span, E3301,
               "`%s` is no forward pass that %s runs: dimensions of `%s` are not bound",
               m->serve.entry->name, m->engine, m->serve.model->name);
    diag_help(m->s, d, "bind them with the weights, --dim or --set");
    return false;
}

static void report_fault(Model *m, const CompatFault *f) {
    int64_t bytes = m->step ? opt_step_bytes(m->step) : -1;
    Span span = f->span.file ? f->span : m->serve.entry->name_span;
    bool plural = strncmp(f->cause, "are ", 4) == 0 || strncmp(f->cause, "choose ", 7) == 0;
    Diag *d = report(m->s, span, f->code, "%s can't run this: %s`%s` %s", m->engine,
                     plural ? "the token ids " : "", f->symbol, f->cause);
    if (f->inside.file)
        diag_note(m->s, d, f->inside, "in what is called there");
    if (bytes >= 0)
        diag_note(m->s, d, (Span){0}, "Serin serves it, with a cache of %lld bytes a token",
                  (long long)bytes);
    diag_help(m->s, d, "%s", f->fix);
}

bool model_engine(Model *m) {
    CompatFaults faults = {0};
    if (is_export(m))
        return true; // an entry of the block: the model comes first
    if (m->window) {
        Diag *d = report(m->s, m->serve.entry->name_span, E3301,
                         "`%s` is no forward pass that %s runs: it takes exactly %lld tokens, and "
                         "an engine any number",
                         m->serve.entry->name, m->engine, (long long)m->window);
        diag_help(m->s, d,
                  "make the length a generic of the entry, and read the learned positions "
                  "at the row's own");
        return false;
    }
    if (m->serve.decode) {
        Diag *d = report(m->s, m->serve.decode->name_span, E3301,
                         "`%s` keeps a cache of its own, and %s keeps keys and values itself",
                         m->serve.decode->name, m->engine);
        diag_help(m->s, d, "leave `decode` and `prefill` out for engines");
        return false;
    }
    if (!m->step)
        return false; // reported by model_derive
    opt_compat(m->step_core, m->step_entry, m->length, m->tokens, &faults);
    for (int i = 0; i < faults.len; i++)
        report_fault(m, &faults.data[i]);
    return faults.len == 0;
}
