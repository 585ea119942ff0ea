// A model for the code generator; see model_codegen.h.
#include "cli/model_codegen.h"

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
                          .max_rows = MAX_BATCH,
                          .chunk = CHUNK};
    o->step = step;
    return m->step_core;
}
