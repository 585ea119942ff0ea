// Types as text, as they stand in the source.
#include "type/type.h"

void axes_print(StrBuf *b, const Axis *axes, int n) {
    strbuf_char(b, '[');
    for (int i = 0; i < n; i++) {
        if (i)
            strbuf_add(b, STR(", "));
        if (axes[i].pack)
            strbuf_printf(b, "*%s", axes[i].pack->name);
        else
            dim_print(b, axes[i].dim);
    }
    strbuf_char(b, ']');
}

static void print_args(StrBuf *b, const Type *t) {
    if (!t->arg_count)
        return;
    strbuf_char(b, '<');
    for (int i = 0; i < t->arg_count; i++) {
        const GenericArg *arg = &t->args[i];
        if (i)
            strbuf_add(b, STR(", "));
        if (!arg->bound)
            strbuf_char(b, '_');
        else if (arg->dim)
            dim_print(b, arg->dim);
        else if (arg->axes || arg->axis_count)
            axes_print(b, arg->axes, arg->axis_count);
        else
            strbuf_add(b, str_of(elem_text(arg->elem)));
    }
    strbuf_char(b, '>');
}

static void print_tensor(StrBuf *b, const Type *t) {
    if (t->rank) {
        strbuf_add(b, STR("Tensor"));
        axes_print(b, t->axes, t->rank);
        b->data[--b->len] = 0; // the elements stand inside the brackets
        strbuf_printf(b, "; %s]", elem_text(t->elem));
    } else {
        strbuf_add(b, str_of(elem_text(t->elem)));
    }
}

static void print_items(StrBuf *b, const Type *t) {
    strbuf_char(b, '(');
    for (int i = 0; i < t->item_count; i++) {
        if (i)
            strbuf_add(b, STR(", "));
        type_print(b, t->items[i]);
    }
    strbuf_char(b, ')');
}

void type_print(StrBuf *b, const Type *t) {
    switch (t->kind) {
    case TYPE_ERROR:
        strbuf_add(b, STR("?"));
        break;
    case TYPE_UNIT:
        strbuf_add(b, STR("nothing"));
        break;
    case TYPE_INT:
        strbuf_add(b, STR("integer constant"));
        break;
    case TYPE_REAL:
        strbuf_add(b, STR("float constant"));
        break;
    case TYPE_NONE:
        strbuf_add(b, STR("none"));
        break;
    case TYPE_SHAPE:
        strbuf_add(b, STR("shape"));
        break;
    case TYPE_TENSOR:
        print_tensor(b, t);
        break;
    case TYPE_TUPLE:
        print_items(b, t);
        break;
    case TYPE_OPTIONAL:
        type_print(b, t->items[0]);
        strbuf_char(b, '?');
        break;
    case TYPE_STRUCT:
    case TYPE_ENUM:
    case TYPE_BLOCK:
        strbuf_add(b, str_of(t->decl_name));
        print_args(b, t);
        break;
    case TYPE_ARRAY:
        strbuf_char(b, '[');
        type_print(b, t->items[0]);
        strbuf_add(b, STR("; "));
        dim_print(b, t->count);
        strbuf_char(b, ']');
        break;
    }
}

const char *type_text(Arena *a, const Type *t) {
    StrBuf b = strbuf_new(a);
    type_print(&b, t);
    return b.data;
}
