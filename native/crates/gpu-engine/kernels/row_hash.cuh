// Spark's row checksums: XXH64 with seed 0 of each row, a thread a row; of each frame's rows their XOR and their sum
// (engine/src/row_checksums.rs).
#pragma once
#include "job.cuh"

#define XXH_PRIME_1 0x9E3779B185EBCA87ull
#define XXH_PRIME_2 0xC2B2AE3D27D4EB4Full
#define XXH_PRIME_3 0x165667B19E3779F9ull
#define XXH_PRIME_4 0x85EBCA77C2B2AE63ull
#define XXH_PRIME_5 0x27D4EB2F165667C5ull

DEVICE u64 rotate(u64 v, u32 by) { return v << by | v >> (64 - by); }
DEVICE u64 xxh_round(u64 sum, u64 input) { return rotate(sum + input * XXH_PRIME_2, 31) * XXH_PRIME_1; }
DEVICE u64 xxh_merge(u64 hash, u64 sum) { return (hash ^ xxh_round(0, sum)) * XXH_PRIME_1 + XXH_PRIME_4; }

ONCE u64 xxh64(const u8* bytes, u32 length) {
  u32 at = 0;
  u64 hash = XXH_PRIME_5;
  if (length >= 32) {
    u64 a = XXH_PRIME_1 + XXH_PRIME_2, b = XXH_PRIME_2, c = 0, d = 0 - XXH_PRIME_1;
    for (; at + 32 <= length; at += 32) {
      a = xxh_round(a, load64(bytes + at));
      b = xxh_round(b, load64(bytes + at + 8));
      c = xxh_round(c, load64(bytes + at + 16));
      d = xxh_round(d, load64(bytes + at + 24));
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    hash = xxh_merge(xxh_merge(xxh_merge(xxh_merge(hash, a), b), c), d);
  }
  hash += length;
  for (; at + 8 <= length; at += 8) {
    hash = rotate(hash ^ xxh_round(0, load64(bytes + at)), 27) * XXH_PRIME_1 + XXH_PRIME_4;
  }
  if (at + 4 <= length) {
    hash = rotate(hash ^ load_short(bytes + at, 4) * XXH_PRIME_1, 23) * XXH_PRIME_2 + XXH_PRIME_3;
    at += 4;
  }
  for (; at < length; at++) hash = rotate(hash ^ bytes[at] * XXH_PRIME_5, 11) * XXH_PRIME_1;
  hash = (hash ^ hash >> 33) * XXH_PRIME_2;
  hash = (hash ^ hash >> 29) * XXH_PRIME_3;
  return hash ^ hash >> 32;
}

KERNEL hash_rows(EncodeJob job) {
  for (u32 f = blockIdx.x; f < job.summary->frames; f += gridDim.x) {
    Frame frame = job.frames[f];
    u64 all_xor = 0, all_sum = 0;
    for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
      u32 row = frame.first + i;
      u64 hash = xxh64(job.rows + job.sorted_at[row], (u32)(job.prefix[row + 1] - job.prefix[row]));
      all_xor ^= hash;
      all_sum += hash;
    }
    all_xor = block_all(all_xor, Xor());
    all_sum = block_all(all_sum, Sum());
    if (threadIdx.x == 0) {
      job.frames[f].hash_xor = all_xor;
      job.frames[f].hash_sum = all_sum;
    }
  }
}
