// Numbers of a column, and how values are packed (codec/src/bitpack.rs).
#pragma once
#include "block.cuh"

enum Encoding : u32 { CONSTANT = 0, REFERENCE = 1, DELTA = 2, MASK = 3, DICTIONARY = 4, RAW = 5 };

// Values of a whole tile, and the fewest of a rest that has lanes too.
#define PACK_TILE 512u
#define PACK_LANED 64u

DEVICE u64 zigzag(i64 v) { return ((u64)v << 1) ^ (u64)(v >> 63); }
DEVICE u64 unzigzag(u64 v) { return (v >> 1) ^ (0 - (v & 1)); }
DEVICE u32 bits_of(u64 v) { return 64 - __clzll((i64)v); }
DEVICE u32 short_bytes(u64 v) { return (bits_of(v) + 7) / 8; }

// Bytes of so many values (a multiple of 8) in lanes.
DEVICE u32 lane_bytes(u32 values, u32 width) {
  u32 bits = values / 8 * width;
  return (bits / 64 * 8 + (bits % 64 + 7) / 8) * 8;
}

DEVICE u32 packed_bytes(u32 count, u32 width) {
  if (width == 0) return 0;
  if (width == 64) return count * 8;
  u32 rest = count % PACK_TILE, whole = count / PACK_TILE * lane_bytes(PACK_TILE, width);
  return whole + (rest >= PACK_LANED ? lane_bytes((rest + 7) / 8 * 8, width) : (rest * width + 7) / 8);
}

// The run of ones in a mask that begins with its lowest one.
struct BitRun {
  u32 from, length;
  u64 low;  // so many ones
  DEVICE explicit BitRun(u64 mask) {
    from = __ffsll((i64)mask) - 1;
    u64 rest = ~(mask >> from);
    length = rest ? __ffsll((i64)rest) - 1 : 64;
    low = length == 64 ? ~0ull : (1ull << length) - 1;
  }
};

// The bits of a value that lie under a mask, moved together.
DEVICE u64 extract_bits(u64 value, u64 mask) {
  u64 out = 0;
  u32 to = 0;
  while (mask) {
    BitRun run(mask);
    out |= ((value >> run.from) & run.low) << to;
    mask &= ~(run.low << run.from);
    to += run.length;
  }
  return out;
}

// The inverse.
DEVICE u64 deposit_bits(u64 value, u64 mask) {
  u64 out = 0;
  u32 at = 0;
  while (mask) {
    BitRun run(mask);
    out |= ((value >> at) & run.low) << run.from;
    mask &= ~(run.low << run.from);
    at += run.length;
  }
  return out;
}

// Values first, first + step, first + 2 step, … as a string of bits: its 64 bits from bit `low` on. `at` gives the
// values, of which there are `count`; those behind them are 0.
template <class Values>
DEVICE u64 bits_at(const Values& values, u32 first, u32 step, u32 count, u32 end, u32 width, u32 low, u32 room) {
  u64 bits = 0;
  for (u32 k = low / width; k < count && k * width < low + room; k++) {
    u32 i = first + k * step;
    u64 value = i < end ? values.at(i) : 0;
    i32 shift = (i32)(k * width) - (i32)low;
    bits |= shift >= 0 ? value << shift : value >> -shift;
  }
  return bits;
}

// Packs `count` values of 1 to 63 bits: a thread makes a whole word of a lane, or a byte of a short rest, so that no
// two threads write to the same byte.
template <class Values>
__device__ void pack(const Values& values, u32 count, u32 width, u8* out) {
  for (u32 start = 0; start < count; start += PACK_TILE) {
    u32 here = count - start < PACK_TILE ? count - start : PACK_TILE;
    if (here < PACK_LANED) {
      u32 bytes = (here * width + 7) / 8;
      for (u32 b = threadIdx.x; b < bytes; b += THREADS) {
        out[b] = (u8)bits_at(values, start, 1, here, count, width, b * 8, 8);
      }
      return;
    }
    u32 each = (here + 7) / 8, bits = each * width, words = (bits + 63) / 64;
    u32 last = bits % 64 ? (bits % 64 + 7) / 8 : 8;
    for (u32 j = threadIdx.x; j < words * 8; j += THREADS) {
      u32 word = j / 8, in_lane = j % 8, bytes = word + 1 == words ? last : 8;
      u64 value = bits_at(values, start + in_lane, 8, each, count, width, word * 64, 64);
      store_short(out + word * 64 + in_lane * bytes, value, bytes);
    }
    out += lane_bytes(each * 8, width);
  }
}

template <class Values>
__device__ void put_packed(const Values& values, u32 count, u32 width, u8* out) {
  if (width == 64) {
    for (u32 i = threadIdx.x; i < count; i += THREADS) store64(out + i * 8ull, values.at(i));
  } else if (width > 0) {
    pack(values, count, width, out);
  }
}

// Value `i` of `count` packed ones.
__device__ inline u64 packed_value(const u8* packed, u32 count, u32 width, u32 i) {
  if (width == 0) return 0;
  if (width == 64) return load64(packed + i * 8ull);
  u64 mask = (1ull << width) - 1;
  u32 start = i / PACK_TILE * PACK_TILE, here = count - start < PACK_TILE ? count - start : PACK_TILE;
  if (here == PACK_TILE) {
    // A whole tile has `width` words of each lane.
    u32 bit = (i - start) / 8 * width, shift = bit % 64;
    const u8* at = packed + ((u64)start / 64 * width + bit / 64 * 8 + i % 8) * 8;
    u64 value = load64(at) >> shift;
    if (shift + width > 64) value |= load64(at + 64) << (64 - shift);
    return value & mask;
  }
  packed += i / PACK_TILE * lane_bytes(PACK_TILE, width);
  i -= start;
  if (here < PACK_LANED) {
    u32 bit = i * width, all = (here * width + 7) / 8, at = bit / 8, shift = bit % 8;
    u64 low = at + 8 <= all ? load64(packed + at) : load_short(packed + at, all - at);
    u64 value = low >> shift;
    if (shift + width > 64) value |= (u64)packed[at + 8] << (64 - shift);
    return value & mask;
  }
  u32 each = (here + 7) / 8, bits = each * width, words = (bits + 63) / 64;
  u32 last = bits % 64 ? (bits % 64 + 7) / 8 : 8, bit = i / 8 * width, word = bit / 64, shift = bit % 64;
  u64 value = 0;
  for (u32 k = 0; k < 2 && (k == 0 || shift + width > 64); k++) {
    u32 bytes = word + k + 1 == words ? last : 8;
    const u8* at = packed + (word + k) * 64 + i % 8 * bytes;
    u64 part = bytes == 8 ? load64(at) : load_short(at, bytes);
    value |= k == 0 ? part >> shift : part << (64 - shift);
  }
  return value & mask;
}
