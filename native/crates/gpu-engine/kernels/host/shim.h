// The words of CUDA that the kernels use, for the host: each thread of a block is a fiber, which runs until it waits
// for its warp or its block. So all threads between two barriers run one after another, in an order that tests
// choose: forward, backward or random. A kernel whose result depends on that order lacks a barrier.
//
// Shared memory has a pattern when a block begins. Threads of a warp that do not wait at the same place, and those of a
// block that do not, are a fault, which ends the launch; so is a thread that ended while others wait at a barrier.
// One block runs at a time: what blocks do to each other is not tried in other orders.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned int u32;
typedef int i32;
typedef unsigned char u8;

#define DEVICE inline
#define ONCE inline
#define KERNEL_OF(threads) static void
#define KERNEL static void
#define __global__
#define __device__
#define __forceinline__ inline

struct Dim {
  u32 x = 1, y = 1, z = 1;
};
static Dim threadIdx, blockIdx, blockDim, gridDim;

namespace sim {

enum Order : u32 { FORWARD, BACKWARD, RANDOM };
enum State : u32 { RUNNABLE, AT_WARP, AT_BLOCK, ENDED };
const u32 MOST_THREADS = 1024;
const size_t STACK_BYTES = 64 << 10;
const size_t SHARED_BYTES = 48 << 10;

struct Fiber {
#ifdef __x86_64__
  void* stack_pointer = nullptr;
#else
  ucontext_t context;
#endif
  std::vector<char> stack;
  State state = ENDED;
  u32 site = 0;
  // The turn of the warp's exchanges at which this fiber is: even and odd ones have values of their own, since a fiber
  // can be one exchange ahead of others.
  u32 turn = 0;
};

static std::vector<Fiber> fibers;
static u32 current;
static u64 values[2][MOST_THREADS];
static void (*body)(const void*);
static const void* arguments;
// Set by tests.
static u32 order = FORWARD;
static u64 random_state = 1;
static u64 skipped_hash;
// Told to tests.
static std::string fault;
static std::vector<std::string> sites;
static std::vector<bool> skipped;

#ifdef __x86_64__
static void* scheduler;
extern "C" __attribute__((visibility("hidden"))) void sluice_switch_fiber(void** from, void* to);
asm(R"(
.text
.hidden sluice_switch_fiber
.globl sluice_switch_fiber
sluice_switch_fiber:
 push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15
 mov %rsp, (%rdi)
 mov %rsi, %rsp
 pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp
 ret
)");
static void resume(Fiber& fiber) { sluice_switch_fiber(&scheduler, fiber.stack_pointer); }
static void leave(Fiber& fiber) { sluice_switch_fiber(&fiber.stack_pointer, scheduler); }
#else
static ucontext_t scheduler;
static void resume(Fiber& fiber) { swapcontext(&scheduler, &fiber.context); }
static void leave(Fiber& fiber) { swapcontext(&fiber.context, &scheduler); }
#endif

static void enter() {
  body(arguments);
  fibers[current].state = ENDED;
  leave(fibers[current]);
}

static void prepare(Fiber& fiber) {
  if (fiber.stack.empty()) fiber.stack.resize(STACK_BYTES);
#ifdef __x86_64__
  uintptr_t top = (uintptr_t)(fiber.stack.data() + fiber.stack.size()) & ~(uintptr_t)63;
  void** at = (void**)top;
  *--at = nullptr;
  *--at = (void*)enter;
  at -= 6;
  memset(at, 0, 48);
  fiber.stack_pointer = at;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack = {fiber.stack.data(), 0, fiber.stack.size()};
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, enter, 0);
#endif
  fiber.state = RUNNABLE;
  fiber.turn = 0;
}

static u64 next_random() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

// The order in which `count` threads or warps take their turns.
struct Turns {
  u32 of[MOST_THREADS];
  explicit Turns(u32 count) {
    for (u32 i = 0; i < count; i++) of[i] = order == BACKWARD ? count - 1 - i : i;
    if (order != RANDOM) return;
    for (u32 i = count; i > 1; i--) {
      u32 j = next_random() % i, t = of[i - 1];
      of[i - 1] = of[j];
      of[j] = t;
    }
  }
};

static void wait(State state, u32 site) {
  u32 me = current;
  fibers[me].state = state;
  fibers[me].site = site;
  leave(fibers[me]);
  threadIdx.x = me;
}

