// A sweep: the loops over a comprehension's points, in blocks along one index, on several threads.
//
// Outer loops make units, one for each result or block of results; threads take ranges of units.
// Inside a unit the reduction's loops run in row-major order. Blocks lie along an output index or
// along the last reduction index, whichever seems cheaper; that changes no bit.
#include "interp/reduce.h"
#include "interp/tape.h"
#include <string.h>

#define TASK_WORK 30000 // element operations that are worth a task of their own

typedef struct {
    const Job *job;
    const Sweep *sweep;
    Nest nest;
    Tape tape;
    Reducer reducer;
    bool inner;                      // blocks lie along the reduction
    bool product;                    // two roots: the factors of the summand
    int swap;                        // 1: the factors are passed the other way round
    int units_depth;                 // loops that make units
    int64_t points[JOB_INDICES + 1]; // how often each depth's loop runs: of the vector loop, blocks
    int64_t step[JOB_INDICES + 1];   // elements from one point of the result to the next, by depth
    int64_t units;                   // in all
    int64_t per_task;                // units
    char *memory;                    // of the tasks
    size_t task_bytes;               // of each
} Run;

// ---- Choosing the vector index -----------------------------------------------------------------

static double load_cost(const Job *j, const Node *n, int vector) {
    Form offset;
    const Tensor *t = j->args[n->index];
    bool packed = t->dtype == DT_F16 || t->dtype == DT_BF16 || !tensor_is_plain(t);
    if (!job_linear(j, n, &offset)) {
        for (int k = 0; k < n->read_count; k++) {
            if (!j->forms[n->reads[k]] && j->masks[n->reads[k]] >> vector & 1)
                return packed ? 14 : 4;
        }
        return packed ? 3 : 2;
    }
    bool line = offset.step[vector] == 1 || offset.step[vector] == 0;
    return packed ? (line ? 1.5 : 10) : line ? 0.5 : 2;
}

static double node_cost(const Job *j, const Node *n, int vector) {
    switch (n->op) {
    case N_READ:
        return load_cost(j, n, vector);
    case N_EXP:
    case N_LOG:
    case N_SIN:
    case N_COS:
    case N_TANH:
        return 3;
    case N_DIV:
    case N_MOD:
    case N_FLOORDIV:
    case N_FLOORMOD:
        return 3;
    default:
        return 0.4;
    }
}

// Estimated work for one element when blocks lie along an index.
static double vector_cost(const Job *j, const Sweep *s, const bool *needed, int vector,
                          bool inner) {
    double extent = (double)j->extent[vector], block = extent < VEC_BLOCK ? extent : VEC_BLOCK;
    double reduced = 1, cost = 0, call = 20 / block;
    for (int k = 0; k < s->red_count; k++)
        reduced *= (double)j->extent[s->reds[k]];
    for (int i = 0; i <= s->root; i++) {
        if (needed[i] && j->masks[i] >> vector & 1)
            cost += node_cost(j, job_node(j, i), vector) + call;
        else if (needed[i] && j->masks[i])
            cost += call / 2;
    }
    if (inner)
        return cost + call + 100 / extent;
    for (int k = 0; k < s->out_count; k++) {
        if (s->outs[k] == vector && reduced > 0)
            cost += (s->out_step[k] == 1 ? 0.5 : 2) / reduced;
    }
    if (s->reduction != RED_NONE && reduced > 0)
        cost += 0.5 + call + (s->reduction == RED_SUM ? 40 : 2) / reduced;
    return cost;
}

// The reduction index that runs fastest, -1 if there is none of extent > 1.
static int fastest_red(const Job *j, const Sweep *s) {
    for (int k = s->red_count; k-- > 0;) {
        if (j->extent[s->reds[k]] != 1)
            return s->reds[k];
    }
    return -1;
}

