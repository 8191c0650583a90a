/* Fuzzes the library, and the embed.wasm below it, with mutated calls: `fuzz SEED CALLS`. Each call succeeds, or is rejected with a text and changes
   nothing. None traps. Built with AddressSanitizer, every buffer has exactly the size that a call may read or write. */
#include "reprise.c"

#include <math.h>

static const char *const TEXTS[] = {
    "leaf observation f32 4\nleaf action i32\nleaf reward f32\nleaf done bool\nleaf task text 5\nbytes 8000000\ntable memory size 40 sampler prioritized 0.6\n"
    "writer lanes 1\nrule memory nStep 2\nwriter lanes 2 autoreset nextStep\nview memory transitions gamma 0.9 weights batch\nview memory items length 2\nseed 7",
    "leaf image u8 4 4 shared frames stack 3\nleaf list.0 f64 2\nleaf list.1 text 9\nlist list\nleaf screen u8 15 20 packed screens stack 2\nleaf wide f32 80\nbytes 8000000\ntable memory size 12\n"
    "table queue size 3 sampler fifo minSize 2 samplesPerInsert 2 minDiff -4 maxDiff 9 pending 3\nrule memory length 2 priority max\nrule queue length 1\n"
    "view memory items offset uniform weights batch\nview queue items distinct\nview memory items length 3 cross mask",
    "leaf observation u16 3\nleaf action i64\nleaf reward f64\nbytes 4000000\ntable heap size 30 sampler maxHeap remover minHeap timesSampled 3\n"
    "table lifo size 9 sampler lifo\nwriter lanes 3 keep 9 across\nrule heap nStep 3 priority 2\nview heap transitions gamma 0.5 next action distinct\nview lifo items stratified",
};
enum { WORLDS = sizeof TEXTS / sizeof *TEXTS, REPLAYS = 4, KEYS = 64, MOST = 1 << 20 };

/* A Replay, and the results that it has returned. */
typedef struct {
  reprise_replay *replay;
  double keys[KEYS];
  uint32_t key_count;
  uint8_t *snapshot;
  size_t bytes;
} slot;

static slot slots[REPLAYS];
static uint64_t state;
static uint32_t done_count, refused_count;
/* The numbers of successful and rejected calls, by name. */
static struct {
  const char *name;
  uint32_t done, refused;
} kinds[32];

static uint32_t random32(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32);
}

static uint32_t below(uint32_t n) { return random32() % n; }

static int one_in(uint32_t n) { return below(n) == 0; }

