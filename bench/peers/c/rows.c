// The limit for batches of transitions: draw an item, raise its count, follow it to its row, write what a batch tells of it, copy five leaves.
// rows touch|prefetch BATCH STEPS: uniform. rows avx2 BATCH STEPS: a prioritized cycle.
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

// Brings the items of a piece near, then their rows. WebAssembly has loads only, which wait where a prefetch does not.
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

// Draws with weights, then gives what was drawn new priorities by its keys.
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
#endif

int main(int count, char **words) {
  if (count != 4) return 2;
  batch = (uint32_t)atoi(words[2]);
  size = (uint32_t)atoi(words[3]);
  prefetch = strcmp(words[1], "prefetch") == 0;
  int prioritized = strcmp(words[1], "avx2") == 0;
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
  printf("{\"columns\": [[\"observation\", \"f32\", [%u, 4], %u], [\"action\", \"i32\", [%u], %u], [\"reward\", \"f32\", [%u], %u], "
         "[\"nextObservation\", \"f32\", [%u, 4], %u], [\"done\", \"u8\", [%u], %u]",
         batch, 16 * batch, batch, 4 * batch, batch, 4 * batch, batch, 16 * batch, batch, batch);
  if (prioritized) printf(", [\"weights\", \"f32\", [%u], %u]", batch, 4 * batch);
  printf("], \"memory\": %llu}\n", (unsigned long long)memory);
  serve(run);
  return 0;
}
