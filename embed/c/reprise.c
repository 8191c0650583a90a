/* Implements the library. A Replay is an instance of core.inc, which wasm2c generates from dist/embed.scalar.wasm. Only this file is compiled; it includes the
 * others. */
#define _DEFAULT_SOURCE
#define NDEBUG
#include "runtime.h"

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-value"
#endif
#include "core.inc"
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#include "page.h"
#include "reprise.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/* The last result of reprise_columns: the structure, and everything it points to. */
typedef struct told {
  reprise_batch batch;
  reprise_column *column;
  char *names;
  uint32_t *dims;
  size_t columns, name_bytes, dim_count;
} told;

struct reprise_replay {
  page core;
  uint32_t handle; /* 0: it was freed */
  told step, shown;
  reprise_numbers numbers;
  reprise_chunk chunk;
};

/* The ends of episodes that may have a final step. */
enum { TRUNCATED = 2, TERMINATED = 3 };

/* The number of recently freed handles that keep their memory. A late call with such a handle is refused, and cannot reach another Replay. */
enum { FREED = 64 };
static _Atomic(reprise_replay *) freed[FREED];
static atomic_uint frees;

static _Thread_local char error[1024];

const char *reprise_error(void) { return error; }

static int32_t refuse(int32_t code, const char *text, ...) {
  va_list values;
  va_start(values, text);
  vsnprintf(error, sizeof error, text, values);
  va_end(values);
  return code;
}

static uint8_t *at(reprise_replay *replay, uint32_t address) { return replay->core.w2c_memory.data + address; }

/* Refuses a call with the core's own text. */
static int32_t refused(reprise_replay *replay, int32_t code) {
  const char *text = (const char *)at(replay, page_error(&replay->core));
  return refuse(code, "%.*s", (int)sizeof error - 1, text);
}

static void close_it(reprise_replay *replay) {
  page_close(&replay->core);
  free(replay->step.column);
  free(replay->step.names);
  free(replay->step.dims);
  free(replay->shown.column);
  free(replay->shown.names);
  free(replay->shown.dims);
  memset(replay, 0, sizeof *replay);
  free(atomic_exchange(&freed[atomic_fetch_add(&frees, 1) % FREED], replay));
}

/* Returns why a Replay cannot be called, or 0 if it can. */
static int32_t closed(reprise_replay *replay) {
  if (replay == NULL) return refuse(REPRISE_INVALID, "INVALID: replay must be a Replay from reprise_create or reprise_load, got NULL");
  return replay->handle != 0 ? 0 : refuse(REPRISE_CLOSED, "CLOSED: the Replay was freed. Create a new one");
}

/* A trap would be a bug in the core; none is known. */
static int32_t trapped(void) { return refuse(REPRISE_CORRUPT, "CORRUPT: the core trapped (%d), and the Replay was freed. Please report this bug", (int)why); }

/* Begins a function that calls the core. If the call is not allowed, or traps, the function returns `result`, an expression that may use `code`. */
#define ENTER(replay, result)      \
  int32_t code = closed(replay);   \
  if (code != 0) return result;    \
  jmp_buf here;                    \
  way_out = &here;                 \
  if (setjmp(here) != 0) {         \
    close_it(replay);              \
    code = trapped();              \
    return result;                 \
  }

/* A run of the caller's bytes, to be copied into the instance. */
typedef struct run {
  const char *name;
  const void *from;
  uint64_t bytes;
  uint32_t address; /* the address of the copy */
} run;

/* Copies runs into the input buffer, each at a multiple of 16, and skips empty ones. Returns 0, or a code. */
static int32_t give(reprise_replay *replay, run *runs, int count) {
  wasm_rt_memory_t *memory = &replay->core.w2c_memory;
  uint64_t end = 0;
  for (int i = 0; i < count; i++) {
    if (runs[i].bytes == 0) continue;
    if (runs[i].from == NULL) return refuse(REPRISE_INVALID, "INVALID: %s must not be NULL", runs[i].name);
    end += (runs[i].bytes + 15) & ~(uint64_t)15;
    if (end > UINT32_MAX) return refuse(REPRISE_INVALID, "INVALID: %s must be smaller than 4 GiB. Pass less at a time", runs[i].name);
  }
  if (end == 0) return 0;
  const uint8_t *before = memory->data;
  size_t size = memory->size;
  uint32_t place = page_input(&replay->core, (uint32_t)end);
  if (place == 0) return refused(replay, REPRISE_OUT_OF_MEMORY);
  for (int i = 0; i < count; i++) {
    if (runs[i].bytes == 0) continue;
    /* The run may be a column of a batch, such as its keys, which moves with the memory. */
    const uint8_t *from = runs[i].from;
    if ((uintptr_t)from - (uintptr_t)before < size) from = memory->data + ((uintptr_t)from - (uintptr_t)before);
    memcpy(at(replay, place), from, (size_t)runs[i].bytes);
    runs[i].address = place;
    place += (uint32_t)((runs[i].bytes + 15) & ~(uint64_t)15);
  }
  return 0;
}