/* Returns a number that a host may pass by mistake: small, near a limit, or arbitrary. */
static uint32_t number(void) {
  static const uint32_t LIMITS[] = {0, 1, 0xff, 0x100, 0xffff, 0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
  uint32_t kind = below(4);
  return kind < 2 ? below(4) : kind == 2 ? LIMITS[below(sizeof LIMITS / sizeof *LIMITS)] + below(3) - 1 : random32() >> below(32);
}

/* Usually returns an index that exists. */
static uint32_t index_of(uint32_t count) { return one_in(12) ? number() : one_in(3) ? below(count) : 0; }

static double real(void) {
  static const double REALS[] = {0, 1, 0.5, 1.5, 7, -1, -0.0, 1e300, 5e-324, 4503599627370496, NAN, INFINITY, -INFINITY};
  return one_in(3) ? random32() / 4294967296.0 : REALS[below(sizeof REALS / sizeof *REALS)];
}

static void fail(const char *call, const char *why) {
  fprintf(stderr, "fuzz: %s: %s\n", call, why);
  abort();
}

/* The text of a rejection starts with a code, then gives the reason: `CODE: words`. */
static void judge(const char *call, int is_done, const char *text) {
  size_t kind = 0;
  while (kinds[kind].name != NULL && strcmp(kinds[kind].name, call) != 0) kind++;
  kinds[kind].name = call;
  if (is_done) {
    kinds[kind].done++;
    done_count++;
    return;
  }
  kinds[kind].refused++;
  refused_count++;
  size_t word = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  if (word < 5 || strncmp(text + word, ": ", 2) != 0 || strlen(text) < word + 12) fail(call, text);
  if (strstr(text, "trapped") != NULL) fail(call, text);
}

/* Allocates a buffer of exactly this size, filled with zeros. */
static void *exact(size_t bytes) {
  uint8_t *memory = malloc(bytes);
  if (memory == NULL && bytes > 0) fail("malloc", "no memory");
  for (size_t i = 0; i < bytes; i++) memory[i] = 0;
  return memory;
}

static void mutate(uint8_t *bytes, size_t count) {
  for (uint32_t times = 1 + below(3); times > 0 && count > 0; times--) {
    uint8_t *byte = &bytes[random32() % count];
    *byte = one_in(2) ? (uint8_t)(*byte ^ (1u << below(8))) : (uint8_t)random32();
  }
}

/* Returns the counters of the first table, or zeros if no Replay is open. */
static reprise_numbers count_of(reprise_replay *replay) {
  reprise_numbers none = {0};
  const reprise_numbers *numbers = replay == NULL ? NULL : reprise_stats(replay, 0);
  return numbers == NULL ? none : *numbers;
}

/* Returns n packed steps in a buffer of the given size. Most elements are 0, and most steps are valid. */
static uint8_t *steps_of(reprise_replay *replay, uint32_t n, size_t bytes) {
  uint8_t *steps = exact(bytes);
  const reprise_batch *step = reprise_columns(replay, (uint32_t)REPRISE_STEP);
  for (uint32_t i = 0; step != NULL && i < step->columns && n > 0 && n * (size_t)step->bytes <= bytes; i++) {
    const reprise_column *leaf = &step->column[i];
    uint8_t *at = steps + below(n) * step->bytes + leaf->offset;
    if (leaf->dtype == REPRISE_F32) memcpy(at, &(float){(float)below(9)}, 4);
    else if (leaf->dtype != REPRISE_TEXT && leaf->dtype != REPRISE_F64) *at = (uint8_t)below(2);
  }
  if (one_in(10)) mutate(steps, bytes);
  return steps;
}

static size_t step_bytes(reprise_replay *replay) {
  const reprise_batch *step = reprise_columns(replay, (uint32_t)REPRISE_STEP);
  return step == NULL ? 16 : step->bytes;
}

static int32_t append(slot *slot) {
  uint32_t n = one_in(9) ? number() % 999 : 1 + below(12);
  size_t bytes = n * step_bytes(slot->replay) + (one_in(12) ? 1 + below(99) : 0);
  if (bytes > MOST) bytes = MOST;
  n = (uint32_t)(bytes / step_bytes(slot->replay));
  uint8_t *steps = steps_of(slot->replay, n, bytes);
  uint8_t *ends = one_in(2) ? exact(n) : NULL;
  uint32_t ended = 0;
  for (uint32_t i = 0; ends != NULL && i < n; i++) {
    ends[i] = one_in(9) ? (uint8_t)below(one_in(9) ? 256 : 4) : 0;
    ended += ends[i] == TRUNCATED || ends[i] == TERMINATED;
  }
  uint8_t *finals = ended > 0 && !one_in(5) ? steps_of(slot->replay, ended, ended * step_bytes(slot->replay)) : NULL;
  int32_t result = reprise_append(slot->replay, index_of(2), one_in(30) ? NULL : steps, bytes, ends, finals);
  free(steps);
  free(ends);
  free(finals);
  return result;
}

static int32_t end(slot *slot) {
  uint8_t *final = one_in(3) ? NULL : steps_of(slot->replay, 1, step_bytes(slot->replay));
  int32_t result = reprise_end(slot->replay, index_of(2), index_of(2), one_in(9) ? number() : 1 + below(3), final);
  free(final);
  return result;
}

/* Reads every column of a batch, to check that its memory is valid. */
static void look(slot *slot, uint32_t view) {
  const reprise_batch *batch = reprise_columns(slot->replay, view);
  judge("columns", batch != NULL, reprise_error());
  if (batch == NULL) return;
  for (uint32_t i = 0; i < batch->columns; i++) {
    const reprise_column *column = &batch->column[i];
    if (strlen(column->name) != column->name_bytes) fail("columns", "a name is not whole");
    size_t bytes = (size_t)batch->entries * column->bytes + (one_in(20) ? below(40) : 0) - (one_in(20) ? 1 + below(20) : 0);
    if (bytes > MOST) bytes = 0;
    uint8_t *copy = exact(bytes);
    int32_t entries = reprise_copy(batch, column->name, copy, bytes);
    judge("copy", entries >= 0, reprise_error());
    if (entries >= 0 && strcmp(column->name, "keys") == 0) memcpy(slot->keys, copy, 8 * (slot->key_count = entries > KEYS ? KEYS : (uint32_t)entries));
    free(copy);
  }
}

static int32_t change(slot *slot, int deletes) {
  uint32_t n = one_in(9) ? number() % 999 : below(9);
  double *keys = exact(8 * n), *priorities = exact(8 * n);
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = slot->key_count > 0 && !one_in(6) ? slot->keys[below(slot->key_count)] : real();
    priorities[i] = one_in(9) ? real() : below(9);
  }
  const double *given = one_in(30) ? NULL : keys;
  int32_t result = deletes ? reprise_delete(slot->replay, index_of(2), given, n) : reprise_update(slot->replay, index_of(2), given, one_in(30) ? NULL : priorities, n);
  free(keys);
  free(priorities);
  return result;
}

