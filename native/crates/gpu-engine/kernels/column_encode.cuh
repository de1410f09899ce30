// A column in the smallest of six encodings, by one block: the choices and bytes of codec/src/column.rs.
#pragma once
#include "bits.cuh"

// Fewer values never pay for a dictionary.
#define FEWEST_DICTIONARY_VALUES 32u
#define DICTIONARY_SAMPLE 64u
#define MOST_DICTIONARY 256u
#define DICTIONARY_SLOTS 1024u
// Stands for an empty slot; as a value it is counted apart.
#define EMPTY_SLOT 0x9E3779B97F4A7C15ull

struct Statistics {
  i64 least, most, least_delta, most_delta;
  u64 all, any;
};

DEVICE Statistics join(const Statistics& a, const Statistics& b) {
  return {b.least < a.least ? b.least : a.least,
          a.most < b.most ? b.most : a.most,
          b.least_delta < a.least_delta ? b.least_delta : a.least_delta,
          a.most_delta < b.most_delta ? b.most_delta : a.most_delta,
          a.all & b.all,
          a.any | b.any};
}

// What the threads of a warp have, joined.
DEVICE Statistics warp_join(const Statistics& s) {
  return {warp_least(s.least), warp_most(s.most), warp_least(s.least_delta), warp_most(s.most_delta),
          ~warp_any(~s.all), warp_any(s.any)};
}

ONCE Statistics statistics_of(const u64* values, u32 count) {
  SHARED_ARRAY(Statistics, part, WARPS);
  i64 first_delta = count > 1 ? (i64)(values[1] - values[0]) : 0;
  Statistics s = {(i64)values[0], (i64)values[0], first_delta, first_delta, values[0], values[0]};
  for (u32 i = threadIdx.x; i < count; i += THREADS) {
    u64 value = values[i];
    i64 delta = i ? (i64)(value - values[i - 1]) : first_delta;
    s = join(s, {(i64)value, (i64)value, delta, delta, value, value});
  }
  s = warp_join(s);
  if (lane() == 0) part[warp()] = s;
  BARRIER();
  s = warp_join(part[lane() % WARPS]);
  BARRIER();
  return s;
}

// `best`: bytes of the best of reference, delta and mask, though raw may be shorter; `narrow`: the fewest bits a value.
struct Choice {
  u32 encoding, width, bytes, best, narrow;
};

DEVICE Choice choose(const Statistics& s, u64 first, u32 count) {
  if (s.least == s.most) return {CONSTANT, 0, 1 + short_bytes(s.any), 0, 0};
  u32 reference_width = bits_of((u64)s.most - (u64)s.least);
  u32 delta_width = bits_of((u64)s.most_delta - (u64)s.least_delta);
  u32 mask_width = __popcll(s.any & ~s.all);
  u32 reference = packed_bytes(count, reference_width) + 2 + short_bytes(zigzag(s.least));
  u32 delta = packed_bytes(count - 1, delta_width) + 3 + short_bytes(zigzag(s.least_delta)) +
              short_bytes(zigzag((i64)first));
  u32 mask = packed_bytes(count, mask_width) + 9 + short_bytes(s.all);
  u32 best = reference < delta ? reference : delta;
  best = mask < best ? mask : best;
  u32 narrow = reference_width < delta_width ? reference_width : delta_width;
  narrow = mask_width < narrow ? mask_width : narrow;
  if (best >= count * 8) return {RAW, 64, count * 8 + 1, best, narrow};
  if (best == reference) return {REFERENCE, reference_width, best, best, narrow};
  if (best == delta) return {DELTA, delta_width, best, best, narrow};
  return {MASK, mask_width, best, best, narrow};
}

// What of a column is packed.
struct Packed {
  const u64* values;
  u32 encoding;
  u64 base;  // reference: the least value; delta: the least difference; mask: the mask
  DEVICE u64 at(u32 i) const {
    if (encoding == REFERENCE) return values[i] - base;
    if (encoding == DELTA) return values[i + 1] - values[i] - base;
    if (encoding == MASK) return extract_bits(values[i], base);
    return values[i];
  }
};

struct Indexes {
  const u64 *values, *sorted;
  u32 count;
  DEVICE u64 at(u32 i) const {
    u32 low = 0, high = count;
    while (high - low > 1) {
      u32 middle = (low + high) / 2;
      if ((i64)sorted[middle] <= (i64)values[i]) low = middle; else high = middle;
    }
    return low;
  }
};

// Puts a column in the chosen encoding; how many bytes that is.
ONCE u32 put_column(const u64* values, u32 count, const Statistics& s, const Choice& c, u8* out) {
  u64 head = c.encoding == CONSTANT    ? s.any
             : c.encoding == REFERENCE ? zigzag(s.least)
             : c.encoding == DELTA     ? zigzag(s.least_delta)
             : c.encoding == MASK      ? s.all
                                       : 0;
  u32 head_bytes = short_bytes(head), at = 1 + head_bytes;
  u64 first = zigzag((i64)values[0]), mask = s.any & ~s.all;
  u32 first_bytes = short_bytes(first);
  if (threadIdx.x == 0) {
    out[0] = (u8)(c.encoding | head_bytes << 4);
    store_short(out + 1, head, head_bytes);
    if (c.encoding == REFERENCE) out[at] = (u8)c.width;
    if (c.encoding == DELTA) {
      out[at] = (u8)first_bytes;
      store_short(out + at + 1, first, first_bytes);
      out[at + 1 + first_bytes] = (u8)c.width;
    }
    if (c.encoding == MASK) store_short(out + at, mask, 8);
  }
  if (c.encoding == CONSTANT) return at;
  at += c.encoding == REFERENCE ? 1 : c.encoding == DELTA ? 2 + first_bytes : c.encoding == MASK ? 8 : 0;
  u64 base = c.encoding == REFERENCE ? (u64)s.least : c.encoding == DELTA ? (u64)s.least_delta : mask;
  u32 packed = c.encoding == DELTA ? count - 1 : count;
  put_packed(Packed{values, c.encoding, base}, packed, c.width, out + at);
  return at + packed_bytes(packed, c.width);
}

