/* Runs several Replays at the same time, one per thread. All must have the same results. Built with ThreadSanitizer. */
#include "reprise.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20, STEPS = 64, DRAWS = 32 };

static const char TEXT[] = "leaf observation f32 2\nleaf action i32\nleaf reward f32\ntable t size 40 sampler prioritized 0.5\nrule t nStep 2\nview t transitions gamma 0.9 weights batch\nseed 3";

/* Runs one thread. Returns a checksum of everything that it draws. */
static void *see(void *sum) {
  double *seen = sum;
  for (int round = 0; round < ROUNDS; round++) {
    reprise_replay *replay = reprise_create(TEXT, strlen(TEXT));
    const reprise_batch *packed = reprise_columns(replay, (uint32_t)REPRISE_STEP);
    char step[64] = {0};
    for (float reward = 0; reward < STEPS; reward++) {
      reprise_put(packed, "reward", &reward, sizeof reward, step);
      reprise_append(replay, 0, step, packed->bytes, NULL, NULL);
    }
    int32_t count = reprise_sample(replay, 0, DRAWS, 0.4);
    const float *returns = reprise_find(reprise_columns(replay, 0), "returns")->data;
    for (int32_t i = 0; i < count; i++) *seen += returns[i];
    /* The text of an error belongs to the thread that caused it. */
    if (reprise_sample(replay, 7, 1, 0) != REPRISE_NOT_FOUND || strstr(reprise_error(), "NOT_FOUND: view") == NULL) *seen = -1;
    reprise_free(replay);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  double seen[THREADS] = {0};
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, see, &seen[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 1; i < THREADS; i++)
    if (seen[i] != seen[0]) return 1;
  return seen[0] > 0 ? 0 : 2;
}