static void save(slot *slot) {
  uint8_t *all = NULL;
  size_t bytes = 0;
  const reprise_chunk *chunk = reprise_save(slot->replay, !one_in(9));
  for (; chunk != NULL && chunk->bytes > 0; chunk = reprise_save(slot->replay, one_in(400))) {
    if ((all = realloc(all, bytes + chunk->bytes)) == NULL) fail("save", "no memory");
    memcpy(all + bytes, chunk->at, chunk->bytes);
    bytes += chunk->bytes;
    if (bytes > MOST) break;
    if (one_in(60)) append(slot);
  }
  judge("save", chunk != NULL, reprise_error());
  free(slot->snapshot);
  slot->snapshot = all;
  slot->bytes = bytes;
}

/* Computes CRC-32C. */
static uint32_t sum_of(uint32_t sum, const uint8_t *bytes, size_t count) {
  for (sum = ~sum; count > 0; count--) {
    sum ^= *bytes++;
    for (int bit = 0; bit < 8; bit++) sum = (sum >> 1) ^ (sum & 1 ? 0x82f63b78 : 0);
  }
  return ~sum;
}

/* Recomputes the checksums of all sections of a snapshot. A section has a head of four words (the third is the number of payload bytes, the fourth the
   checksum), and then its payload. */
static void seal(uint8_t *bytes, size_t count) {
  for (size_t at = 8; at + 16 <= count;) {
    uint32_t length;
    memcpy(&length, bytes + at + 8, 4);
    if (length > count - at - 16) return;
    uint32_t sum = sum_of(sum_of(0, bytes + at, 12), bytes + at + 16, length);
    memcpy(bytes + at + 12, &sum, 4);
    at += 16 + length;
  }
}

/* Returns a text in which some bytes or words are replaced. */
static char *text_of(uint32_t world, size_t *bytes) {
  static const char *const WORDS[] = {"", "leaf", "4294967295", "-1", "0x7ff8000000000000", "\"", "shared", "packed", "ratio 2", "stack 1025", "size 4000000000", "nStep 70000", "lanes 999999", "\n", "#"};
  const char *text = TEXTS[world];
  size_t whole = strlen(text);
  char *all = exact(whole + 64);
  memcpy(all, text, whole);
  *bytes = whole;
  if (one_in(3)) return all;
  if (one_in(2)) mutate((uint8_t *)all, whole);
  else {
    const char *word = WORDS[below(sizeof WORDS / sizeof *WORDS)];
    size_t at = random32() % whole, cut = strcspn(text + at, " \n");
    *bytes = (size_t)snprintf(all, whole + 64, "%.*s%s%s", (int)at, text, word, text + at + cut);
  }
  if (one_in(4)) *bytes = random32() % (*bytes + 1);
  return all;
}