// FNV-1a: which place has which number depends on the order of threads and blocks.
static u64 hash_of(const std::string& text) {
  u64 hash = 0xCBF29CE484222325ull;
  for (char c : text) hash = (hash ^ (u8)c) * 0x100000001B3ull;
  return hash;
}

static u32 new_site(const char* file, u32 line, const char* what) {
  const char* name = strrchr(file, '/');
  std::string text = std::string(name ? name + 1 : file) + ":" + std::to_string(line) + " " + what;
  sites.push_back(text);
  skipped.resize(sites.size());
  skipped.back() = hash_of(text) == skipped_hash;
  return sites.size() - 1;
}

static void barrier(u32 site) {
  if (!skipped[site]) wait(AT_BLOCK, site);
}

static void warp_barrier(u32 site) {
  if (!skipped[site]) wait(AT_WARP, site);
}

static void fail(const char* what, u32 thread, u32 other) {
  char text[200];
  snprintf(text, sizeof text, "%s: thread %u at %s (%u), thread %u at %s (%u)", what, thread,
           sites[fibers[thread].site].c_str(), fibers[thread].state, other, sites[fibers[other].site].c_str(),
           fibers[other].state);
  if (fault.empty()) fault = text;
}

// Lets the warp run until all of its threads wait for the block or have ended. False: a fault.
static bool run_warp(u32 first) {
  for (;;) {
    Turns turns(32);
    for (u32 k = 0; k < 32; k++) {
      u32 thread = first + turns.of[k];
      if (fibers[thread].state != RUNNABLE) continue;
      current = thread;
      threadIdx.x = thread;
      resume(fibers[thread]);
    }
    u32 waiting = 0;
    for (u32 t = first; t < first + 32; t++) waiting += fibers[t].state == AT_WARP;
    if (waiting == 0) return true;
    for (u32 t = first; t < first + 32; t++) {
      if (fibers[t].state != AT_WARP || fibers[t].site != fibers[first].site) {
        fail("a warp's threads wait at different places", t, first);
        return false;
      }
    }
    for (u32 t = first; t < first + 32; t++) fibers[t].state = RUNNABLE;
  }
}

static bool run_block(u32 threads) {
  for (u32 t = 0; t < threads; t++) prepare(fibers[t]);
  for (;;) {
    Turns turns(threads / 32);
    for (u32 k = 0; k < threads / 32; k++) {
      if (!run_warp(turns.of[k] * 32)) return false;
    }
    u32 ended = 0;
    for (u32 t = 0; t < threads; t++) ended += fibers[t].state == ENDED;
    if (ended == threads) return true;
    for (u32 t = 0; t < threads; t++) {
      if (fibers[t].state != AT_BLOCK || fibers[t].site != fibers[0].site) {
        fail("a block's threads wait at different barriers", t, 0);
        return false;
      }
    }
    for (u32 t = 0; t < threads; t++) fibers[t].state = RUNNABLE;
  }
}

// Shared memory: one piece for each declaration, in the order in which a block comes to them.
static std::vector<char*> pieces;
alignas(64) static char shared_memory[SHARED_BYTES + 64];
static size_t shared_used;

static int new_piece() {
  pieces.push_back(nullptr);
  return pieces.size() - 1;
}

static void* shared(int piece, size_t bytes) {
  if (pieces[piece] == nullptr) {
    if (shared_used + bytes > SHARED_BYTES) {
      fprintf(stderr, "a kernel uses more than %zu bytes of shared memory\n", SHARED_BYTES);
      abort();
    }
    pieces[piece] = shared_memory + shared_used;
    shared_used += (bytes + 15) / 16 * 16;
#ifdef __SANITIZE_ADDRESS__
    // What lies between two pieces is nobody's.
    __asan_poison_memory_region(pieces[piece] + bytes, (bytes + 15) / 16 * 16 - bytes + 64);
    shared_used += 64;
#endif
  }
  return pieces[piece];
}

// Not through a loop that the sanitizer looks at: the pattern also goes to what lies between pieces.
__attribute__((no_sanitize("address"))) static void fill_shared() {
  for (size_t i = 0; i < SHARED_BYTES; i += 8) *(volatile u64*)(shared_memory + i) = 0xA5A5A5A5A5A5A5A5ull;
}

