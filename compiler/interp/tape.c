// Compiling a body to a tape. Instructions are made in the order of the nodes, one value each;
// then they are put in order of levels, and registers are shared where values of the innermost
// level are dead.
#include "interp/tape.h"
#include "interp/load.h"
#include <string.h>

typedef struct {
    const Job *job;
    const Nest *nest;
    VEC(Instr) code; // dst and args are instruction numbers until registers are given
    int *values;     // for each node: its instruction, or -1
    bool *needed;    // for each node: is it evaluated?
    bool *spread;    // for each node: is it wanted in every element?
    int *levels;     // for each node
    uint32_t vector; // mask of the vector index
} Maker;

// ---- What is needed ----------------------------------------------------------------------------

void tape_needed(const Job *j, int root, bool *needed) {
    needed[root] = true;
    for (int i = root; i >= 0; i--) {
        const Node *n = job_node(j, i);
        if (!needed[i])
            continue;
        for (int k = 0; n->op == N_READ && k < n->read_count; k++) {
            if (!j->forms[n->reads[k]])
                needed[n->reads[k]] = true;
        }
        for (int k = 0; k < node_args(n->op); k++)
            needed[n->args[k]] = true;
    }
}

static int node_level(const Maker *m, int node) {
    for (int d = m->nest->depths; d-- > 0;) {
        if (m->job->masks[node] >> m->nest->order[d] & 1)
            return d + 1;
    }
    return 0;
}

static bool is_vector(const Maker *m, int node) {
    return (m->job->masks[node] & m->vector) != 0;
}

// Operands of vector operations are wanted in every element.
static void mark_spread(Maker *m) {
    for (int i = 0; i < m->job->comp->nodes.len; i++) {
        const Node *n = job_node(m->job, i);
        for (int k = 0; m->needed[i] && is_vector(m, i) && k < node_args(n->op); k++)
            m->spread[n->args[k]] = true;
    }
}

// ---- Instructions ------------------------------------------------------------------------------

static Instr *make(Maker *m, int node, InstrKind kind, VecClass c) {
    Instr in = {.kind = kind, .args = {-1, -1, -1}, .size = vec_size(c)};
    in.level = m->levels[node];
    in.vector = is_vector(m, node);
    in.dst = m->code.len;
    vec_push(m->job->arena, &m->code, in);
    m->values[node] = in.dst;
    return &vec_last(&m->code);
}

static Instr *make_op(Maker *m, int node, VecFn *fn, VecClass c, int a) {
    Instr *in = make(m, node, INSTR_OP, c);
    in->fn = fn;
    in->args[0] = a;
    return in;
}

static void make_const(Maker *m, int node, const Node *n) {
    VecClass c = vec_class(n->dtype);
    Instr *in = make(m, node, INSTR_CONST, c);
    float f = (float)n->f;
    uint8_t b = n->i != 0;
    int32_t w = (int32_t)n->i;
    const void *from = &n->i;
    if (c == VEC_F32)
        from = &f;
    else if (c == VEC_F64)
        from = &n->f;
    else if (c == VEC_BOOL)
        from = &b;
    else if (in->size == 4)
        from = &w;
    memcpy(in->imm, from, (size_t)in->size);
}

// Can blocks be used where they are? Bools are not: other bytes than 0 and 1 must become 1.
static bool load_alias(const Maker *m, const Load *l, bool vector) {
    Dtype t = l->tensor->dtype;
    return vector && l->linear && !l->empty && t != DT_BOOL && tensor_is_plain(l->tensor) &&
           vec_size(vec_class(t)) == dtype_size(t) &&
           l->offset.step[m->nest->order[m->nest->vector]] == 1;
}

