/* Checks that creating and freeing a Replay repeatedly leaks nothing, and that calls with a freed Replay are rejected. */
#define _DEFAULT_SOURCE
#include "reprise.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 100, ROUNDS = 2000, LATE = 50 };

static const char TEXT[] = "leaf observation f32 2\nleaf text text 8\ntable t size 4\nrule t length 1\nview t items";

static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "leaks: %s: %s\n", what, reprise_error());
  exit(1);
}

static reprise_replay *used(void) {
  reprise_replay *replay = reprise_create(TEXT, strlen(TEXT));
  char step[64] = {0};
  const reprise_batch *packed = reprise_columns(replay, (uint32_t)REPRISE_STEP);
  check(packed != NULL && packed->bytes <= sizeof step, "step");
  check(reprise_append(replay, 0, step, packed->bytes, NULL, NULL) == 0, "append");
  check(reprise_sample(replay, 0, 2, 0) == 2 && reprise_columns(replay, 0) != NULL, "sample");
  return replay;
}

int main(void) {
  for (int i = 0; i < WARM; i++) check(reprise_free(used()) == 0, "free");
  size_t before = mallinfo2().uordblks;
  reprise_replay *late[LATE];
  for (int i = 0; i < ROUNDS; i++) {
    late[i % LATE] = used();
    check(reprise_free(late[i % LATE]) == 0, "free");
  }
  size_t after = mallinfo2().uordblks;
  check(after <= before, "memory is kept");
  for (int i = 0; i < LATE; i++) check(reprise_sample(late[i], 0, 1, 0) == REPRISE_CLOSED && reprise_free(late[i]) == REPRISE_CLOSED, "a late call");
  return 0;
}
