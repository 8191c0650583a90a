/* Plays a file of operations in the format of test/embed/operation.ts. `player FILE` prints the digest of all results. `player --time FILE…` prints how long
 * the timed operations of each file take. */
#define _POSIX_C_SOURCE 199309L
#include "reprise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { APPEND, END, ITEM, SAMPLE, UPDATE, DELETE, STATS, RELOAD, CLOCK = 255 };
enum { PASSES = 5, ARGUMENTS = 16 };

typedef struct {
  uint8_t call, arguments;
  uint16_t addresses;
  uint32_t payload;
} record;

static reprise_replay *replay;
static size_t step_bytes;
static uint32_t digest = 0xffffffff;
/* The target of copied columns while time is measured. */
static uint8_t *copies;
static size_t copied;
static int timed;

static void fail(const char *why) {
  fprintf(stderr, "player: %s\n", why);
  exit(1);
}

/* Adds bytes to the digest, which is a CRC-32 as in zlib. */
static void fold(const void *bytes, size_t count) {
  static uint32_t table[256];
  if (table[1] == 0) {
    for (uint32_t i = 0; i < 256; i++) {
      table[i] = i;
      for (int bit = 0; bit < 8; bit++) table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
  }
  for (const uint8_t *byte = bytes; count > 0; count--) digest = (digest >> 8) ^ table[(digest ^ *byte++) & 255];
}

/* Adds the result of a call to the digest, and the name of its code if the call was refused. While time is measured, a refusal ends the program. */
static void fold_result(int32_t result) {
  if (timed && result < 0) fail(reprise_error());
  if (timed) return;
  fold(&result, sizeof result);
  if (result < 0) fold(reprise_error(), strcspn(reprise_error(), ":"));
}

static void show(uint32_t view) {
  const reprise_batch *batch = reprise_columns(replay, view);
  if (batch == NULL) fail(reprise_error());
  size_t end = 0;
  for (uint32_t i = 0; i < batch->columns; i++) {
    const reprise_column *column = &batch->column[i];
    size_t bytes = (size_t)batch->entries * column->bytes;
    if (!timed) {
      fold(column->data, bytes);
      continue;
    }
    if (end + bytes > copied && (copies = realloc(copies, copied = 2 * (end + bytes))) == NULL) fail("there is no memory left");
    memcpy(copies + end, column->data, bytes);
    end += bytes;
  }
}

static void reload(const void *text, size_t bytes) {
  uint8_t *snapshot = NULL;
  size_t end = 0;
  const reprise_chunk *chunk = reprise_save(replay, 1);
  for (; chunk != NULL && chunk->bytes > 0; chunk = reprise_save(replay, 0)) {
    if ((snapshot = realloc(snapshot, end + chunk->bytes)) == NULL) fail("there is no memory left");
    memcpy(snapshot + end, chunk->at, chunk->bytes);
    end += chunk->bytes;
  }
  if (chunk == NULL) fail(reprise_error());
  reprise_free(replay);
  replay = reprise_load(snapshot, end, text, bytes);
  free(snapshot);
  if (replay == NULL) fail(reprise_error());
  fold_result(0);
}

static uint32_t whole(double value) { return (uint32_t)(int64_t)value; }

/* Plays one operation. Returns the address of the next operation. */
static const uint8_t *play(const uint8_t *from) {
  record op;
  double a[ARGUMENTS];
  const uint8_t *p[ARGUMENTS];
  memcpy(&op, from, sizeof op);
  if (op.arguments > ARGUMENTS) fail("a call has too many arguments");
  memcpy(a, from + sizeof op, op.arguments * sizeof *a);
  const uint8_t *payload = from + sizeof op + op.arguments * sizeof *a;
  for (int i = 0; i < op.arguments; i++) p[i] = (op.addresses >> i & 1) != 0 && a[i] >= 0 ? payload + (size_t)a[i] : NULL;
  const double *keys = (const double *)p[1], *priorities = (const double *)p[2];
  const reprise_numbers *numbers;
  int32_t result = 0;
  switch (op.call) {
    case APPEND: result = reprise_append(replay, whole(a[0]), p[1], whole(a[2]) * step_bytes, p[3], p[4]); break;
    case END: result = reprise_end(replay, whole(a[0]), whole(a[1]), whole(a[2]), p[3]); break;
    case ITEM: result = reprise_item(replay, whole(a[0]), whole(a[1]), whole(a[2]), whole(a[3]), a[4]); break;
    case SAMPLE: result = reprise_sample(replay, whole(a[0]), whole(a[1]), a[2]); break;
    case UPDATE: result = reprise_update(replay, whole(a[0]), keys, priorities, whole(a[3])); break;
    case DELETE: result = reprise_delete(replay, whole(a[0]), keys, whole(a[2])); break;
    case STATS:
      if ((numbers = reprise_stats(replay, whole(a[0]))) == NULL) fail(reprise_error());
      fold_result(0);
      /* The bytes in use are left out, because they differ between hosts. */
      if (!timed) fold(numbers, sizeof *numbers - sizeof numbers->used);
      break;
    case RELOAD: reload(payload, op.payload); break;
    default: fail("the file contains an unknown call");
  }
  if (op.call != STATS && op.call != RELOAD) fold_result(result);
  if (op.call == SAMPLE && result >= 0) show(whole(a[0]));
  return payload + (op.payload + 7) / 8 * 8;
}

static uint8_t *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail("the file cannot be opened");
  fseek(file, 0, SEEK_END);
  long bytes = ftell(file);
  rewind(file);
  uint8_t *all = malloc((size_t)bytes);
  if (all == NULL || fread(all, 1, (size_t)bytes, file) != (size_t)bytes) fail("the file cannot be read");
  fclose(file);
  return all;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

/* Returns the median time, in nanoseconds, of a pass over the following operations. */
static double passes(const uint8_t *from, uint32_t count) {
  double spent[PASSES];
  for (int pass = 0; pass < PASSES; pass++) {
    double start = now();
    const uint8_t *next = from;
    for (uint32_t i = 0; i < count; i++) next = play(next);
    spent[pass] = now() - start;
  }
  qsort(spent, PASSES, sizeof *spent, ascending);
  return spent[PASSES / 2];
}

/* Plays a file to its end, or until the timed part has been measured. */
static void play_file(const char *path) {
  uint8_t *file = read_file(path);
  uint32_t head[4];
  memcpy(head, file, sizeof head);
  if (memcmp(file, "RPOP", 4) != 0 || head[1] != 1) fail("the file must be a file of operations for this version of the player");
  replay = reprise_create((const char *)file + sizeof head, head[3]);
  if (replay == NULL) fail(reprise_error());
  step_bytes = reprise_columns(replay, (uint32_t)REPRISE_STEP)->bytes;
  const uint8_t *next = file + sizeof head + (head[3] + 7) / 8 * 8;
  for (uint32_t i = 0; i < head[2]; i++) {
    if (*next == CLOCK) {
      const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
      printf("%.*s  %.0f ns\n", (int)strcspn(name, "."), name, passes(next + sizeof(record), head[2] - i - 1));
      break;
    }
    next = play(next);
  }
  reprise_free(replay);
  free(file);
}

int main(int count, char **words) {
  timed = count > 1 && strcmp(words[1], "--time") == 0;
  if (count < 2 + timed) fail("usage: player [--time] FILE…");
  for (int i = 1 + timed; i < count; i++) play_file(words[i]);
  if (!timed) printf("digest %08x\n", ~digest);
  free(copies);
  return 0;
}