static int choose_vector(const Job *j, const Sweep *s, bool *inner) {
    bool *needed = NEW_N(j->arena, bool, j->comp->nodes.len);
    int fastest = fastest_red(j, s), best = JOB_INDICES;
    bool outer_only = j->it->mode == INTERP_OUTER && s->step != STEP_PAIRS;
    bool inner_only = (j->it->mode == INTERP_INNER && fastest >= 0) || s->step == STEP_PAIRS;
    double least = 1e300;
    tape_needed(j, s->root, needed);
    *inner = false;
    for (int k = 0; k < s->out_count && !inner_only; k++) {
        double cost = vector_cost(j, s, needed, s->outs[k], false);
        if (j->extent[s->outs[k]] > 1 && cost < least) {
            least = cost;
            best = s->outs[k];
        }
    }
    if (fastest >= 0 && j->extent[fastest] > 0 && !outer_only &&
        vector_cost(j, s, needed, fastest, true) < least) {
        *inner = true;
        best = fastest;
    }
    if (s->step == STEP_PAIRS)
        *inner = true;
    return best;
}

// ---- Loops -------------------------------------------------------------------------------------

static void add_loop(Run *r, int index, int64_t step) {
    int64_t extent = r->job->extent[index];
    r->points[r->nest.depths] = extent;
    r->step[r->nest.depths] = step;
    r->nest.order[r->nest.depths++] = index;
}

// The vector loop runs over blocks: last of the units, or last of all.
static void add_vector(Run *r, int index) {
    const Sweep *s = r->sweep;
    int64_t step = 0;
    for (int k = 0; k < s->out_count; k++) {
        if (s->outs[k] == index)
            step = s->out_step[k];
    }
    r->nest.vector = r->nest.depths;
    add_loop(r, index, step);
    int64_t *points = &r->points[r->nest.vector];
    *points = *points / VEC_BLOCK + (*points % VEC_BLOCK != 0);
}

static void make_nest(Run *r, int vector) {
    const Sweep *s = r->sweep;
    for (int k = 0; k < s->out_count; k++) {
        if (s->outs[k] != vector && r->job->extent[s->outs[k]] > 1)
            add_loop(r, s->outs[k], s->out_step[k]);
    }
    if (!r->inner)
        add_vector(r, vector);
    r->units_depth = r->nest.depths;
    for (int k = 0; k < s->red_count; k++) {
        if (s->reds[k] != vector && r->job->extent[s->reds[k]] != 1)
            add_loop(r, s->reds[k], 0);
    }
    if (r->inner)
        add_vector(r, vector);
    r->units = 1;
    for (int d = 0; d < r->units_depth; d++)
        r->units *= r->points[d];
}

// ---- A task ------------------------------------------------------------------------------------

// What a task keeps beside the frame.
typedef struct {
    Frame frame;
    int64_t at[JOB_INDICES + 1]; // counter of each depth
    void *state;                 // of the reducer
    void *result;                // a register
} Task;

static void set_index(const Run *r, Task *t, int depth) {
    int index = r->nest.order[depth];
    t->frame.index[index] = t->at[depth];
    if (depth != r->nest.vector)
        return;
    int64_t from = t->at[depth] * VEC_BLOCK, left = r->job->extent[index] - from;
    t->frame.index[index] = from;
    t->frame.n = left < VEC_BLOCK ? (int)left : VEC_BLOCK;
}

// Goes to the next point of the loops low..high-1; returns the outermost depth that changed, or -1
// after the last point (all are then at 0 again).
static int advance(const Run *r, Task *t, int low, int high) {
    for (int d = high; d-- > low;) {
        if (++t->at[d] < r->points[d]) {
            set_index(r, t, d);
            return d;
        }
        t->at[d] = 0;
        set_index(r, t, d);
    }
    return -1;
}