// The distinct values of a column, while there are few.
struct Dictionary {
  u64 keys[DICTIONARY_SLOTS];
  u64 list[MOST_DICTIONARY], sorted[MOST_DICTIONARY];
  u32 count, empties;
};

DEVICE void insert(Dictionary& d, u64 value) {
  if (value == EMPTY_SLOT) {
    if (atomicAdd(&d.empties, 1u) == 0) atomicAdd(&d.count, 1u);
    return;
  }
  u32 at = (u32)((value * 0x9E3779B97F4A7C15ull) >> 54);
  // At most 512 slots are taken, see `distinct`.
  for (u32 tries = 0; tries < DICTIONARY_SLOTS; tries++) {
    u64 old = atomicCAS(&d.keys[at], (u64)EMPTY_SLOT, value);
    if (old == EMPTY_SLOT) atomicAdd(&d.count, 1u);
    if (old == EMPTY_SLOT || old == value) return;
    at = (at + 1) % DICTIONARY_SLOTS;
  }
}

// How many of the sample may differ.
DEVICE u32 most_in_sample(u32 sample, u32 most) {
  if (sample < DICTIONARY_SAMPLE) return sample - 1;
  return most == 256 ? 62 : most == 128 ? 56 : most == 64 ? 46 : most;
}

// Whether there are at most `most` distinct values, and no more in the sample than that lets expect. Then they are in
// `sorted`.
ONCE bool distinct(Dictionary& d, const u64* values, u32 count, u32 most) {
  for (u32 i = threadIdx.x; i < DICTIONARY_SLOTS; i += THREADS) d.keys[i] = EMPTY_SLOT;
  if (threadIdx.x == 0) d.count = d.empties = 0;
  BARRIER();
  u32 sample = count / 2 < DICTIONARY_SAMPLE ? count / 2 : DICTIONARY_SAMPLE;
  if (threadIdx.x < sample) insert(d, values[threadIdx.x]);
  BARRIER();
  bool many = d.count > most || d.count > most_in_sample(sample, most);
  BARRIER();
  if (many) return false;
  // At most THREADS new values between two looks, and at most `most` before: the slots are not filled up.
  for (u32 start = sample; start < count; start += THREADS) {
    u32 i = start + threadIdx.x;
    if (i < count) insert(d, values[i]);
    BARRIER();
    many = d.count > most;
    BARRIER();
    if (many) return false;
  }
  u32 found = d.count;
  BARRIER();
  if (threadIdx.x == 0) {
    d.count = d.empties ? 1 : 0;
    d.list[0] = EMPTY_SLOT;
  }
  BARRIER();
  for (u32 i = threadIdx.x; i < DICTIONARY_SLOTS; i += THREADS) {
    if (d.keys[i] == EMPTY_SLOT) continue;
    u32 to = atomicAdd(&d.count, 1u);
    if (to < MOST_DICTIONARY) d.list[to] = d.keys[i];
  }
  BARRIER();
  // Each value's place is the number of smaller ones, however the list is ordered.
  for (u32 i = threadIdx.x; i < found; i += THREADS) {
    u32 rank = 0;
    for (u32 j = 0; j < found; j++) rank += (i64)d.list[j] < (i64)d.list[i];
    d.sorted[rank] = d.list[i];
  }
  BARRIER();
  return true;
}

// The largest dictionary that can pay for values that otherwise take `narrow` bits each; 0: none.
DEVICE u32 most_distinct(u32 count, u32 narrow) {
  u32 top = narrow < 9 ? narrow : 9;
  for (u32 bits = top - 1; bits >= 1; bits--) {
    if (count * (narrow - bits) > (8u << bits)) return 1u << bits;
  }
  return 0;
}

// Puts the column by dictionary if that takes less than `best` bytes; 0 if not.
__device__ inline u32 put_dictionary(Dictionary& d, const u64* values, u32 count, const Choice& other, u8* out) {
  u32 most = most_distinct(count, other.narrow);
  if (most == 0 || !distinct(d, values, count, most)) return 0;
  u32 found = d.count, width = bits_of(found - 1), packed = packed_bytes(count, width);
  if (packed + 2 + found * 2 >= other.best) return 0;
  Statistics s = statistics_of(d.sorted, found);
  Choice c = choose(s, d.sorted[0], found);
  if (2 + c.bytes + packed >= other.best) return 0;
  if (threadIdx.x == 0) {
    out[0] = DICTIONARY;
    out[1] = (u8)(found - 1);
  }
  u32 at = 2 + put_column(d.sorted, found, s, c, out + 2);
  put_packed(Indexes{values, d.sorted, found}, count, width, out + at);
  return at + packed;
}

// Encodes at least one value; how many bytes that is.
ONCE u32 encode_column(Dictionary& d, const u64* values, u32 count, u8* out) {
  Statistics s = statistics_of(values, count);
  Choice c = choose(s, values[0], count);
  u32 bytes = 0;
  if (c.encoding != CONSTANT && count >= FEWEST_DICTIONARY_VALUES && c.narrow > 2) {
    // All threads pass the barriers of the next column's statistics before the dictionary is used again.
    bytes = put_dictionary(d, values, count, c, out);
  }
  return bytes ? bytes : put_column(values, count, s, c, out);
}
