// Measures the limit for batches of transitions: draws an item, raises its count, follows it to its row, writes its info columns, and copies five leaves.
//   rows touch|prefetch BATCH STEPS: uniform draws
//   rows avx2 BATCH STEPS: a prioritized cycle
//   rows frames BATCH STEPS: frames of a game, each timed (bench/frames)
#include "tree.h"
#include "variant.h"

// A row of 41 bytes takes 48.
typedef struct {
  float observation[4], next[4];
  int32_t action;
  float reward;
  uint8_t done, rest[7];
} Row;

static uint32_t batch, size;
static int prefetch;
static Item *items;
static Row *rows;
static Info info;
static float *observation, *next, *reward, *weight;
static int32_t *action;
static uint8_t *done;
static uint32_t slots[PIECE];

// Prefetches the items of a piece, and then their rows. With `touch`, loads them instead, because WebAssembly has no prefetch. A load waits for the memory.
static void approach(uint32_t n) {
  if (prefetch) {
    for (uint32_t i = 0; i < n; i++) __builtin_prefetch(&items[slots[i]], 1);
    for (uint32_t i = 0; i < n; i++) {
      const Row *row = &rows[items[slots[i]].row];
      __builtin_prefetch(row);
      __builtin_prefetch((const char *)row + sizeof(Row) - 1);
    }
    return;
  }
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += items[slots[i]].row;
  for (uint32_t i = 0; i < n; i++) {
    const Row *row = &rows[items[slots[i]].row];
    sum += *(const uint8_t *)row + row->rest[6];
  }
  seen += sum;
}

static void gather(uint32_t first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    Item *item = &items[slots[i]];
    uint32_t to = first + i;
    item->count++;
    info.key[to] = item->generation * 1048576.0 * 2 + slots[i];
    info.priority[to] = item->priority;
    info.count[to] = item->count;
    info.size[to] = size;
    info.length[to] = item->length;
    const Row *row = &rows[item->row];
    memcpy(observation + 4 * to, row->observation, 16);
    memcpy(next + 4 * to, row->next, 16);
    action[to] = row->action;
    reward[to] = row->reward;
    done[to] = row->done;
  }
}

static void uniform(uint32_t n) {
  while (n-- > 0) {
    for (uint32_t first = 0; first < batch; first += PIECE) {
      uint32_t piece = batch - first < PIECE ? batch - first : PIECE;
      for (uint32_t i = 0; i < piece; i++) {
        slots[i] = below(size);
        info.probability[first + i] = 1.0 / size;
      }
      approach(piece);
      gather(first, piece);
    }
  }
}

#ifdef __AVX2__
static Tree tree;
static double errors[16][PIECE];

// Draws with weights, then sets new priorities of the drawn items by key.
static void cycle(uint32_t n) {
  while (n-- > 0) {
    tree_draw(&tree, slots, batch);
    approach(batch);
    gather(0, batch);
    double total = tree_total(&tree), largest = 0, weights[PIECE];
    for (uint32_t i = 0; i < batch; i++) {
      double probability = tree_weight(&tree, slots[i]) / total;
      info.probability[i] = probability;
      weights[i] = pow(size * probability, -0.4);
      if (weights[i] > largest) largest = weights[i];
    }
    for (uint32_t i = 0; i < batch; i++) weight[i] = weights[i] / largest;
    const double *new = errors[n & 15];
    double renewed[PIECE];
    for (uint32_t i = 0; i < batch; i++) {
      uint64_t key = (uint64_t)info.key[i];
      Item *item = &items[key & 0x1fffff];
      if (item->generation != key >> 21) continue;
      item->priority = new[i];
      renewed[i] = pow(new[i], 0.6);
    }
    tree_update(&tree, slots, renewed, batch);
  }
}

// Adds a step that replaces the oldest step.
static void append(uint32_t k) {
  uint32_t slot = k % size;
  Row *row = &rows[slot];
  row->observation[0] = (float)k;
  row->action = (int32_t)(k & 7);
  row->reward = 1;
  Item *item = &items[slot];
  item->generation++;
  item->count = 0;
  item->priority = 1;
  uint32_t leaf[1] = {slot};
  double weight[1] = {1};
  tree_update(&tree, leaf, weight, 1);
}