static void reduce_unit(const Run *r, Task *t, int level) {
    int64_t number = 0;
    int n = r->inner ? 1 : t->frame.n, depth = 0;
    reduce_begin(&r->reducer, t->state, n);
    for (int from = level; r->reducer.count && depth >= 0; from = depth + 1) {
        tape_run(&t->frame, from, r->nest.depths);
        const void *roots[2] = {frame_value(&t->frame, r->tape.roots[0]), NULL};
        if (r->product)
            roots[1] = frame_value(&t->frame, r->tape.roots[1]);
        bool one = r->product && !r->tape.root_vector[r->swap];
        reduce_step(&r->reducer, t->state, roots[r->swap], roots[!r->swap], one, t->frame.n,
                    number);
        number += r->inner ? t->frame.n : 1;
        depth = advance(r, t, r->units_depth, r->nest.depths);
    }
    reduce_end(&r->reducer, t->state, n, t->result);
}

static void run_unit(const Run *r, Task *t, int level) {
    int64_t off = 0, stride = r->inner ? 1 : r->step[r->nest.vector];
    int n = r->inner ? 1 : t->frame.n;
    const void *from = t->result;
    if (r->sweep->reduction != RED_NONE) {
        reduce_unit(r, t, level);
    } else {
        tape_run(&t->frame, level, r->nest.depths);
        from = frame_value(&t->frame, r->tape.roots[0]);
    }
    for (int d = 0; d < r->units_depth; d++)
        off += t->at[d] * r->step[d] * (d == r->nest.vector ? VEC_BLOCK : 1);
    vec_store(r->sweep->dtype, r->sweep->data, off, stride, n, from);
}

static void *carve(char **memory, size_t bytes) {
    void *p = *memory;
    *memory += bytes;
    return p;
}

static size_t values_bytes(const Run *r) {
    return ((size_t)r->tape.registers * sizeof(void *) + 63) / 64 * 64;
}

static void run_task(void *ctx, size_t number) {
    const Run *r = ctx;
    char *memory = r->memory + number * r->task_bytes;
    int64_t first = (int64_t)number * r->per_task, left = r->units - first;
    Task t = {.frame = {.job = r->job, .tape = &r->tape, .nest = &r->nest}};
    t.frame.offsets = carve(&memory, VEC_BLOCK * sizeof(int64_t));
    t.result = carve(&memory, VEC_BLOCK * sizeof(int64_t));
    t.frame.registers = carve(&memory, (size_t)r->tape.registers * r->tape.register_size);
    t.frame.values = carve(&memory, values_bytes(r));
    t.state = memory;
    for (int d = r->units_depth; d-- > 0;) {
        t.at[d] = first % r->points[d];
        first /= r->points[d];
    }
    for (int d = 0; d < r->nest.depths; d++)
        set_index(r, &t, d);
    int level = 0;
    for (int64_t i = 0; i < left && i < r->per_task; i++) {
        run_unit(r, &t, level);
        // Inner loops have left values of their own indices behind, which are at 0 again.
        level = advance(r, &t, 0, r->units_depth) + 1;
    }
}

// ---- Running -----------------------------------------------------------------------------------

static bool make_tape(Run *r) {
    const Node *root = job_node(r->job, r->sweep->root);
    int roots[2] = {r->sweep->root, 0};
    bool spread[2] = {true, true};
    r->product = r->sweep->step == STEP_FMA || r->sweep->step == STEP_PAIRS;
    if (r->product) {
        roots[0] = root->args[0];
        roots[1] = root->args[1];
        // Across outputs one factor may stay a single number.
        uint32_t vector = (uint32_t)1 << r->nest.order[r->nest.vector];
        r->swap = !(r->job->masks[roots[1]] & vector);
        spread[r->swap] = r->inner;
    }
    return tape_compile(r->job, &r->nest, roots, spread, r->product ? 2 : 1, &r->tape);
}

static bool make_reducer(Run *r) {
    const Sweep *s = r->sweep;
    int64_t count = 1;
    Dtype dtype = job_node(r->job, s->root)->dtype;
    if (s->reduction == RED_NONE)
        return true;
    for (int k = 0; k < s->red_count; k++)
        count *= r->job->extent[s->reds[k]];
    if (reduce_init(&r->reducer, s->reduction, s->step, dtype, r->inner, count, r->tape.width,
                    r->job->wide))
        return true;
    return run_fail(r->job->it, "%s of %s is not available", reduction_text(s->reduction),
                    dtype_name(dtype));
}

