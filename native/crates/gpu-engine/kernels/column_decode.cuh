// A column of a frame by one block, with the checks of codec/src/column.rs: thread 0 reads what says where things are,
// the block unpacks.
#pragma once
#include "bits.cuh"

// What is left of a payload. Lies in shared memory; thread 0 changes it.
struct Input {
  const u8 *at, *end;
  u32 bad;

  DEVICE u64 left() const { return (u64)(end - at); }
  // The next bytes; null, and bad, if there are not so many.
  DEVICE const u8* take(u64 bytes) {
    if (bad || bytes > left()) {
      bad = 1;
      return nullptr;
    }
    const u8* here = at;
    at += bytes;
    return here;
  }
  // A number in so many of its low bytes.
  DEVICE u64 number(u32 bytes) {
    const u8* here = take(bytes);
    u64 value = 0;
    for (u32 b = 0; here && b < bytes; b++) value |= (u64)here[b] << (8 * b);
    return value;
  }
};

// What comes before a column's packed values.
struct Head {
  u32 encoding, width, dictionary;  // dictionary: how many values it has
  u64 head, first, mask;
  const u8* packed;
};

DEVICE void read_width(Input& input, Head& h) {
  h.width = (u32)input.number(1);
  if (h.width > 64) input.bad = 1;
}

// Of a dictionary only its size; its column comes next.
DEVICE void read_head(Input& input, Head& h, u32 count, bool nested) {
  u32 tag = (u32)input.number(1), bytes = tag >> 4;
  h.encoding = tag & 15;
  if (bytes > 8 || h.encoding > RAW || (h.encoding >= DICTIONARY && bytes != 0)) input.bad = 1;
  if (h.encoding == DICTIONARY && nested) input.bad = 1;
  h.head = input.bad ? 0 : input.number(bytes);
  h.width = 0;
  h.dictionary = 0;
  if (h.encoding == REFERENCE) read_width(input, h);
  if (h.encoding == DELTA) {
    u32 first_bytes = (u32)input.number(1);
    if (first_bytes > 8) input.bad = 1;
    h.first = input.bad ? 0 : unzigzag(input.number(first_bytes));
    read_width(input, h);
  }
  if (h.encoding == MASK) {
    h.mask = input.number(8);
    h.width = __popcll(h.mask);
  }
  if (h.encoding == DICTIONARY) h.dictionary = (u32)input.number(1) + 1;
  if (h.encoding == RAW) h.width = 64;
  if (input.bad || h.encoding == DICTIONARY) return;
  h.packed = input.take(packed_bytes(h.encoding == DELTA ? count - 1 : count, h.width));
}

// Values of a column that is no dictionary; the head is checked.
ONCE void put_values(const Head& h, u32 count, u64* out) {
  if (h.encoding == CONSTANT) {
    for (u32 i = threadIdx.x; i < count; i += THREADS) out[i] = h.head;
    return;
  }
  if (h.encoding == MASK) {
    for (u32 i = threadIdx.x; i < count; i += THREADS) {
      out[i] = deposit_bits(packed_value(h.packed, count, h.width, i), h.mask) | h.head;
    }
    return;
  }
  if (h.encoding != DELTA) {
    u64 base = h.encoding == REFERENCE ? unzigzag(h.head) : 0;
    u32 width = h.width;
    const u8* packed = h.packed;
    for (u32 i = threadIdx.x; i < count; i += THREADS) out[i] = packed_value(packed, count, width, i) + base;
    return;
  }
  u64 before = h.first, step = unzigzag(h.head);
  for (u32 start = 0; start < count; start += THREADS) {
    u32 i = start + threadIdx.x;
    u64 delta = i > 0 && i < count ? packed_value(h.packed, count - 1, h.width, i - 1) + step : 0, total;
    u64 sum = block_scan(delta, total);
    if (i < count) out[i] = before + sum + delta;
    before += total;
  }
}

// Decodes `count` values, at least one; all threads come here. False if the bytes are wrong.
ONCE bool decode_column(Input& input, u32 count, u64* out) {
  SHARED(Head, head);
  SHARED_ARRAY(u64, values, 256);
  if (threadIdx.x == 0) read_head(input, head, count, false);
  BARRIER();
  if (input.bad) return false;
  if (head.encoding != DICTIONARY) {
    put_values(head, count, out);
    BARRIER();
    return true;
  }
  u32 entries = head.dictionary, width = bits_of(entries - 1);
  BARRIER();
  if (threadIdx.x == 0) read_head(input, head, entries, true);
  BARRIER();
  if (input.bad) return false;
  put_values(head, entries, values);
  BARRIER();
  if (threadIdx.x == 0) head.packed = input.take(packed_bytes(count, width));
  BARRIER();
  if (input.bad) return false;
  u32 beyond = 0;
  for (u32 i = threadIdx.x; i < count; i += THREADS) {
    u64 index = packed_value(head.packed, count, width, i);
    if (index >= entries) beyond = 1; else out[i] = values[index];
  }
  return !block_all(beyond, AnyBits());
}