static uint32_t appended;
static void frame(void) {
  append(appended++);
  cycle(1);
}

static double spin_ns;
static void spin(void) {
  for (uint64_t end = now() + (uint64_t)spin_ns; now() < end;);
}

static int smaller(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

// Measures the time of each of n frames, and yields after every 50 frames, like the loop of bench/frames.
static void timed(void (*run)(void), double *times, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    uint64_t start = now();
    run();
    times[k] = (double)(now() - start);
    if (k % 50 == 49) usleep(1);
  }
}

#define FRAMES 20000
#define BLOCK 1000

static void told(const char *part, double *times, const char *end) {
  qsort(times, FRAMES, sizeof(double), smaller);
  printf("\"%s\": {\"p50\": %g, \"p999\": %g, \"worst\": %g}%s", part, times[FRAMES / 2] / 1e6, times[FRAMES / 1000 * 999] / 1e6, times[FRAMES - 1] / 1e6, end);
}

static void frames(void) {
  static double first[FRAMES], warm[FRAMES], idle[FRAMES];
  timed(frame, first, FRAMES);
  printf("{");
  told("first", first, ", ");
  spin_ns = first[FRAMES / 2];
  for (uint32_t from = 0; from < FRAMES; from += BLOCK) {
    timed(frame, warm + from, BLOCK);
    timed(spin, idle + from, BLOCK);
  }
  told("warm", warm, ", ");
  told("idle", idle, "}\n");
}
#endif

int main(int count, char **words) {
  if (count != 4) return 2;
  batch = (uint32_t)atoi(words[2]);
  size = (uint32_t)atoi(words[3]);
  prefetch = strcmp(words[1], "prefetch") == 0;
  int by_frame = strcmp(words[1], "frames") == 0, prioritized = by_frame || strcmp(words[1], "avx2") == 0;
  if (prioritized && (batch > PIECE || size > 0x1fffff)) return 2;
  uint64_t before = resident();
  items = items_of(size, 1);
  rows = taken((size_t)size * sizeof(Row));
  for (uint32_t i = 0; i < size; i++) {
    for (int k = 0; k < 4; k++) rows[i].observation[k] = rows[i].next[k] = (float)unit();
    rows[i].action = (int32_t)(i & 3);
    rows[i].reward = (float)unit();
  }
  void (*run)(uint32_t) = uniform;
  if (prioritized) {
#ifdef __AVX2__
    tree = tree_of(size);
    for (uint32_t i = 0; i < size; i++) tree_set(&tree, i, pow(items[i].priority, 0.6));
    tree_fill(&tree);
    for (int k = 0; k < 16; k++)
      for (uint32_t i = 0; i < batch; i++) errors[k][i] = 0.01 + unit();
    run = cycle;
#else
    printf("{\"skipped\": \"this processor has no AVX2\"}\n");
    return 0;
#endif
  }
  uint64_t memory = resident() - before;
  info = info_of(batch);
  observation = taken(16 * batch);
  next = taken(16 * batch);
  action = taken(4 * batch);
  reward = taken(4 * batch);
  weight = taken(4 * batch);
  done = taken(batch);
#ifdef __AVX2__
  if (by_frame) {
    frames();
    return 0;
  }
#endif
  printf("{\"columns\": [[\"observation\", \"f32\", [%u, 4], %u], [\"action\", \"i32\", [%u], %u], [\"reward\", \"f32\", [%u], %u], "
         "[\"nextObservation\", \"f32\", [%u, 4], %u], [\"done\", \"u8\", [%u], %u]",
         batch, 16 * batch, batch, 4 * batch, batch, 4 * batch, batch, 16 * batch, batch, batch);
  if (prioritized) printf(", [\"weights\", \"f32\", [%u], %u]", batch, 4 * batch);
  printf("], \"memory\": %llu}\n", (unsigned long long)memory);
  serve(run);
  return 0;
}