/* Makes an instance, and a Replay from the arguments; returns 0 if refused. */
static uint32_t made(reprise_replay *replay, run *runs, int count) {
  jmp_buf here;
  way_out = &here;
  if (setjmp(here) != 0) {
    if (replay->core.w2c_memory.data != NULL) return trapped(), 0;
    return refuse(0, "OUT_OF_MEMORY: a Replay needs 4 GiB of address space, which is not available. Increase the limit, or build with -DREPRISE_MOVES");
  }
  page_open(&replay->core);
  if (give(replay, runs, count) != 0) return 0;
  uint32_t handle = count == 1 ? page_create(&replay->core, runs[0].address, (uint32_t)runs[0].bytes)
                               : page_load(&replay->core, runs[0].address, (uint32_t)runs[0].bytes, runs[1].address, (uint32_t)runs[1].bytes);
  return handle != 0 ? handle : (uint32_t)refused(replay, 0);
}

static reprise_replay *opened(run *runs, int count) {
  reprise_replay *replay = calloc(1, sizeof *replay);
  if (replay == NULL) {
    refuse(0, "OUT_OF_MEMORY: there is no memory for a Replay");
    return NULL;
  }
  replay->handle = made(replay, runs, count);
  if (replay->handle != 0) return replay;
  page_close(&replay->core);
  free(replay);
  return NULL;
}

reprise_replay *reprise_create(const char *text, size_t bytes) {
  run runs[] = {{"text", text, bytes, 0}};
  return opened(runs, 1);
}

reprise_replay *reprise_load(const void *snapshot, size_t bytes, const char *text, size_t text_bytes) {
  run runs[] = {{"snapshot", snapshot, bytes, 0}, {"text", text, text_bytes, 0}};
  return opened(runs, 2);
}

/* Makes room for `need` elements of `bytes` bytes each; returns 0 if there is no memory. */
static int room(void **have, size_t *count, size_t need, size_t bytes) {
  if (need <= *count && *have != NULL) return 1;
  void *more = realloc(*have, (need + 1) * bytes);
  if (more == NULL) return 0;
  *have = more;
  *count = need;
  return 1;
}

/* Converts the core's description to C structures; returns NULL if there is no memory. */
static const reprise_batch *tell(reprise_replay *replay, told *told, uint32_t address, int is_step) {
  const page_columns_record *all = (const page_columns_record *)at(replay, address);
  const page_column_record *columns = (const page_column_record *)(all + 1);
  size_t names = 0, dims = 0;
  for (uint32_t i = 0; i < all->columns; i++) {
    names += columns[i].name_bytes + 1;
    dims += columns[i].rank;
  }
  if (!room((void **)&told->column, &told->columns, all->columns, sizeof *told->column) || !room((void **)&told->names, &told->name_bytes, names, 1) ||
      !room((void **)&told->dims, &told->dim_count, dims, sizeof *told->dims)) {
    refuse(0, "OUT_OF_MEMORY: there is no memory to describe %u columns", all->columns);
    return NULL;
  }
  char *name = told->names;
  uint32_t *dim = told->dims;
  for (uint32_t i = 0; i < all->columns; i++) {
    const page_column_record *from = &columns[i];
    memcpy(name, at(replay, from->name), from->name_bytes);
    name[from->name_bytes] = 0;
    memcpy(dim, at(replay, from->dims), from->rank * sizeof *dim);
    told->column[i] = (reprise_column){
        .name = name,
        .name_bytes = from->name_bytes,
        .dtype = from->dtype,
        .max_bytes = from->max_bytes,
        .dims = dim,
        .rank = from->rank,
        .steps = from->steps,
        .drawn = from->drawn,
        .data = is_step ? NULL : at(replay, from->at),
        .offset = is_step ? from->at : 0,
        .bytes = from->bytes,
    };
    name += from->name_bytes + 1;
    dim += from->rank;
  }
  told->batch = (reprise_batch){all->columns, all->entries, all->width, all->bytes, all->blocked, told->column};
  return &told->batch;
}

/* Describes a packed step. The description does not change during the life of the Replay. */
static const reprise_batch *step_of(reprise_replay *replay) {
  if (replay->step.batch.column != NULL) return &replay->step.batch;
  uint32_t address = page_columns(&replay->core, replay->handle, (uint32_t)REPRISE_STEP);
  if (address != 0) return tell(replay, &replay->step, address, 1);
  refused(replay, 0);
  return NULL;
}

