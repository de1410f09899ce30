// What the threads of a block do together: reductions, prefix sums, copies of bytes at any address.
#pragma once
#include "platform.cuh"

struct Sum {
  template <class T>
  DEVICE T operator()(T a, T b) const { return a + b; }
};
struct Largest {
  template <class T>
  DEVICE T operator()(T a, T b) const { return a < b ? b : a; }
};
struct Smallest {
  template <class T>
  DEVICE T operator()(T a, T b) const { return b < a ? b : a; }
};
struct AnyBits {
  template <class T>
  DEVICE T operator()(T a, T b) const { return a | b; }
};
struct Xor {
  template <class T>
  DEVICE T operator()(T a, T b) const { return a ^ b; }
};

// What the threads of a warp have together; all of them come here.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
DEVICE u64 warp_any(u64 value) {
  u64 high = __reduce_or_sync(0xffffffffu, (u32)(value >> 32));
  return high << 32 | __reduce_or_sync(0xffffffffu, (u32)value);
}
// The high halves first; then the low ones of those whose high half it is.
DEVICE i64 warp_least(i64 value) {
  i32 mine = (i32)(value >> 32), high = __reduce_min_sync(0xffffffffu, mine);
  u32 low = __reduce_min_sync(0xffffffffu, mine == high ? (u32)value : ~0u);
  return (i64)((u64)(u32)high << 32 | low);
}
DEVICE i64 warp_most(i64 value) {
  i32 mine = (i32)(value >> 32), high = __reduce_max_sync(0xffffffffu, mine);
  u32 low = __reduce_max_sync(0xffffffffu, mine == high ? (u32)value : 0u);
  return (i64)((u64)(u32)high << 32 | low);
}
#else
template <class T, class Join>
DEVICE T warp_all(T value, Join join) {
  for (u32 distance = 16; distance; distance >>= 1) value = join(value, SHUFFLE_XOR(value, distance));
  return value;
}
DEVICE u64 warp_any(u64 value) { return warp_all(value, AnyBits()); }
DEVICE i64 warp_least(i64 value) { return warp_all(value, Smallest()); }
DEVICE i64 warp_most(i64 value) { return warp_all(value, Largest()); }
#endif

// All threads get what `join` makes of all threads' values.
template <class T, class Join>
__device__ T block_all(T value, Join join) {
  SHARED_ARRAY(T, part, WARPS);
  for (u32 distance = 16; distance; distance >>= 1) value = join(value, SHUFFLE_XOR(value, distance));
  if (lane() == 0) part[warp()] = value;
  BARRIER();
  T all = part[0];
  for (u32 w = 1; w < WARPS; w++) all = join(all, part[w]);
  BARRIER();
  return all;
}

// The sum of the values of the threads before this one; `total` is that of all.
template <class T>
__device__ T block_scan(T value, T& total) {
  SHARED_ARRAY(T, part, WARPS);
  T sum = value;
  for (u32 distance = 1; distance < 32; distance <<= 1) {
    T before = SHUFFLE_UP(sum, distance);
    if (lane() >= distance) sum += before;
  }
  if (lane() == 31) part[warp()] = sum;
  BARRIER();
  T before = 0;
  total = 0;
  for (u32 w = 0; w < WARPS; w++) {
    if (w == warp()) before = total;
    total += part[w];
  }
  BARRIER();
  return before + sum - value;
}

// The 8 bytes at any address. It reads whole aligned words with at least one byte of these: buffers begin and end at
// multiples of 8.
DEVICE u64 load64(const u8* at) {
  u32 off = (u32)((u64)at % 8);
  const u64* words = (const u64*)(at - off);
  u64 low = words[0];
  return off == 0 ? low : low >> (8 * off) | words[1] << (64 - 8 * off);
}

// The first `bytes` (1 to 7) of them.
DEVICE u64 load_short(const u8* at, u32 bytes) {
  u64 value = 0;
  for (u32 b = 0; b < bytes; b++) value |= (u64)at[b] << (8 * b);
  return value;
}

DEVICE void store64(u8* at, u64 value) {
  if ((u64)at % 8 == 0) {
    *(u64*)at = value;
  } else {
    for (u32 b = 0; b < 8; b++) at[b] = (u8)(value >> (8 * b));
  }
}

DEVICE void store_short(u8* at, u64 value, u32 bytes) {
  if (bytes == 8) {
    store64(at, value);
  } else {
    for (u32 b = 0; b < bytes; b++) at[b] = (u8)(value >> (8 * b));
  }
}

// Copies bytes with `threads` threads, of which this is number `me`: whole aligned words of the target, and its ends.
ONCE void copy_bytes(u8* target, const u8* source, u64 bytes, u32 me, u32 threads) {
  u64 head = (8 - (u64)target % 8) % 8;
  if (head > bytes) head = bytes;
  u64 words = (bytes - head) / 8, tail = head + words * 8;
  for (u64 i = me; i < head; i += threads) target[i] = source[i];
  for (u64 i = me; i < words; i += threads) *(u64*)(target + head + i * 8) = load64(source + head + i * 8);
  for (u64 i = tail + me; i < bytes; i += threads) target[i] = source[i];
}
DEVICE void warp_copy(u8* target, const u8* source, u64 bytes) { copy_bytes(target, source, bytes, lane(), 32); }
DEVICE void block_copy(u8* target, const u8* source, u64 bytes) {
  copy_bytes(target, source, bytes, threadIdx.x, THREADS);
}
