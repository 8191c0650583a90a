// A sum tree of f64 with four children per family. A whole batch descends level by level, so that its cache misses overlap.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>

#define LEVELS 16
#define LARGEST 256

typedef struct {
  // levels[0] is the family of the root; levels[depth - 1] are the leaves.
  double *levels[LEVELS];
  int depth;
} Tree;

static uint32_t next_random(void);
static double unit(void);
static void *taken(size_t bytes);

static Tree tree_of(uint32_t leaves) {
  Tree tree = {.depth = 1};
  size_t nodes = 4;
  while (nodes < leaves) {
    nodes *= 4;
    tree.depth++;
  }
  nodes = 4;
  for (int level = 0; level < tree.depth; level++, nodes *= 4) tree.levels[level] = taken(nodes * sizeof(double));
  return tree;
}

static inline void tree_set(Tree *tree, uint32_t leaf, double weight) { tree->levels[tree->depth - 1][leaf] = weight; }

static inline double tree_weight(const Tree *tree, uint32_t leaf) { return tree->levels[tree->depth - 1][leaf]; }

static inline double family(const double *children) {
  __m256d all = _mm256_load_pd(children);
  __m128d pairs = _mm_add_pd(_mm256_castpd256_pd128(all), _mm256_extractf128_pd(all, 1));
  return _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)));
}

static inline double tree_total(const Tree *tree) { return family(tree->levels[0]); }

static void tree_fill(Tree *tree) {
  for (int level = tree->depth - 1; level > 0; level--) {
    size_t parents = (size_t)1 << (2 * level);
    for (size_t i = 0; i < parents; i++) tree->levels[level - 1][i] = family(tree->levels[level] + 4 * i);
  }
}

// Returns the offset of each child's share in that of its family: 0, a, a + b, a + b + c.
static inline __m256d starts(__m256d all) {
  __m256d zero = _mm256_setzero_pd();
  // 0 a b c
  __m256d shifted = _mm256_blend_pd(_mm256_permute4x64_pd(all, _MM_SHUFFLE(2, 1, 0, 0)), zero, 1);
  // 0 a a+b b+c
  __m256d pairs = _mm256_add_pd(shifted, _mm256_blend_pd(_mm256_permute4x64_pd(shifted, _MM_SHUFFLE(2, 1, 0, 0)), zero, 1));
  return _mm256_add_pd(pairs, _mm256_blend_pd(_mm256_permute4x64_pd(pairs, _MM_SHUFFLE(1, 0, 0, 0)), zero, 3));
}

static void tree_draw(const Tree *tree, uint32_t *slots, uint32_t n) {
  double rests[LARGEST], total = tree_total(tree);
  for (uint32_t i = 0; i < n; i++) {
    slots[i] = 0;
    rests[i] = unit() * total;
  }
  for (int level = 0; level < tree->depth; level++) {
    for (uint32_t i = 0; i < n; i++) {
      __m256d all = _mm256_load_pd(tree->levels[level] + 4 * (size_t)slots[i]);
      __m256d begin = starts(all);
      // Selects the last child whose share begins at or before the rest, so that rounding never leads to an empty child.
      __m256d fits = _mm256_and_pd(_mm256_cmp_pd(begin, _mm256_set1_pd(rests[i]), _CMP_LE_OQ), _mm256_cmp_pd(all, _mm256_setzero_pd(), _CMP_GT_OQ));
      uint32_t child = 31 - (uint32_t)__builtin_clz((uint32_t)_mm256_movemask_pd(fits) | 1);
      double spilled[4] __attribute__((aligned(32)));
      _mm256_store_pd(spilled, begin);
      rests[i] -= spilled[child];
      slots[i] = 4 * slots[i] + child;
    }
  }
}

// Sets new weights of leaves. Parents are recomputed from their children, level by level.
static void tree_update(Tree *tree, const uint32_t *leaves, const double *weights, uint32_t n) {
  uint32_t nodes[LARGEST];
  for (uint32_t i = 0; i < n; i++) {
    tree_set(tree, leaves[i], weights[i]);
    nodes[i] = leaves[i] >> 2;
  }
  for (int level = tree->depth - 1; level > 0; level--) {
    for (uint32_t i = 0; i < n; i++) {
      tree->levels[level - 1][nodes[i]] = family(tree->levels[level] + 4 * (size_t)nodes[i]);
      nodes[i] >>= 2;
    }
  }
}
#endif
