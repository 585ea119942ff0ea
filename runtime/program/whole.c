// Tokens by the whole context: for each of them everything is computed again.
#include "generate.h"
#include "threefry.h"

bool generate_texts(const Options *o, const ModelFile *file, Text *texts, int count, float *last) {
    Session *session = session_new(file, o->threads);
    (void)last; // there are no logits
    if (!session) {
        fprintf(stderr, "error: there is no memory for a session\n");
        return false;
    }
    if (o->memory)
        fprintf(stderr, "cache 0 bytes, arena %zu bytes\n", session_arena_bytes(session));
    for (int k = 0; k < count; k++) {
        Text *text = &texts[k];
        for (int64_t i = 1; i <= o->tokens; i++) {
            RtKey child = rt_child(rt_key(o->seed), (uint32_t)i);
            int64_t key[2] = {child.word[0], child.word[1]};
            int64_t from = MODEL_WINDOW > 0 ? text->count - MODEL_WINDOW : 0;
            text->ids[text->count] =
                session_next(session, key, text->ids + from, text->count - from, o->temperature);
            text->count++;
        }
    }
    session_free(session);
    return true;
}