static void make_load(Maker *m, int node, const Node *n) {
    const Job *j = m->job;
    Load *l = NEW(j->arena, Load);
    int64_t strides[CORE_MAX_RANK];
    l->tensor = j->args[n->index];
    l->empty = tensor_count(l->tensor) == 0;
    l->linear = job_linear(j, n, &l->offset);
    if (!l->linear) {
        l->rank = n->read_count;
        l->axes = NEW_N(j->arena, Axis, l->rank);
        job_strides(l->tensor, strides);
    }
    for (int i = 0; i < l->rank; i++) {
        Axis *x = &l->axes[i];
        const Form *f = j->forms[n->reads[i]];
        x->affine = f != NULL;
        if (f)
            x->form = *f;
        else
            x->reg = m->values[n->reads[i]]; // an instruction until registers are given
        x->vector = is_vector(m, n->reads[i]);
        x->extent = l->tensor->dims[i];
        x->stride = strides[i];
    }
    l->alias = load_alias(m, l, is_vector(m, node));
    make(m, node, INSTR_LOAD, vec_class(n->dtype))->load = l;
}

static void make_cast(Maker *m, int node, const Node *n) {
    VecFn *steps[3];
    VecClass classes[3];
    int a = m->values[n->args[0]];
    int count = vec_cast(job_node(m->job, n->args[0])->dtype, n->dtype, steps, classes);
    m->values[node] = a; // where it is a change of the dtype alone
    for (int i = 0; i < count; i++) {
        Instr *in = make_op(m, node, steps[i], classes[i], a);
        vec_bounds(n->dtype, in->imm);
        a = in->dst;
    }
    if (count == 0 && m->spread[node])
        m->spread[n->args[0]] = true;
}

static void shift_bounds(Dtype t, int64_t imm[2]) {
    imm[0] = 8 * dtype_size(t);
    imm[1] = dtype_is_signed(t) ? imm[0] - 1 : 31; // small unsigned ones are held as i32
}

static bool make_general(Maker *m, int node, const Node *n) {
    Dtype t = job_node(m->job, n->args[0])->dtype; // of comparisons, the operands'
    VecClass c = vec_class(n->op == N_SELECT ? n->dtype : t);
    VecFn *fn = n->op == N_SELECT ? vec_select(c, m->job->wide) : vec_op(n->op, c, m->job->wide);
    if (!fn)
        return run_fail(m->job->it, "%s of %s is not available", node_text(n->op), dtype_name(t));
    Instr *in = make_op(m, node, fn, vec_class(n->dtype), 0);
    for (int i = 0; i < node_args(n->op); i++)
        in->args[i] = m->values[n->args[i]];
    if (n->op == N_SHL || n->op == N_SHR)
        shift_bounds(t, in->imm);
    bool exact = n->op == N_SELECT || node_class(n->op) == 'C' || n->op == N_MIN || n->op == N_MAX;
    VecFn *fit = exact ? NULL : vec_fit(n->dtype);
    if (fit)
        make_op(m, node, fit, vec_class(n->dtype), in->dst);
    return true;
}

static bool make_node(Maker *m, int node) {
    const Node *n = job_node(m->job, node);
    switch (n->op) {
    case N_INDEX:
        make(m, node, INSTR_INDEX, VEC_I64)->imm[0] = n->index;
        return true;
    case N_DIM:
        make(m, node, INSTR_CONST, VEC_I64)->imm[0] = m->job->forms[node]->base;
        return true;
    case N_CONST:
        make_const(m, node, n);
        return true;
    case N_READ:
        make_load(m, node, n);
        return true;
    case N_CAST:
        make_cast(m, node, n);
        return true;
    default:
        return make_general(m, node, n);
    }
}

// ---- Levels and registers ----------------------------------------------------------------------

// Counting sort by level; values keep their numbers, so operands still come first.
static void sort_levels(const Maker *m, Tape *out) {
    int at[JOB_INDICES + 3] = {0};
    for (int i = 0; i < m->code.len; i++)
        out->starts[m->code.data[i].level + 1]++;
    for (int l = 0; l <= m->nest->depths; l++)
        out->starts[l + 1] += out->starts[l];
    memcpy(at, out->starts, sizeof at);
    out->code = NEW_N(m->job->arena, Instr, m->code.len);
    for (int i = 0; i < m->code.len; i++)
        out->code[at[m->code.data[i].level]++] = m->code.data[i];
}