const reprise_batch *reprise_columns(reprise_replay *replay, uint32_t view) {
  ENTER(replay, NULL);
  if (view == (uint32_t)REPRISE_STEP) return step_of(replay);
  uint32_t address = page_columns(&replay->core, replay->handle, view);
  if (address != 0) return tell(replay, &replay->shown, address, 0);
  refused(replay, 0);
  return NULL;
}

/* Returns the result of a call, or its refusal. */
static int32_t done(reprise_replay *replay, uint32_t result) {
  return (int32_t)result < 0 ? refused(replay, (int32_t)result) : (int32_t)result;
}

int32_t reprise_append(reprise_replay *replay, uint32_t writer, const void *steps, size_t bytes, const uint8_t *ends, const void *finals) {
  ENTER(replay, code);
  const reprise_batch *step = step_of(replay);
  if (step == NULL) return REPRISE_OUT_OF_MEMORY;
  if (bytes % step->bytes != 0 || bytes > UINT32_MAX)
    return refuse(REPRISE_INVALID, "INVALID: bytes must be a multiple of %u, the bytes of a packed step, and below 4 GiB, got %zu", step->bytes, bytes);
  uint32_t n = (uint32_t)(bytes / step->bytes);
  uint64_t ended = 0;
  /* An invalid end has no final step to read: the core refuses it. */
  for (uint32_t i = 0; ends != NULL && finals != NULL && i < n; i++) ended += ends[i] == TRUNCATED || ends[i] == TERMINATED;
  run runs[] = {
      {"steps", steps, bytes, 0},
      {"ends", ends, ends == NULL ? 0 : n, 0},
      {"finals", finals, step->bytes * ended, 0},
  };
  code = give(replay, runs, 3);
  if (code != 0) return code;
  return done(replay, page_append(&replay->core, replay->handle, writer, runs[0].address, n, runs[1].address, runs[2].address));
}

int32_t reprise_end(reprise_replay *replay, uint32_t writer, uint32_t lane, uint32_t how, const void *final) {
  ENTER(replay, code);
  const reprise_batch *step = step_of(replay);
  if (step == NULL) return REPRISE_OUT_OF_MEMORY;
  run runs[] = {{"final", final, final == NULL ? 0 : step->bytes, 0}};
  code = give(replay, runs, 1);
  if (code != 0) return code;
  return done(replay, page_end(&replay->core, replay->handle, writer, lane, how, runs[0].address));
}

int32_t reprise_item(reprise_replay *replay, uint32_t writer, uint32_t lane, uint32_t table, uint32_t length, double priority) {
  ENTER(replay, code);
  return done(replay, page_item(&replay->core, replay->handle, writer, lane, table, length, priority));
}

int32_t reprise_discard(reprise_replay *replay, uint32_t writer, uint32_t lane) {
  ENTER(replay, code);
  return done(replay, page_discard(&replay->core, replay->handle, writer, lane));
}

int32_t reprise_truncate(reprise_replay *replay, uint32_t writer) {
  ENTER(replay, code);
  return done(replay, page_truncate(&replay->core, replay->handle, writer));
}

int32_t reprise_sample(reprise_replay *replay, uint32_t view, uint32_t n, double beta) {
  ENTER(replay, code);
  return done(replay, page_sample(&replay->core, replay->handle, view, n, beta));
}

const void *reprise_mixture(reprise_replay *replay, uint32_t view) {
  ENTER(replay, NULL);
  uint32_t address = page_mixture(&replay->core, replay->handle, view);
  if (address == 0) {
    refused(replay, 0);
    return NULL;
  }
  return at(replay, address);
}

int32_t reprise_set_mixture(reprise_replay *replay, uint32_t view, const void *state, size_t bytes) {
  ENTER(replay, code);
  run runs[] = {{"state", state, bytes, 0}};
  code = give(replay, runs, 1);
  if (code != 0) return code;
  return done(replay, page_set_mixture(&replay->core, replay->handle, view, runs[0].address));
}

int32_t reprise_get(reprise_replay *replay, uint32_t view, const double *keys, uint32_t n) {
  ENTER(replay, code);
  run runs[] = {{"keys", keys, 8 * (uint64_t)n, 0}};
  code = give(replay, runs, 1);
  if (code != 0) return code;
  return done(replay, page_get(&replay->core, replay->handle, view, runs[0].address, n));
}

int32_t reprise_write(reprise_replay *replay, uint32_t view, uint32_t column, const double *keys, uint32_t n, uint32_t width,
                      const void *values, size_t bytes) {
  ENTER(replay, code);
  run runs[] = {{"keys", keys, 8 * (uint64_t)n, 0}, {"values", values, bytes, 0}};
  code = give(replay, runs, 2);
  if (code != 0) return code;
  return done(replay, page_write(&replay->core, replay->handle, view, column, runs[0].address, n, width, runs[1].address));
}

