// A model for the code generator; see model_codegen.h.
#include "cli/model_codegen.h"
#include "cli/cli.h"

enum {
    MAX_BATCH = 8, // sequences of a session, where the serve block says nothing
    CHUNK = 128,   // tokens of a prompt at a time
};

Core *model_codegen(const Model *m, CodegenOptions *o, CodegenStep *step) {
    const StepPlan *p = m->step;
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
    if (!p)
        return m->core;
    *step = (CodegenStep){.fn = p->fn,
                          .rows = p->B,
                          .width = p->C,
                          .capacity = p->Cap,
                          .length = p->L,
                          .max_rows = m->serve.max_batch > 0 ? m->serve.max_batch : MAX_BATCH,
                          .chunk = CHUNK};
    o->step = step;
    return m->step_core;
}

bool model_can_generate(Model *m) {
    if (!m->decode)
        return true;
    Diag *d = report(m->s, m->serve.decode->name_span, E8001,
                     "a hand-written `%s` is not there yet in an exported program",
                     m->serve.decode->name);
    diag_help(m->s, d, "leave `decode` and `prefill` out: the cache of `%s` is then derived",
              m->serve.entry->name);
    return false;
}
