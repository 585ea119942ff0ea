// Sessions whose states slide: they hold what a window looks back at and a chunk, and move it to
// the front as a text goes on.
#include "codegen/export.h"
#include "codegen/loop_build.h"

bool slides(const Export *x) {
    return x->o->step && x->o->step->lookback > 0;
}

void write_slide_sizes(const Export *x, Writer *w) {
    // chunk - 1 positions besides, and one more where an origin is even
    write_line(w, 1, NULL, "int64_t room = (MODEL_LOOKBACK + session->chunk%s + 31) / 32 * 32;",
               x->o->step->origin_step > 1 ? "" : " - 1");
    write_line(w, 1, NULL, "session->held = room < capacity ? room : capacity;");
}

static const char *const helper[] = {
    "// Moves `size` bytes, `from` bytes on, to the front of a row of each of `count` parts of a "
    "state.",
    "static void slide_row(void *state, int64_t count, int64_t rows, int64_t row, int64_t bytes,",
    "                      int64_t from, int64_t size) {",
    "    for (int64_t i = 0; i < count; i++) {",
    "        unsigned char *front = (unsigned char *)state + (i * rows + row) * bytes;",
    "        memmove(front, front + from, (size_t)size);",
    "    }",
    "}",
    "",
    "// Drops what a row at `pos` looks back at no more.",
    "static void slide(Session *session, int64_t row, int64_t pos) {",
    NULL,
};

static const char *const room[] = {
    "// Makes room for a chunk. Positions in use after it, from each row's origin on, at most.",
    "static int64_t make_room(Session *session, const int32_t *pos, const int32_t *count) {",
    "    int64_t most = 0;",
    "    for (int64_t b = 0; b < session->rows; b++) {",
    "        if (count[b] == 0)",
    "            continue;",
    "        if (pos[b] + count[b] - session->origin[b] > session->held)",
    "            slide(session, b, pos[b]);",
    "        int64_t length = pos[b] + count[b] - session->origin[b];",
    "        most = length > most ? length : most;",
    "    }",
    "    return most;",
    "}",
    "",
    NULL,
};

static const char *times(const Export *x, const char *count, const Dim *bytes) {
    return arena_printf(x->m->core->session->arena, "%s * %s", count,
                        c_expr(x->m, dim_expr_in(x->m, bytes)));
}

static void write_moves(const Export *x, Writer *w) {
    const CoreFn *f = x->step->source;
    Arena *a = x->m->core->session->arena;
    for (int i = 0; i < f->states.len; i++) {
        const char *name = state_name(x, f->states.data[i]);
        if (!name)
            continue;
        StateAxes axes = state_axes(x, core_value(f, f->states.data[i])->type);
        const char *args[] = {arena_printf(a, "session->cache.%s", name),
                              c_expr(x->m, dim_expr_in(x->m, axes.outer)),
                              "session->rows",
                              "row",
                              c_expr(x->m, dim_expr_in(x->m, axes.row)),
                              times(x, "from", axes.place),
                              times(x, "keep", axes.place)};
        write_call(w, 1, "slide_row", 7, args, ";");
    }
}

void write_slide(const Export *x, Writer *w) {
    write_lines(w, helper);
    write_line(w, 1, NULL, "int64_t %s = session->held;", loop_symbol(x->m, x->o->step->capacity));
    write_line(w, 1, NULL, "int64_t origin = pos - (MODEL_LOOKBACK - 1);");
    if (x->o->step->origin_step > 1)
        write_line(w, 1, "pairs of positions stay pairs", "origin -= origin %% %d;",
                   (int)x->o->step->origin_step);
    write_line(w, 1, NULL, "int64_t from = origin - session->origin[row], keep = pos - origin;");
    write_moves(x, w);
    write_line(w, 1, NULL, "session->origin[row] = (int32_t)origin;");
    write_line(w, 0, NULL, "}");
    write_blank(w);
    write_lines(w, room);
}
