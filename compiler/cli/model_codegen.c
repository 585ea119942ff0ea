// A model for the code generator; see model_codegen.h.
#include "cli/model_codegen.h"
#include "cli/cli.h"
#include "cli/where.h"
#include "opt/at.h"

Core *model_codegen(const Model *m, CodegenOptions *o, CodegenCache *cache) {
    const StepPlan *p = m->at ? NULL : m->step;
    *o = (CodegenOptions){.entry = m->entry,
                          .greedy = m->greedy,
                          .key = m->key,
                          .tokens = m->tokens,
                          .temperature = m->temperature,
                          .length = m->length,
                          .context = m->window ? m->window : m->context,
                          .window = m->window > 0,
                          .vocab = m->vocab,
                          .default_temperature = m->serve.default_temperature,
                          .model_name = m->serve.model->name,
                          .weights_name = m->weights_name};
    if (m->at) {
        o->entry = m->at;
        o->greedy = m->at_greedy;
        o->length = NULL;
        o->fixed = true;
    }
    if (m->decode) {
        cache->written = (CodegenWritten){m->decode, m->prefill, m->prefill_length};
        o->written = &cache->written;
        return m->step_core;
    }
    if (!p && !m->at && !m->serve.ids)
        o->entry = o->greedy = opt_last_logits(m->core, m->entry);
    if (!p)
        return m->core;
    cache->step = (CodegenStep){.fn = p->fn,
                                .rows = p->B,
                                .width = p->C,
                                .capacity = p->Cap,
                                .length = p->L,
                                .max_rows = model_max_rows(m),
                                .chunk = USUAL_CHUNK,
                                .lookback = p->origin ? p->window + 1 : 0,
                                .origin_step = p->origin_step};
    o->step = &cache->step;
    return m->step_core;
}

static const char no_form[] = "has no form for one length";

// The entry with N positions where it is one of S.
static CoreFn *padded(Model *m, Resize *r, CoreFn *f) {
    StepRefusal why;
    CoreFn *at = opt_at(r, f, &why);
    if (at)
        return at;
    Diag *d = model_report_why(m, E8009, &why, NULL, no_form);
    diag_help(m->s, d,
              "give logits [B, S, V], or select the last position in `%s` itself, once, as in "
              "x[:, S - 1, :], and let nothing else depend on S",
              m->serve.entry->name);
    return NULL;
}

// May a text be padded? False after E8009, at what the padding would change.
static bool may_pad(Model *m) {
    StepRefusal why = m->step_why;
    const CausalCause *cause = m->causal ? causal_refusal(m->causal) : NULL;
    if (m->step && opt_may_pad(m->step, m->length, &cause))
        return true;
    if (m->step) {
        StrBuf text = strbuf_new(m->a);
        causal_print_cause(cause, &text);
        why = (StepRefusal){text.data, cause->span, causal_site(m->causal, cause->owner)};
    }
    Diag *d = model_report_why(m, E8009, &why, cause, no_form);
    diag_note(m->s, d, (Span){0},
              "a text is padded: what is read at its last token may depend on no later position, "
              "and not on the length");
    return false;
}

// Do the entry's where clauses allow the one length?
static bool length_allowed(Model *m) {
    const Item *entry = m->serve.entry;
    const Generic **generics = NEW_N(m->a, const Generic *, entry->generics.len + 1);
    GenericArg *args = NEW_N(m->a, GenericArg, entry->generics.len + 1);
    for (int i = 0; i < entry->generics.len; i++) {
        generics[i] = entry->generics.data[i].generic;
        if (generics[i] == m->serve.length)
            args[i] = (GenericArg){.dim = dim_const(m->program->dims, m->context), .bound = true};
    }
    Subst s = {{generics, args, entry->generics.len}, NULL};
    return where_holds(m, entry, &s, false);
}

int model_fix(Model *m) {
    if (m->window)
        return EXIT_FINE; // it has one length already
    if (m->decode) {
        Diag *d = report(m->s, m->serve.decode->name_span, E8009,
                         "--fixed keeps nothing, and `%s` keeps a cache", m->serve.decode->name);
        diag_help(m->s, d, "leave `decode` and `prefill` out, or --fixed");
        return EXIT_WRONG;
    }
    if (!may_pad(m) || !length_allowed(m))
        return EXIT_WRONG;
    Resize r = {.core = m->core, .from = m->length};
    r.to = dim_const(m->program->dims, m->context);
    m->at = padded(m, &r, m->serve.ids ? m->entry : opt_last_logits(m->core, m->entry));
    m->at_greedy = m->at && m->greedy != m->entry ? padded(m, &r, m->greedy) : m->at;
    return m->at_greedy ? model_verify(m, m->core, "fixing the length") : EXIT_WRONG;
}

bool model_bounded(Model *m) {
    if (m->context > INT32_MAX) {
        Diag *d = report(m->s, (Span){0}, E8009, "the context of %s is %lld tokens, beyond %d",
                         m->path, (long long)m->context, INT32_MAX);
        diag_help(m->s, d, "give --ctx N");
        return false;
    }
    if (m->window || m->context >= 0)
        return true;
    Diag *d = report(m->s, (Span){0}, E8009, "the context of %s has no bound", m->path);
    diag_help(m->s, d, "give --ctx N");
    return false;
}