// Estimated element operations, to decide on threads.
static double total_work(const Run *r) {
    double work = (double)r->units * (double)r->tape.width;
    for (int d = r->units_depth; d < r->nest.depths; d++)
        work *= (double)r->points[d];
    return work * (double)(r->tape.starts[r->nest.depths + 1] + 1);
}

// Bytes of scratch memory that a task takes.
static size_t task_bytes(Run *r) {
    if (r->sweep->reduction != RED_NONE && !r->reducer.count)
        r->tape.registers = 0; // nothing is evaluated
    return 2 * VEC_BLOCK * sizeof(int64_t) + (size_t)r->tape.registers * r->tape.register_size +
           values_bytes(r) + reduce_bytes(&r->reducer);
}

// Tasks that a sweep is cut into, at most.
static size_t most_tasks(const Job *j) {
    int threads = rt_pool_threads(j->it->pool);
    return threads == 1 ? 1 : 4 * (size_t)threads;
}

bool sweep_run(Job *j, const Sweep *s) {
    Run *r = NEW(j->arena, Run);
    r->job = j;
    r->sweep = s;
    int vector = choose_vector(j, s, &r->inner);
    make_nest(r, vector);
    if (r->units == 0)
        return true;
    if (!make_tape(r) || !make_reducer(r))
        return false;
    if (j->dry)
        return true;
    double tasks = total_work(r) / TASK_WORK, most = (double)most_tasks(j);
    tasks = most == 1 || tasks < 1 ? 1 : tasks > most ? most : tasks;
    r->per_task = r->units / (int64_t)tasks + (r->units % (int64_t)tasks != 0);
    r->per_task = r->per_task ? r->per_task : 1;
    size_t count = (size_t)((r->units + r->per_task - 1) / r->per_task);
    r->task_bytes = task_bytes(r);
    if (r->task_bytes > j->it->limit / (count ? count : 1))
        return run_fail(j->it, "no memory for a comprehension over so many points");
    r->memory = run_scratch(j->it, count * r->task_bytes);
    if (!r->memory)
        return false;
    if (count <= 1)
        run_task(r, 0);
    else
        rt_pool_run(j->it->pool, run_task, r, count);
    return true;
}

// ---- Planning ----------------------------------------------------------------------------------

// Raises *most to what a task takes with blocks along `vector` and the loop over `last` innermost.
// The loops between share no registers, so they need not be known.
static bool plan_nest(Job *j, const Sweep *s, int vector, int last, bool inner, size_t *most) {
    Run *r = NEW(j->arena, Run);
    r->job = j;
    r->sweep = s;
    r->inner = inner;
    r->nest = (Nest){.order = {vector, last}, .depths = 1 + (last != vector)};
    if (!make_tape(r) || !make_reducer(r))
        return false;
    size_t bytes = task_bytes(r);
    *most = bytes > *most ? bytes : *most;
    return true;
}

bool sweep_plan(Job *j, const Sweep *s) {
    size_t bytes = 0, tasks = most_tasks(j);
    bool good = true;
    for (int k = 0; k <= s->out_count && good; k++) {
        int vector = k < s->out_count ? s->outs[k] : JOB_INDICES;
        if (vector != JOB_INDICES && j->extent[vector] <= 1)
            continue;
        good = plan_nest(j, s, vector, vector, false, &bytes);
        for (int i = 0; i < s->red_count && good; i++)
            good = plan_nest(j, s, vector, s->reds[i], false, &bytes);
    }
    for (int k = 0; k < s->red_count && good; k++)
        good = plan_nest(j, s, s->reds[k], s->reds[k], true, &bytes);
    if (good && bytes > j->it->limit / tasks)
        return run_fail(j->it, "no memory for a comprehension over so many points");
    return good && run_scratch(j->it, tasks * bytes);
}
