// Contains the parts that all limits share: the input and output lines of a process, a clock, random numbers, and equally filled tables.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The number of entries that are drawn, touched and gathered together. Their data fits in the first-level cache.
#define PIECE 256

// The numbers of one item: 32 bytes, so that two items fit in a cache line.
typedef struct {
  double priority;
  uint32_t row, length, count, generation;
  uint32_t stamp, layout;
} Item;

// The info columns of a batch.
typedef struct {
  double *key, *probability, *priority;
  uint32_t *count, *size, *length;
} Info;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t resident(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1) return 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

// The state of the random number generator PCG-XSH-RR.
static uint64_t random_state = 0x853c49e6748fea9bULL;

static inline uint32_t next_random(void) {
  uint64_t old = random_state;
  random_state = old * 6364136223846793005ULL + 1442695040888963407ULL;
  uint32_t xor = (uint32_t)(((old >> 18) ^ old) >> 27), turn = old >> 59;
  return (xor >> turn) | (xor << (-turn & 31));
}

static inline uint32_t below(uint32_t n) { return (uint32_t)(((uint64_t)next_random() * n) >> 32); }

// Returns a number of 53 bits in [0, 1).
static inline double unit(void) {
  uint64_t high = next_random();
  return (double)((high << 21) ^ (next_random() >> 11)) * 0x1p-53;
}

// Allocates memory aligned to cache lines, and maps its pages by writing to them.
static void *taken(size_t bytes) {
  void *at = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (at == NULL) abort();
  memset(at, 0, bytes);
  return at;
}

static Item *items_of(uint32_t n, uint32_t length) {
  Item *items = taken((size_t)n * sizeof(Item));
  for (uint32_t i = 0; i < n; i++) items[i] = (Item){.priority = 0.01 + unit(), .row = i, .length = length, .generation = 1};
  return items;
}

static Info info_of(uint32_t batch) {
  return (Info){taken(8 * batch), taken(8 * batch), taken(8 * batch), taken(4 * batch), taken(4 * batch), taken(4 * batch)};
}

// The sum of the values that the touch loops read, so that no compiler removes the reads.
static volatile uint64_t seen;

// Responds to each n with the nanoseconds of n batches.
static void serve(void (*run)(uint32_t)) {
  char line[64];
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    uint64_t start = now();
    run((uint32_t)strtoul(line, NULL, 10));
    printf("{\"ns\": %llu}\n", (unsigned long long)(now() - start));
    fflush(stdout);
  }
}
