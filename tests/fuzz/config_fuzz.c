// Fuzz target: a config.json (or the metadata of a GGUF file) goes through the rules of the
// binding: it settles, or is refused with words that can be printed; every key has a fate.

#include "cli/settle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const Session *s) {
    for (int i = 0; i < s->diags.len; i++) {
        for (const char *c = s->diags.data[i]->message; *c; c++) {
            if ((unsigned char)*c < ' ' || *c == 0x7F)
                abort(); // a control character of the file reached the terminal
        }
    }
}

static void rules(Session *s, Config *config, const char *name, Form form) {
    ConfigKey *key = config_find(s, config, name);
    const char *architecture = key ? key->text : NULL;
    const Bind *bind = bind_for(s, config->label, architecture, form);
    Settle x;
    if (!bind)
        return;
    key->fate = "chooses";
    bool good = settle(&x, s, bind, config, architecture);
    for (int i = 0; i < config->keys.len; i++) {
        if (!config->keys.data[i].fate)
            abort();
    }
    for (int i = 0; good && i < x.values.len; i++) {
        if (x.values.data[i].bad || !*x.values.data[i].value)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Session *s = session_new();
    Config config;
    RtError err;
    if (size >= 4 && memcmp(data, "GGUF", 4) == 0) {
        RtGguf *gguf = rt_gguf_parse(data, size, "fuzz", &err);
        if (gguf) {
            config_from_gguf(s, &config, "fuzz", gguf);
            rules(s, &config, "general.architecture", FORM_GGUF);
        }
        rt_gguf_free(gguf);
    } else if (config_from_json(s, &config, "fuzz", (const char *)data, size)) {
        rules(s, &config, "architectures", FORM_HF);
    }
    check_words(s);
    session_free(s);
    return 0;
}
