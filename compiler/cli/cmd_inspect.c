// serin inspect PATH: the entries of a program, and the parameters and states of their blocks.
#include "cli/cli.h"
#include "cli/target.h"
#include <string.h>

static const Flag flags[] = {
    {"--block", FLAG_TEXT, "NAME", "this block only"},
    {"--dim", FLAG_MANY, "NAME=N", "binds a dimension"},
    {"--set", FLAG_MANY, "NAME=VALUE", "sets a generic or an annotated constant"},
    {"--json", FLAG_BOOL, NULL, "the same as one JSON object"},
};

typedef struct {
    Target t;
    FILE *out;        // stdout
    bool json;        // or text
    int count;        // items of the list being printed
    bool open;        // the size of something is not known
    int64_t bytes[3]; // of parameters, buffers, states
} Inspect;

static void text_field(Inspect *p, const char *name, const char *value) {
    fprintf(p->out, "\"%s\": ", name);
    if (value)
        json_string(p->out, value);
    else
        fputs("null", p->out);
}

static void separate(Inspect *p) {
    if (p->json)
        fputs(p->count ? ",\n" : "\n", p->out);
    p->count++;
}

// ---- Entries -----------------------------------------------------------------------------------

static const char *kind_text(GenericKind k) {
    static const char *const names[] = {"Dim", "Shape", "DType", "Numeric", "Integer", "Float"};
    return names[k];
}

static const char *value_text(Inspect *p, const GenericArg *arg) {
    if (!arg->bound)
        return NULL;
    return arg->dim ? dim_text(p->t.m.a, arg->dim) : elem_text(arg->elem);
}

static void json_generics(Inspect *p, const Item *decl, const GenericArg *args) {
    fputs("\"generics\": [", p->out);
    for (int i = 0; i < decl->generics.len; i++) {
        const GenericDecl *g = &decl->generics.data[i];
        fputs(i ? ", {" : "{", p->out);
        text_field(p, "name", g->name);
        fputs(", ", p->out);
        text_field(p, "kind", kind_text(g->kind));
        fputs(", ", p->out);
        text_field(p, "value", value_text(p, &args[i]));
        fputs("}", p->out);
    }
    fputs("]", p->out);
}

static const char *where_text(Inspect *p, const Where *w) {
    StrBuf b = strbuf_new(p->t.m.a);
    ast_expr_text(w->a, &b);
    strbuf_printf(&b, " %s ", binary_text(w->rel));
    ast_expr_text(w->b, &b);
    return b.data;
}

static void json_where(Inspect *p, const Item *decl) {
    fputs("\"where\": [", p->out);
    for (int i = 0; i < decl->where.len; i++) {
        fputs(i ? ", " : "", p->out);
        json_string(p->out, where_text(p, &decl->where.data[i]));
    }
    fputs("]", p->out);
}

static void json_part(void *ctx, const char *name, const Type *t, bool optional) {
    Inspect *p = ctx;
    fputs(p->count++ ? ", {" : "{", p->out);
    text_field(p, "name", name);
    fputs(", ", p->out);
    text_field(p, "type", type_text(p->t.m.a, t));
    fprintf(p->out, ", \"optional\": %s}", optional ? "true" : "false");
}

static void json_entry(Inspect *p, const Item *block, const Item *entry) {
    StrBuf signature = strbuf_new(p->t.m.a);
    GenericArg *args = NEW_N(p->t.m.a, GenericArg, entry->generics.len + 1);
    target_settings(&p->t, entry, args);
    ast_signature(entry, &signature);
    separate(p);
    int outer = p->count;
    fputs("    {", p->out);
    text_field(p, "name", entry->name);
    fputs(", ", p->out);
    text_field(p, "block", block ? block->name : NULL);
    fputs(", ", p->out);
    text_field(p, "signature", signature.data);
    fputs(",\n     ", p->out);
    json_generics(p, entry, args);
    fputs(", ", p->out);
    json_where(p, entry);
    fputs(",\n     \"inputs\": [", p->out);
    p->count = 0;
    for (int i = 0; i < entry->params.len; i++)
        type_parts(&p->t, entry->params.data[i]->name, entry->params.data[i]->type, json_part, p);
    fputs("],\n     \"results\": [", p->out);
    p->count = 0;
    result_parts(&p->t, entry->type, json_part, p);
    fputs("]}", p->out);
    p->count = outer;
}

static void print_entry(Inspect *p, const Item *block, const Item *entry) {
    if (p->json) {
        json_entry(p, block, entry);
        return;
    }
    StrBuf signature = strbuf_new(p->t.m.a);
    ast_signature(entry, &signature);
    fprintf(p->out, "%s%s\n", block ? "    " : "", signature.data);
}

// ---- Members -----------------------------------------------------------------------------------

