/* Tests faults from the view of a host: a fault in the core and a lack of address space cause different texts, and the host keeps its signal handlers. */
#define _DEFAULT_SOURCE
#include "reprise.c"

#include <signal.h>
#include <sys/resource.h>

static const char TEXT[] = "leaf a f32\ntable t size 9\nrule t length 1\nview t items";

static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "faults: %s: %s\n", what, reprise_error());
  exit(1);
}

static void of_the_host(int signal) { (void)signal; }

int main(void) {
  static const int FAULTS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction mine = {.sa_handler = of_the_host}, now;
  for (int i = 0; i < 4; i++) sigaction(FAULTS[i], &mine, NULL);

  reprise_replay *replay = reprise_create(TEXT, strlen(TEXT)), *other = reprise_create(TEXT, strlen(TEXT));
  float steps[4] = {1};
  check(reprise_append(replay, 0, steps, sizeof steps, NULL, NULL) == 0 && reprise_append(other, 0, steps, sizeof steps, NULL, NULL) == 0, "append");
  /* Simulates a core that reads beyond its memory. */
  replay->core.w2c_memory.size = 4096;
  check(reprise_sample(replay, 0, 1, 0) == REPRISE_CORRUPT && strncmp(reprise_error(), "CORRUPT: the core trapped", 25) == 0, "a trap is a text");
  check(reprise_sample(replay, 0, 1, 0) == REPRISE_CLOSED, "what trapped is closed");
  check(reprise_sample(other, 0, 1, 0) == 1, "another Replay goes on");
  check(reprise_free(other) == 0 && reprise_free(other) == REPRISE_CLOSED && reprise_free(NULL) == REPRISE_INVALID, "free");

  struct rlimit little = {(rlim_t)1 << 31, (rlim_t)1 << 31};
  setrlimit(RLIMIT_AS, &little);
  check(reprise_create(TEXT, strlen(TEXT)) == NULL && strncmp(reprise_error(), "OUT_OF_MEMORY: a Replay needs 4 GiB of address space", 52) == 0, "no address space is a text");

  for (int i = 0; i < 4; i++) {
    sigaction(FAULTS[i], NULL, &now);
    check(now.sa_handler == of_the_host, "a handler stays");
  }
  return 0;
}