static void launch(u32 blocks, u32 threads, void (*function)(const void*), const void* with) {
  if (!fault.empty()) return;
  if (threads % 32 || threads > MOST_THREADS) {
    fault = "blocks of whole warps only";
    return;
  }
  if (fibers.size() < threads) fibers.resize(threads);
  if (sites.empty()) sites.push_back("its start");
  gridDim.x = blocks;
  blockDim.x = threads;
  body = function;
  arguments = with;
  for (auto& piece : pieces) piece = nullptr;
  shared_used = 0;
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(shared_memory, sizeof shared_memory);
#endif
  Turns* turns = blocks <= MOST_THREADS ? new Turns(blocks) : nullptr;
  for (u32 b = 0; b < blocks; b++) {
    blockIdx.x = turns ? turns->of[b] : order == BACKWARD ? blocks - 1 - b : b;
    fill_shared();
    if (!run_block(threads)) break;
  }
  delete turns;
}

template <class T>
T exchange(T value, u32 from, u32 site) {
  static_assert(sizeof(T) <= 8, "a number");
  u32 me = current, turn = fibers[me].turn++ % 2;
  memcpy(&values[turn][me], &value, sizeof value);
  wait(AT_WARP, site);
  T other;
  memcpy(&other, &values[turn][from], sizeof other);
  return other;
}

static u32 ballot(bool bit, u32 site) {
  u32 me = current, turn = fibers[me].turn++ % 2, all = 0;
  values[turn][me] = bit;
  wait(AT_WARP, site);
  for (u32 i = 0; i < 32; i++) all |= (u32)values[turn][me / 32 * 32 + i] << i;
  return all;
}

static u32 match_any(u32 value, u32 site) {
  u32 me = current, turn = fibers[me].turn++ % 2, all = 0;
  values[turn][me] = value;
  wait(AT_WARP, site);
  for (u32 i = 0; i < 32; i++) all |= (u32)(values[turn][me / 32 * 32 + i] == value) << i;
  return all;
}

template <class T>
T shuffle_up(T value, u32 distance, u32 site) {
  u32 me = current;
  return exchange(value, me % 32 >= distance ? me - distance : me, site);
}

}  // namespace sim

// The number of a place where threads wait; of each instance of a template there is one.
#define SIM_SITE(what)                                                   \
  ([] {                                                                  \
    static const u32 sim_site = sim::new_site(__FILE__, __LINE__, what); \
    return sim_site;                                                     \
  }())
#define SHARED_ARRAY(type, name, count)              \
  static const int sim_piece_##name = sim::new_piece(); \
  type* const name = (type*)sim::shared(sim_piece_##name, sizeof(type) * (count))
#define SHARED(type, name)                           \
  static const int sim_piece_##name = sim::new_piece(); \
  type& name = *(type*)sim::shared(sim_piece_##name, sizeof(type))
#define BARRIER() sim::barrier(SIM_SITE("barrier"))
#define QUIET_BARRIER() sim::barrier(SIM_SITE("quiet"))
#define QUIET_WARP_BARRIER() sim::warp_barrier(SIM_SITE("quiet"))
#define WARP_BARRIER() sim::warp_barrier(SIM_SITE("warp barrier"))
#define BALLOT(bit) sim::ballot(bit, SIM_SITE("exchange"))
#define MATCH_ANY(value) sim::match_any(value, SIM_SITE("exchange"))
#define SHUFFLE(value, from) sim::exchange(value, sim::current / 32 * 32 + (from), SIM_SITE("exchange"))
#define SHUFFLE_XOR(value, distance) sim::exchange(value, sim::current ^ (distance), SIM_SITE("exchange"))
#define SHUFFLE_UP(value, distance) sim::shuffle_up(value, distance, SIM_SITE("exchange"))

template <class T>
T atomicCAS(T* at, T expected, T value) {
  T old = *at;
  if (old == expected) *at = value;
  return old;
}
template <class T>
T atomicAdd(T* at, T value) {
  T old = *at;
  *at += value;
  return old;
}
template <class T>
T atomicOr(T* at, T value) {
  T old = *at;
  *at |= value;
  return old;
}
template <class T>
T atomicAnd(T* at, T value) {
  T old = *at;
  *at &= value;
  return old;
}
template <class T>
T atomicMin(T* at, T value) {
  T old = *at;
  if (value < old) *at = value;
  return old;
}
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(i64 v) { return v ? __builtin_clzll(v) : 64; }
static inline int __popcll(u64 v) { return __builtin_popcountll(v); }
static inline int __popc(u32 v) { return __builtin_popcount(v); }
static inline int __ffsll(i64 v) { return __builtin_ffsll(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