static reprise_replay *fresh(void) {
  const char *text = TEXTS[below(WORLDS)];
  return reprise_create(text, strlen(text));
}

static void create(slot *slot) {
  size_t bytes;
  char *text = text_of(below(WORLDS), &bytes);
  char *tight = exact(bytes);
  memcpy(tight, text, bytes);
  free(text);
  judge("free", slot->replay != NULL && reprise_free(slot->replay) == 0, reprise_error());
  slot->replay = reprise_create(one_in(60) ? NULL : tight, bytes);
  judge("create", slot->replay != NULL, reprise_error());
  free(tight);
}

static void load(slot *slot, const char *lines) {
  size_t bytes = one_in(9) && slot->bytes > 0 ? random32() % slot->bytes : slot->bytes;
  uint8_t *tight = exact(bytes);
  if (bytes > 0) memcpy(tight, slot->snapshot, bytes);
  if (!one_in(3)) {
    mutate(tight, bytes);
    if (!one_in(3)) seal(tight, bytes);
  }
  if (slot->replay != NULL) reprise_free(slot->replay);
  slot->replay = reprise_load(tight, bytes, lines, lines == NULL ? 0 : strlen(lines));
  judge("load", slot->replay != NULL, reprise_error());
  free(tight);
}

/* Returns an address: in the input, around its ends, around the end of the memory, or arbitrary. */
static uint32_t address(reprise_replay *replay, uint32_t input, uint32_t bytes) {
  switch (below(6)) {
    case 0: return number();
    case 1: return replay->core.w2c_memory.size - 9 + below(18);
    case 2: return input + bytes - below(40);
    case 3: return input - below(9);
    default: return input + below(bytes + 1);
  }
}

/* Calls embed.wasm directly, bypassing the checks of the library, with arguments and addresses that may be invalid. */
static void of_page(slot *slot) {
  reprise_replay *replay = slot->replay;
  if (replay == NULL || replay->handle == 0) return;
  jmp_buf here;
  way_out = &here;
  if (setjmp(here) != 0) fail("page", "trapped");
  page *core = &replay->core;
  uint32_t room = one_in(30) ? number() : below(4000), input = page_input(core, room);
  judge("page input", input != 0, (const char *)at(replay, page_error(core)));
  if (input == 0) return;
  for (uint32_t i = 0; i < room && room < MOST; i++) at(replay, input)[i] = one_in(3) ? (uint8_t)random32() : 0;
  uint32_t handle = one_in(9) ? number() : replay->handle, a = address(replay, input, room), b = address(replay, input, room), c = address(replay, input, room);
  uint32_t n = one_in(3) ? number() : below(20);
  uint32_t result = 0, call = below(11);
  switch (call) {
    case 0: result = page_append(core, handle, index_of(2), a, n, one_in(2) ? 0 : b, one_in(2) ? 0 : c); break;
    case 1: result = page_end(core, handle, index_of(2), index_of(2), index_of(4), a); break;
    case 2: result = page_item(core, handle, index_of(2), index_of(2), index_of(2), n, real()); break;
    case 3: result = page_sample(core, handle, index_of(3), n, real()); break;
    case 4: result = page_update(core, handle, index_of(2), a, b, n); break;
    case 5: result = page_delete(core, handle, index_of(2), a, n); break;
    case 6: result = page_columns(core, handle, index_of(3)); break;
    case 7: result = page_stats(core, handle, index_of(2)); break;
    case 8: result = page_save(core, handle, below(2)); break;
    case 9: result = one_in(9) ? page_free(core, number()) : 0; break;
    default: result = one_in(9) ? page_create(core, a, n) : 0; break;
  }
  int is_address = (call >= 6 && call <= 8) || call == 10;
  int is_done = is_address ? result != 0 : (int32_t)result >= 0;
  if (call < 9) judge("page", is_done, (const char *)at(replay, page_error(core)));
  /* Calls 9 and 10 may have freed or replaced the Replay in the instance, so the slot gets a new Replay. */
  if (call >= 9) {
    reprise_free(replay);
    create(slot);
  }
}