// The values an instruction reads: operands, and positions in registers.
static int reads_of(const Instr *in, int *values) {
    int n = 0;
    for (int k = 0; k < 3; k++) {
        if (in->args[k] >= 0)
            values[n++] = in->args[k];
    }
    for (int k = 0; in->load && k < in->load->rank; k++) {
        if (!in->load->axes[k].affine)
            values[n++] = in->load->axes[k].reg;
    }
    return n;
}

static void rename_reads(Instr *in, const int *registers) {
    for (int k = 0; k < 3; k++) {
        if (in->args[k] >= 0)
            in->args[k] = registers[in->args[k]];
    }
    for (int k = 0; in->load && k < in->load->rank; k++) {
        if (!in->load->axes[k].affine)
            in->load->axes[k].reg = registers[in->load->axes[k].reg];
    }
}

// Values of outer levels keep a register of their own; those of the last one share.
static void give_registers(const Maker *m, Tape *t, const int *keep, int keep_count) {
    int count = m->code.len, reads[3 + CORE_MAX_RANK], pool_count = 0;
    int first = t->starts[m->nest->depths];
    int *last = NEW_N(m->job->arena, int, count), *registers = NEW_N(m->job->arena, int, count);
    int *pool = NEW_N(m->job->arena, int, count);
    for (int i = 0; i < count; i++) {
        int n = reads_of(&t->code[i], reads);
        last[t->code[i].dst] = i >= first ? i : count;
        for (int k = 0; k < n; k++)
            last[reads[k]] = last[reads[k]] == count ? count : i;
    }
    for (int k = 0; k < keep_count; k++)
        last[keep[k]] = count;
    for (int i = 0; i < count; i++) {
        Instr *in = &t->code[i];
        int n = reads_of(in, reads), value = in->dst;
        in->dst = pool_count ? pool[--pool_count] : t->registers++;
        registers[value] = in->dst;
        for (int k = 0; k < n; k++) {
            if (last[reads[k]] == i) {
                pool[pool_count++] = registers[reads[k]];
                last[reads[k]] = -1; // once, even if read twice
            }
        }
        if (last[value] == i) // read by nothing
            pool[pool_count++] = in->dst;
        rename_reads(in, registers);
    }
}

static void set_spread(Maker *m) {
    for (int i = m->job->comp->nodes.len; i-- > 0;) {
        if (m->needed[i] && m->spread[i] && m->values[i] >= 0)
            m->code.data[m->values[i]].spread = !m->code.data[m->values[i]].vector;
    }
}

bool tape_compile(const Job *j, const Nest *nest, const int *roots, const bool *spread,
                  int root_count, Tape *out) {
    int nodes = j->comp->nodes.len, keep[2];
    Maker m = {.job = j, .nest = nest, .vector = (uint32_t)1 << nest->order[nest->vector]};
    m.values = NEW_N(j->arena, int, nodes);
    m.needed = NEW_N(j->arena, bool, nodes);
    m.spread = NEW_N(j->arena, bool, nodes);
    m.levels = NEW_N(j->arena, int, nodes);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < root_count; i++) {
        tape_needed(j, roots[i], m.needed);
        m.spread[roots[i]] |= spread[i];
    }
    mark_spread(&m);
    for (int i = 0; i < nodes; i++) {
        m.values[i] = -1;
        m.levels[i] = m.needed[i] ? node_level(&m, i) : 0;
        if (m.needed[i] && !make_node(&m, i))
            return false;
    }
    set_spread(&m);
    int64_t extent = j->extent[nest->order[nest->vector]];
    out->width = extent < VEC_BLOCK ? (int)extent : VEC_BLOCK;
    out->register_size = ((size_t)out->width * 8 + 63) / 64 * 64;
    for (int i = 0; i < root_count; i++) {
        keep[i] = m.values[roots[i]];
        out->root_vector[i] = m.code.data[keep[i]].vector || m.code.data[keep[i]].spread;
    }
    sort_levels(&m, out);
    int *place = NEW_N(j->arena, int, m.code.len);
    for (int i = 0; i < m.code.len; i++)
        place[out->code[i].dst] = i;
    give_registers(&m, out, keep, root_count);
    for (int i = 0; i < root_count; i++)
        out->roots[i] = out->code[place[keep[i]]].dst;
    return true;
}
