// Measures the limits for wide batches.
//   copies frames touch|prefetch BATCH STEPS: stacks of four frames of 84 × 84, and the next stacks; each frame is stored once
//   copies windows touch|prefetch BATCH STEPS LENGTH: windows of contiguous rows of 64 numbers
#include "variant.h"

#define FRAME (84 * 84)
#define STACK 4
#define WIDTH 64
// The number of prefetched lines of a frame or window. The processor predicts the others.
#define AHEAD 4

// A transition: the frames of a state and of the next state, and the other values.
typedef struct {
  uint32_t frames[STACK], next_frames[STACK];
  int32_t action;
  float reward;
  uint8_t done, rest[7];
} Row;

static uint32_t batch, size, length;
static int prefetch;
static Item *items;
static Row *rows;
static uint8_t *store, *observation, *next;
static float *reward;
static int32_t *action;
static uint8_t *done;
static Info info;
static uint32_t slots[PIECE];

static inline void near(const uint8_t *at, uint64_t *sum) {
  for (int line = 0; line < AHEAD; line++) {
    if (prefetch) __builtin_prefetch(at + 64 * line);
    else *sum += at[64 * line];
  }
}

// Draws the items of a batch, raises their counts, and writes the info columns.
static void draw(uint32_t items_of_table) {
  for (uint32_t i = 0; i < batch; i++) slots[i] = below(items_of_table);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < batch; i++) {
    if (prefetch) __builtin_prefetch(&items[slots[i]], 1);
    else sum += items[slots[i]].row;
  }
  for (uint32_t i = 0; i < batch; i++) {
    Item *item = &items[slots[i]];
    item->count++;
    info.key[i] = item->generation * 2097152.0 + slots[i];
    info.probability[i] = 1.0 / items_of_table;
    info.priority[i] = item->priority;
    info.count[i] = item->count;
    info.size[i] = items_of_table;
    info.length[i] = item->length;
    if (rows == NULL) continue;
    if (prefetch) __builtin_prefetch(&rows[item->row]);
    else sum += rows[item->row].done;
  }
  seen += sum;
}

static void frames(uint32_t n) {
  while (n-- > 0) {
    draw(size);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < batch; i++) near(store + (size_t)FRAME * rows[items[slots[i]].row].frames[0], &sum);
    for (uint32_t i = 0; i < batch; i++) {
      const Row *row = &rows[items[slots[i]].row];
      action[i] = row->action;
      reward[i] = row->reward;
      done[i] = row->done;
      uint8_t *to = observation + (size_t)i * STACK * FRAME, *next_to = next + (size_t)i * STACK * FRAME;
      // Copies in address order, so that a frame in both states is copied twice while it is cached.
      memcpy(to, store + (size_t)FRAME * row->frames[0], FRAME);
      for (int k = 1; k < STACK; k++) {
        memcpy(to + k * FRAME, store + (size_t)FRAME * row->frames[k], FRAME);
        memcpy(next_to + (k - 1) * FRAME, store + (size_t)FRAME * row->next_frames[k - 1], FRAME);
      }
      memcpy(next_to + (STACK - 1) * FRAME, store + (size_t)FRAME * row->next_frames[STACK - 1], FRAME);
    }
    seen += sum;
  }
}

static void windows(uint32_t n) {
  size_t bytes = (size_t)length * WIDTH * sizeof(float);
  while (n-- > 0) {
    draw(size - length + 1);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < batch; i++) near(store + (size_t)items[slots[i]].row * WIDTH * sizeof(float), &sum);
    for (uint32_t i = 0; i < batch; i++) memcpy(observation + i * bytes, store + (size_t)items[slots[i]].row * WIDTH * sizeof(float), bytes);
    seen += sum;
  }
}

int main(int count, char **words) {
  if (count < 5) return 2;
  int wide = strcmp(words[1], "windows") == 0;
  prefetch = strcmp(words[2], "prefetch") == 0;
  batch = (uint32_t)atoi(words[3]);
  size = (uint32_t)atoi(words[4]);
  length = wide && count > 5 ? (uint32_t)atoi(words[5]) : 1;
  if (batch > PIECE) return 2;
  uint64_t before = resident();
  items = items_of(size, length);
  size_t stored = wide ? (size_t)size * WIDTH * sizeof(float) : (size_t)(size + STACK) * FRAME;
  store = taken(stored);
  for (size_t i = 0; i < stored; i += 8) *(uint32_t *)(store + i) = wide ? 0x3f000000 : next_random();
  if (!wide) {
    rows = taken((size_t)size * sizeof(Row));
    for (uint32_t i = 0; i < size; i++) {
      for (uint32_t k = 0; k < STACK; k++) {
        rows[i].frames[k] = i + k;
        rows[i].next_frames[k] = i + k + 1;
      }
      rows[i].reward = 1;
    }
  }
  uint64_t memory = resident() - before;
  info = info_of(batch);
  unsigned bytes = wide ? batch * length * WIDTH * 4 : batch * STACK * FRAME;
  observation = taken(bytes);
  next = taken(wide ? 1 : bytes);
  action = taken(4 * batch);
  reward = taken(4 * batch);
  done = taken(batch);
  if (wide) printf("{\"columns\": [[\"x\", \"f32\", [%u, %u, %u], %u]]", batch, length, WIDTH, bytes);
  else {
    printf("{\"columns\": [[\"observation\", \"u8\", [%u, 4, 84, 84], %u], [\"action\", \"i32\", [%u], %u], [\"reward\", \"f32\", [%u], %u], "
           "[\"nextObservation\", \"u8\", [%u, 4, 84, 84], %u], [\"done\", \"u8\", [%u], %u]]",
           batch, bytes, batch, 4 * batch, batch, 4 * batch, batch, bytes, batch, batch);
  }
  printf(", \"memory\": %llu}\n", (unsigned long long)memory);
  serve(wide ? windows : frames);
  return 0;
}