int32_t reprise_epoch(reprise_replay *replay, uint32_t view, uint32_t n, double *state) {
  ENTER(replay, code);
  run runs[] = {{"state", state, 6 * sizeof *state, 0}};
  code = give(replay, runs, 1);
  if (code != 0) return code;
  code = done(replay, page_epoch(&replay->core, replay->handle, view, n, runs[0].address));
  if (code >= 0) memcpy(state, at(replay, runs[0].address), 6 * sizeof *state);
  return code;
}

int32_t reprise_update(reprise_replay *replay, uint32_t table, const double *keys, const double *priorities, uint32_t n) {
  ENTER(replay, code);
  run runs[] = {{"keys", keys, 8 * (uint64_t)n, 0}, {"priorities", priorities, 8 * (uint64_t)n, 0}};
  code = give(replay, runs, 2);
  if (code != 0) return code;
  return done(replay, page_update(&replay->core, replay->handle, table, runs[0].address, runs[1].address, n));
}

int32_t reprise_delete(reprise_replay *replay, uint32_t table, const double *keys, uint32_t n) {
  ENTER(replay, code);
  run runs[] = {{"keys", keys, 8 * (uint64_t)n, 0}};
  code = give(replay, runs, 1);
  if (code != 0) return code;
  return done(replay, page_delete(&replay->core, replay->handle, table, runs[0].address, n));
}

const reprise_numbers *reprise_stats(reprise_replay *replay, uint32_t table) {
  ENTER(replay, NULL);
  uint32_t address = page_stats(&replay->core, replay->handle, table);
  if (address == 0) {
    refused(replay, 0);
    return NULL;
  }
  memcpy(&replay->numbers, at(replay, address), sizeof replay->numbers);
  return &replay->numbers;
}

const reprise_chunk *reprise_save(reprise_replay *replay, uint32_t first) {
  ENTER(replay, NULL);
  uint32_t address = page_save(&replay->core, replay->handle, first);
  if (address == 0) {
    refused(replay, 0);
    return NULL;
  }
  const uint32_t *chunk = (const uint32_t *)at(replay, address);
  replay->chunk = (reprise_chunk){at(replay, chunk[0]), chunk[1]};
  return &replay->chunk;
}

int32_t reprise_free(reprise_replay *replay) {
  int32_t code = closed(replay);
  if (code == 0) close_it(replay);
  return code;
}

const reprise_column *reprise_find(const reprise_batch *batch, const char *name) {
  if (batch == NULL || name == NULL) {
    refuse(0, "INVALID: %s must not be NULL", batch == NULL ? "batch" : "name");
    return NULL;
  }
  for (uint32_t i = 0; i < batch->columns; i++)
    if (strcmp(batch->column[i].name, name) == 0) return &batch->column[i];
  refuse(0, "NOT_FOUND: name must be the name of a column, such as \"%s\", got \"%s\"", batch->columns == 0 ? "" : batch->column[0].name, name);
  return NULL;
}

int32_t reprise_copy(const reprise_batch *batch, const char *name, void *to, size_t bytes) {
  const reprise_column *column = reprise_find(batch, name);
  if (column == NULL) return REPRISE_NOT_FOUND;
  if (column->data == NULL) return refuse(REPRISE_INVALID, "INVALID: batch must be a drawn batch, got a packed step");
  size_t need = (size_t)batch->entries * column->bytes;
  if (bytes < need) return refuse(REPRISE_INVALID, "INVALID: bytes must be at least %zu for the column \"%s\", got %zu", need, name, bytes);
  if (need != 0 && to == NULL) return refuse(REPRISE_INVALID, "INVALID: to must not be NULL");
  if (need != 0) memcpy(to, column->data, need);
  return (int32_t)batch->entries;
}

int32_t reprise_put(const reprise_batch *step, const char *name, const void *value, size_t bytes, void *to) {
  const reprise_column *column = reprise_find(step, name);
  if (column == NULL) return REPRISE_NOT_FOUND;
  if (column->data != NULL) return refuse(REPRISE_INVALID, "INVALID: step must be the columns of REPRISE_STEP, got the columns of a batch");
  if (bytes != column->bytes) return refuse(REPRISE_INVALID, "INVALID: bytes must be %u for the leaf \"%s\", got %zu", column->bytes, name, bytes);
  if (value == NULL || to == NULL) return refuse(REPRISE_INVALID, "INVALID: %s must not be NULL", value == NULL ? "value" : "to");
  memcpy((uint8_t *)to + column->offset, value, bytes);
  return 0;
}
