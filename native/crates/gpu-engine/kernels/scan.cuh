// Prefix sums over any number of values, in three launches: sums of tiles, prefix sums of those by one block, and the
// tiles' own with what is before them.
#pragma once
#include "block.cuh"

#define SCAN_EACH 8
#define SCAN_TILE (THREADS * SCAN_EACH)

KERNEL scan_tiles(const u64* values, u64 count, u64* sums) {
  u64 tile = (u64)blockIdx.x * SCAN_TILE, sum = 0;
  for (u32 k = 0; k < SCAN_EACH; k++) {
    u64 i = tile + k * THREADS + threadIdx.x;
    if (i < count) sum += values[i];
  }
  sum = block_all(sum, Sum());
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

KERNEL scan_sums(u64* sums, u64 count) {
  u64 before = 0;
  for (u64 start = 0; start < count; start += THREADS) {
    u64 i = start + threadIdx.x, total;
    u64 sum = block_scan(i < count ? sums[i] : 0, total);
    if (i < count) sums[i] = before + sum;
    before += total;
  }
}

// Each value becomes the sum of those before it.
KERNEL scan_apply(u64* values, u64 count, const u64* sums) {
  u64 tile = (u64)blockIdx.x * SCAN_TILE, before = sums[blockIdx.x];
  for (u32 k = 0; k < SCAN_EACH; k++) {
    u64 i = tile + k * THREADS + threadIdx.x, total;
    u64 sum = block_scan(i < count ? values[i] : 0, total);
    if (i < count) values[i] = before + sum;
    before += total;
  }
}
