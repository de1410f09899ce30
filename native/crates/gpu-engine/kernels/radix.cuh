// The stable radix sort of keys with references, low digits first: 8 bits a pass of three steps. Each block counts the
// digits of its tile; prefix sums over (digit, block) say where each block's keys of a digit begin; then each block
// ranks its keys and writes them there. A rank comes from ballots of a warp, and the warps of a block have their parts
// of the tile in order, so that equal keys keep their order.
#pragma once
#include "block.cuh"

#define RADIX_DIGITS 256
#define RADIX_EACH 16
#define RADIX_WARP (32 * RADIX_EACH)
#define RADIX_TILE (THREADS * RADIX_EACH)

// How many keys of each digit the warps of a block have.
typedef u32 WarpCounts[WARPS][RADIX_DIGITS];

// The lanes whose key has this lane's digit; those without a key have none.
DEVICE u32 lanes_alike(u32 digit, bool there) {
  u32 alike = BALLOT(there);
  for (u32 bit = 0; bit < 8; bit++) {
    bool one = digit >> bit & 1;
    u32 ones = BALLOT(one);
    alike &= one ? ones : ~ones;
  }
  return alike;
}

template <class Key>
__device__ void radix_count(const Key* keys, u64 count, u32 shift, u64* counts) {
  SHARED_ARRAY(u32, found, RADIX_DIGITS);
  found[threadIdx.x] = 0;
  BARRIER();
  u64 tile = (u64)blockIdx.x * RADIX_TILE;
  for (u32 k = 0; k < RADIX_EACH; k++) {
    u64 i = tile + k * THREADS + threadIdx.x;
    if (i < count) atomicAdd(&found[(u32)(keys[i] >> shift) & 255], 1u);
  }
  BARRIER();
  counts[(u64)threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// `places`: the prefix sums of the counts. The tile is put into order in shared memory first, so that neighbouring
// threads write to neighbouring places.
template <class Key>
__device__ void radix_scatter(const Key* keys, const u32* references, u64 count, u32 shift, const u64* places,
                              Key* keys_out, u32* references_out) {
  SHARED(WarpCounts, counts);
  SHARED_ARRAY(Key, sorted, RADIX_TILE);
  SHARED_ARRAY(u64, targets, RADIX_DIGITS);
  u64 tile = (u64)blockIdx.x * RADIX_TILE, start = tile + warp() * RADIX_WARP;
  u32 here = count - tile < RADIX_TILE ? (u32)(count - tile) : RADIX_TILE;
  Key key[RADIX_EACH];
  u32 rank[RADIX_EACH], to[RADIX_EACH];
  for (u32 d = lane(); d < RADIX_DIGITS; d += 32) counts[warp()][d] = 0;
  for (u32 k = 0; k < RADIX_EACH; k++) {
    u64 i = start + k * 32 + lane();
    key[k] = i < count ? keys[i] : 0;
  }
  QUIET_WARP_BARRIER();
  // Each key's number among the warp's of its digit.
  for (u32 k = 0; k < RADIX_EACH; k++) {
    bool there = start + k * 32 + lane() < count;
    u32 digit = (u32)(key[k] >> shift) & 255, alike = lanes_alike(digit, there);
    rank[k] = counts[warp()][digit] + __popc(alike & ((1u << lane()) - 1));
    // All lanes have read the count before the last of those that are alike raises it.
    WARP_BARRIER();
    if (there && alike >> lane() == 1) counts[warp()][digit] += __popc(alike);
    QUIET_WARP_BARRIER();
  }
  BARRIER();
  // From counts to where each warp's keys of the digit begin in the tile.
  u32 before = 0, total;
  for (u32 w = 0; w < WARPS; w++) {
    u32 count_here = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = before;
    before += count_here;
  }
  u32 begin = block_scan(before, total);
  for (u32 w = 0; w < WARPS; w++) counts[w][threadIdx.x] += begin;
  targets[threadIdx.x] = places[(u64)threadIdx.x * gridDim.x + blockIdx.x] - begin;
  BARRIER();
  for (u32 k = 0; k < RADIX_EACH; k++) {
    rank[k] += counts[warp()][(u32)(key[k] >> shift) & 255];
    if (start + k * 32 + lane() < count) sorted[rank[k]] = key[k];
  }
  BARRIER();
  for (u32 k = 0; k < RADIX_EACH; k++) {
    u32 at = k * THREADS + threadIdx.x;
    if (at >= here) continue;
    to[k] = (u32)(targets[(u32)(sorted[at] >> shift) & 255] + at);
    keys_out[to[k]] = sorted[at];
  }
  BARRIER();
  u32* sorted_references = (u32*)sorted;
  for (u32 k = 0; k < RADIX_EACH; k++) {
    u64 i = start + k * 32 + lane();
    if (i < count) sorted_references[rank[k]] = references[i];
  }
  BARRIER();
  for (u32 k = 0; k < RADIX_EACH; k++) {
    u32 at = k * THREADS + threadIdx.x;
    if (at < here) references_out[to[k]] = sorted_references[at];
  }
}

KERNEL radix_count_u32(const u32* keys, u64 count, u32 shift, u64* counts) { radix_count(keys, count, shift, counts); }
KERNEL radix_count_u64(const u64* keys, u64 count, u32 shift, u64* counts) { radix_count(keys, count, shift, counts); }
KERNEL radix_scatter_u32(const u32* keys, const u32* references, u64 count, u32 shift, const u64* places,
                         u32* keys_out, u32* references_out) {
  radix_scatter(keys, references, count, shift, places, keys_out, references_out);
}
KERNEL radix_scatter_u64(const u64* keys, const u32* references, u64 count, u32 shift, const u64* places,
                         u64* keys_out, u32* references_out) {
  radix_scatter(keys, references, count, shift, places, keys_out, references_out);
}

// Takes pairs of (number, reference) apart. `bits` has what the numbers have in common: bits[0] becomes the bits set in
// any of them, bits[1] those set in all (it begins as ~0). A digit that all have in common needs no pass.
KERNEL sort_split(const u64* pairs, u64 count, u64* keys, u32* references, u64* bits) {
  u64 any = 0, all = ~0ull;
  for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
    u64 key = pairs[2 * i];
    keys[i] = key;
    references[i] = (u32)i;
    any |= key;
    all &= key;
  }
  any = block_all(any, AnyBits());
  all = ~block_all(~all, AnyBits());
  if (threadIdx.x == 0) {
    atomicOr(&bits[0], any);
    atomicAnd(&bits[1], all);
  }
}

KERNEL sort_join(const u64* pairs, u64 count, const u32* references, u64* sorted) {
  for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += (u64)gridDim.x * THREADS) {
    u64 from = references[i];
    sorted[2 * i] = pairs[2 * from];
    sorted[2 * i + 1] = pairs[2 * from + 1];
  }
}
