// The derived step of a model, and what is said where there is none.
#include "cli/cli.h"
#include "cli/model.h"
#include <string.h>

static bool wants_cache(const Model *m) {
    if (m->engine && strcmp(m->engine, "hf") != 0)
        return true;
    for (int i = 0; i < m->serve.block->serve.len; i++) {
        const char *name = m->serve.block->serve.data[i].name;
        if (strcmp(name, "cache") == 0 || strcmp(name, "batching") == 0)
            return true;
    }
    return false;
}

// What the command line set may well be the reason.
static void note_settings(Model *m, Diag *d) {
    for (int i = 0; i < m->settings.len; i++) {
        const Setting *set = &m->settings.data[i];
        if (set->flag && strcmp(set->origin, "--set") == 0)
            diag_note(m->s, d, (Span){0}, "with --set %s=%s", set->name, set->value);
    }
}

Diag *model_report_why(Model *m, DiagCode code, const StepRefusal *why, const CausalCause *cause,
                       const char *what) {
    const char *text = why->text, *entry = m->serve.entry->name;
    Span span = why->span.file ? why->span : m->serve.entry->name_span;
    bool called = why->site.file && why->site.file != span.file;
    if (cause && cause->expression)
        text = arena_printf(m->a, "`%s` %s", cause->expression, cause->why);
    Diag *d = report(m->s, called ? why->site : span, code, "`%s` %s: %s", entry, what, text);
    if (cause && cause->label && !called)
        diag_label(m->s, d, "%s", cause->label);
    if (called)
        diag_note(m->s, d, span, "in what is called there");
    if (cause && cause->reader) {
        Span at = causal_site(m->causal, cause->value);
        bool far = at.file && at.file != cause->value->span.file;
        diag_note(m->s, d, far ? at : cause->value->span, "%s",
                  far ? "every position is read in what is called here" : cause->reader);
    }
    note_settings(m, d);
    return d;
}

// E3304 where the serve block counts on a cache, else a warning: the whole context is computed.
static void report_refusal(Model *m) {
    const CausalCause *cause = m->causal ? causal_refusal(m->causal) : NULL;
    DiagCode code = wants_cache(m) && !m->open ? E3304 : W3304;
    Diag *d;
    if (m->open && !(cause && cause->label))
        return; // numbers may decide it
    if (!m->causal && m->engine && code == E3304) {
        const char *what = arena_printf(m->a, "is no forward pass that %s runs", m->engine);
        d = model_report_why(m, E3301, &m->step_why, NULL, what);
        diag_help(m->s, d,
                  "take the token ids [B, S] and give logits [B, S, V], or the token that "
                  "is drawn from them");
        return;
    }
    d = model_report_why(m, code, &m->step_why, cause, "can't be served position by position");
    diag_note(m->s, d, (Span){0},
              "a cache needs a proof that position q depends on positions up to "
              "q only, whatever the length");
    if (m->open)
        diag_help(m->s, d,
                  "mend the expression; or, if it is right, give the dimensions by --dim: "
                  "with numbers more is proved");
    else if (code == E3304 && m->engine)
        diag_help(m->s, d, "mend the expression: %s keeps a cache always", m->engine);
    else if (code == E3304)
        diag_help(m->s, d,
                  "mend the expression, or leave `cache` out: then the whole context is "
                  "computed for every token");
}

// The least bound on ordinary values that the proof stands on, where data may well pass it.
static void report_condition(Model *m) {
    if (!causal_warns(m->causal))
        return;
    const CausalStep *weakest = NULL;
    for (int i = 0; i < causal_steps(m->causal); i++) {
        const CausalStep *step = causal_step(m->causal, i);
        weakest = !weakest || step->limit < weakest->limit ? step : weakest;
    }
    Diag *d = report(m->s, m->serve.entry->name_span, W3305,
                     "`%s` is served with a cache if no score leaves +-%g", m->serve.entry->name,
                     causal_limit(m->causal));
    if (weakest)
        diag_note(m->s, d, (Span){0}, "the proof rests on %s", weakest->text);
    diag_help(m->s, d, "mask by select to -1e30, or add a larger constant such as -1e9");
}

int64_t model_max_rows(const Model *m) {
    return m->serve.max_batch > 0 ? m->serve.max_batch : USUAL_ROWS;
}

void model_forget_proof(Model *m) {
    causal_free(m->causal);
    m->causal = NULL;
    if (m->step)
        m->step->causal = NULL;
}

// Proves the step that stays once more, for who reads the proof.
static void prove_again(Model *m) {
    const CoreFn *flat = m->step->flat;
    Val tokens = flat->params.data[(flat->self != NULL) + m->tokens];
    m->causal = m->step->causal = causal_analyse(m->step_core, flat, m->length, tokens);
}

int model_slide(Model *m) {
    if (!m->step || m->step->window < 0)
        return EXIT_FINE;
    bool proof = m->causal != NULL;
    model_forget_proof(m); // before there is another
    Core *core = core_new(m->s, m->program->dims);
    CoreFn *entry = model_lower_entry(m, core, true);
    StepPlan *plan = NULL;
    if (entry)
        plan = opt_step_sliding(core, entry, m->serve.batch->dim, m->length, m->tokens,
                                m->temperature, NULL, &m->causal);
    if (!plan || !plan->origin || !plan->state_count) {
        model_forget_proof(m);
        if (proof)
            prove_again(m);
        return EXIT_FINE; // the whole cache does as well
    }
    m->step_core = core;
    m->step = plan;
    return model_verify(m, core, "deriving the sliding step");
}

int model_derive(Model *m) {
    if (m->window)
        return EXIT_FINE; // a window slides: every position changes
    if (m->serve.decode)
        return model_written(m);
    m->step_core = core_new(m->s, m->program->dims);
    CoreFn *entry = model_lower_entry(m, m->step_core, true);
    if (!entry)
        return EXIT_WRONG;
    m->step_entry = entry;
    int code = model_verify(m, m->step_core, "lowering");
    if (code != EXIT_FINE)
        return code;
    m->step = opt_step(m->step_core, entry, m->serve.batch->dim, m->length, m->tokens,
                       m->temperature, &m->step_why, &m->causal);
    if (m->step) {
        report_condition(m);
        return model_verify(m, m->step_core, "deriving the step");
    }
    report_refusal(m);
    return wants_cache(m) && !m->open ? EXIT_WRONG : EXIT_FINE;
}