static void print_member(void *ctx, const char *path, const Type *t, MemberRole role, bool optional,
                         const Dim *repeats) {
    static const char *const roles[] = {"param", "buffer", "state"};
    Inspect *p = ctx;
    int64_t bytes = type_bytes(t, repeats), sum;
    if (bytes < 0 || __builtin_add_overflow(p->bytes[role], optional ? 0 : bytes, &sum))
        p->open = true;
    else
        p->bytes[role] = sum;
    const char *times = repeats ? dim_text(p->t.m.a, repeats) : "1";
    if (p->json) {
        separate(p);
        fputs("    {", p->out);
        text_field(p, "path", path);
        fprintf(p->out, ", \"role\": \"%s\", ", roles[role]);
        text_field(p, "type", type_text(p->t.m.a, t));
        fputs(", ", p->out);
        text_field(p, "repeats", times);
        fprintf(p->out, ", \"optional\": %s, ", optional ? "true" : "false");
        if (bytes >= 0)
            fprintf(p->out, "\"bytes\": %lld}", (long long)bytes);
        else
            fputs("\"bytes\": null}", p->out);
        return;
    }
    fprintf(p->out, "    %s %s: %s%s", roles[role], path, type_text(p->t.m.a, t),
            optional ? "?" : "");
    if (repeats)
        fprintf(p->out, " x %s", times);
    if (bytes >= 0)
        fprintf(p->out, ", %lld bytes", (long long)bytes);
    fputc('\n', p->out);
}

static void print_totals(Inspect *p) {
    if (p->json) {
        fprintf(p->out,
                "\"bytes\": {\"params\": %lld, \"buffers\": %lld, \"states\": %lld, "
                "\"complete\": %s}",
                (long long)p->bytes[0], (long long)p->bytes[1], (long long)p->bytes[2],
                p->open ? "false" : "true");
        return;
    }
    fprintf(p->out, "    in all: %lld bytes of parameters, %lld of buffers, %lld of states%s\n",
            (long long)p->bytes[0], (long long)p->bytes[1], (long long)p->bytes[2],
            p->open ? "; more where dimensions are open (--set NAME=N)" : "");
}

static void print_block(Inspect *p, Item *block) {
    Target *t = &p->t;
    t->block = block;
    t->block_args = NEW_N(t->m.a, GenericArg, block->generics.len + 1);
    for (int i = 0; i < block->generics.len; i++)
        t->block_args[i] = block->generics.data[i].value;
    target_settings(t, block, t->block_args);
    memset(p->bytes, 0, sizeof p->bytes);
    p->open = false;
    if (p->json) {
        separate(p);
        int outer = p->count;
        fputs("   {", p->out);
        text_field(p, "name", block->name);
        fputs(", ", p->out);
        json_generics(p, block, t->block_args);
        fputs(", ", p->out);
        json_where(p, block);
        fputs(",\n   \"members\": [", p->out);
        p->count = 0;
        block_members(t, false, print_member, p);
        fputs("],\n   ", p->out);
        print_totals(p);
        fputs("}", p->out);
        p->count = outer;
        return;
    }
    fprintf(p->out, "block %s\n", block->name);
    for (int i = 0; i < block->generics.len; i++) {
        const char *value = value_text(p, &t->block_args[i]);
        fprintf(p->out, "    %s: %s%s%s\n", block->generics.data[i].name,
                kind_text(block->generics.data[i].kind), value ? " = " : "", value ? value : "");
    }
    for (int i = 0; i < block->where.len; i++)
        fprintf(p->out, "    where %s\n", where_text(p, &block->where.data[i]));
    block_members(t, false, print_member, p);
    print_totals(p);
}

static bool wanted(const Item *item, const char *block) {
    return target_has_entries(item) && (!block || strcmp(item->name, block) == 0);
}

static void print_entries(Inspect *p, const Item *item) {
    for (int k = 0; k < item->items.len; k++) {
        if (item->items.data[k]->kind == ITEM_ENTRY)
            print_entry(p, item, item->items.data[k]);
    }
}

static void print_all(Inspect *p, const char *block) {
    const Module *root = p->t.m.program->root;
    if (p->json)
        fputs("{\"version\": 1,\n \"entries\": [", p->out);
    for (int i = 0; i < root->items.len; i++) {
        Item *item = root->items.data[i];
        if (item->kind == ITEM_ENTRY && !block)
            print_entry(p, NULL, item);
        if (p->json && wanted(item, block))
            print_entries(p, item);
    }
    if (p->json)
        fputs("],\n \"blocks\": [", p->out);
    p->count = 0;
    for (int i = 0; i < root->items.len; i++) {
        Item *item = root->items.data[i];
        if (!wanted(item, block))
            continue;
        print_block(p, item);
        if (!p->json)
            print_entries(p, item);
    }
    if (p->json)
        fputs("]}\n", p->out);
}

// Is there something to print? False after a message.
static bool check_block(const Inspect *p, const char *block) {
    const Module *root = p->t.m.program->root;
    for (int i = 0; i < root->items.len; i++) {
        if (!block || wanted(root->items.data[i], block))
            return true;
    }
    if (block)
        usage_error("--block: there is no block \"%s\" with entries", block);
    return !block;
}

static int run(Arena *a, const Args *args) {
    if (args->paths.len != 1)
        return usage_error("inspect takes one PATH");
    Inspect p = {.out = stdout, .json = args_has(args, "--json")};
    int code = target_open(a, args->paths.data[0], args, &p.t);
    if (code == EXIT_FINE && !check_block(&p, args_text(args, "--block")))
        code = EXIT_USAGE;
    if (code == EXIT_FINE)
        print_all(&p, args_text(args, "--block"));
    if (p.t.m.s && finish_text(p.t.m.s) != EXIT_FINE && code == EXIT_FINE)
        code = EXIT_WRONG;
    target_close(&p.t);
    return code;
}

const Command command_inspect = {"inspect",
                                 "PATH",
                                 "Lists entries, parameters and states, with shapes and bytes.",
                                 "serin inspect examples/verses",
                                 COMMAND_FLAGS(flags),
                                 run};