static void misread(slot *slot) {
  const reprise_batch *step = reprise_columns(slot->replay, (uint32_t)REPRISE_STEP);
  judge("columns of a step", step != NULL, reprise_error());
  uint8_t *value = exact(4), *to = exact(step == NULL ? 16 : step->bytes);
  const char *name = step == NULL || one_in(3) ? "nothing" : step->column[below(step->columns)].name;
  judge("put", reprise_put(one_in(9) ? NULL : step, one_in(9) ? NULL : name, one_in(9) ? NULL : value, 4, to) == 0, reprise_error());
  judge("copy of a step", reprise_copy(step, name, to, 4) >= 0, reprise_error());
  free(value);
  free(to);
}

/* Makes one call. A rejected call changes nothing. */
static void call(void) {
  slot *slot = &slots[below(REPLAYS)];
  if ((slot->replay == NULL || slot->replay->handle == 0) && one_in(3)) slot->replay = fresh();
  reprise_numbers before = count_of(slot->replay);
  int32_t result = 0;
  uint32_t view = index_of(3);
  const char *name = NULL;
  switch (below(16)) {
    case 0: case 1: case 2: case 3: name = "append"; result = append(slot); break;
    case 4: name = "end"; result = end(slot); break;
    case 5: name = "item"; result = reprise_item(slot->replay, index_of(2), index_of(2), index_of(2), one_in(5) ? number() : 1 + below(3), one_in(5) ? real() : 1); break;
    case 6: case 7: case 8: name = "sample"; result = reprise_sample(slot->replay, view, one_in(5) ? number() % 99999 : 1 + below(9), one_in(5) ? real() : 0.4); break;
    case 9: name = "update"; result = change(slot, 0); break;
    case 10: name = "delete"; result = change(slot, 1); break;
    case 11: judge("stats", reprise_stats(slot->replay, index_of(2)) != NULL, reprise_error()); return;
    case 12: save(slot); return;
    case 13: misread(slot); return;
    case 14: of_page(slot); return;
    default:
      if (one_in(3)) create(slot);
      else if (slot->snapshot != NULL) load(slot, one_in(2) ? NULL : "bytes 9000000\nview memory items length 2");
      else if (slot->replay != NULL && one_in(2)) judge("free", reprise_free(slot->replay) == 0, reprise_error());
      return;
  }
  judge(name, result >= 0, reprise_error());
  if (result >= 0 && strcmp(name, "sample") == 0) look(slot, one_in(20) ? number() : view);
  reprise_numbers after = count_of(slot->replay);
  if (result < 0 && memcmp(&before, &after, sizeof before - sizeof before.used) != 0) fail(name, "was refused, and changed something");
}

int main(int count, char **words) {
  if (count != 3) fail("usage", "fuzz SEED CALLS");
  state = 0x9e3779b97f4a7c15u * (strtoull(words[1], NULL, 10) + 1);
  uint32_t calls = (uint32_t)strtoul(words[2], NULL, 10);
  for (int i = 0; i < REPLAYS; i++) slots[i].replay = fresh();
  while (done_count + refused_count < calls) call();
  for (int i = 0; i < REPLAYS; i++) {
    if (slots[i].replay != NULL) reprise_free(slots[i].replay);
    free(slots[i].snapshot);
  }
  for (size_t i = 0; kinds[i].name != NULL; i++) printf("%s: %u done, %u refused\n", kinds[i].name, kinds[i].done, kinds[i].refused);
  printf("%u calls: %u done, %u refused with a text\n", done_count + refused_count, done_count, refused_count);
  return 0;
}
