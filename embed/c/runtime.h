/* Implements the runtime for wasm2c's output: a memory, and the exit from a trap. The runtime of wabt installs a signal handler, shares the exit in the whole
 * process, and ends the process if memory is short. A library inside a game must do none of these. */
#include <setjmp.h>
#include <stddef.h>

/* Every access is checked against the memory's size: no guard pages, no SIGSEGV. The core has no recursion, so its stack is not counted. */
#define WASM_RT_MEMCHECK_SIGNAL_HANDLER 0
#define WASM_RT_USE_STACK_DEPTH_COUNT 0
/* The names are changed, because another wasm2c module may be linked into the same program. */
#define wasm_rt_trap reprise_rt_trap
#define wasm_rt_register_func_type reprise_rt_register_func_type
#define wasm_rt_is_initialized reprise_rt_is_initialized
#define wasm_rt_allocate_memory reprise_rt_allocate_memory
#define wasm_rt_grow_memory reprise_rt_grow_memory
#define wasm_rt_free_memory reprise_rt_free_memory
#include "wasm-rt.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a batch is handed out as it lies in memory, little endian: this processor has it the other way round"
#endif

#define PAGE 65536u
/* The size of 4 GiB would be 0 in 32 bits, so the core requests one page less. */
#define MAX_PAGES 65535u

/* On 64-bit systems, the whole address space of a memory is reserved, and committed as the memory grows, so nothing moves. Define REPRISE_MOVES for systems
 * that do not support this. */
#if !defined(REPRISE_MOVES) && (UINTPTR_MAX <= 0xffffffffu || !(defined(__unix__) || defined(__APPLE__)))
#define REPRISE_MOVES
#endif

#ifdef REPRISE_MOVES
static uint8_t *reserve(void) { return calloc(PAGE, 1); }

static uint8_t *reach(uint8_t *data, size_t from, size_t to) {
  uint8_t *moved = realloc(data, to);
  if (moved != NULL) memset(moved + from, 0, to - from);
  return moved;
}

static void give_back(uint8_t *data) { free(data); }
#else
#include <sys/mman.h>

#define RESERVED ((size_t)PAGE * (MAX_PAGES + 1))

static uint8_t *reach(uint8_t *data, size_t from, size_t to) {
  return mprotect(data + from, to - from, PROT_READ | PROT_WRITE) == 0 ? data : NULL;
}

static uint8_t *reserve(void) {
  void *data = mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (data == MAP_FAILED) return NULL;
  if (reach(data, 0, PAGE) != NULL) return data;
  munmap(data, RESERVED);
  return NULL;
}

static void give_back(uint8_t *data) {
  if (data != NULL) munmap(data, RESERVED);
}
#endif

/* The current call of this thread, and the reason why it ended. */
static _Thread_local jmp_buf *way_out;
static _Thread_local wasm_rt_trap_t why;

WASM_RT_NO_RETURN void wasm_rt_trap(wasm_rt_trap_t trap) {
  why = trap;
  longjmp(*way_out, 1);
}

uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint32_t more) {
  uint32_t pages = memory->pages;
  if (more > memory->max_pages - pages) return UINT32_MAX;
  if (more == 0) return pages;
  uint8_t *data = reach(memory->data, (size_t)memory->size, (size_t)(pages + more) * PAGE);
  if (data == NULL) return UINT32_MAX;
  memory->data = data;
  memory->pages = pages + more;
  memory->size = memory->pages * PAGE;
  return pages;
}

/* If there is no memory, the size is 0, and the next access traps. */
void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint32_t pages, uint32_t max_pages) {
  memory->data = reserve();
  memory->pages = memory->data == NULL ? 0 : 1;
  memory->size = memory->pages * PAGE;
  memory->max_pages = max_pages < MAX_PAGES ? max_pages : MAX_PAGES;
  if (memory->data != NULL) wasm_rt_grow_memory(memory, pages - 1);
}

void wasm_rt_free_memory(wasm_rt_memory_t *memory) {
  give_back(memory->data);
  memory->data = NULL;
}

bool wasm_rt_is_initialized(void) { return true; }

/* Types are checked only by calls through a table, and the core has no table. */
uint32_t wasm_rt_register_func_type(uint32_t params, uint32_t results, ...) {
  (void)params;
  (void)results;
  return 0;
}
