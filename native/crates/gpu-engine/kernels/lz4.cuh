// LZ4 blocks, byte for byte those of the CPU's library (docs/block-format.md, "LZ4"), by one warp: its lanes look for
// the next match at 32 positions at a time, as if one after another, and copy together.
#pragma once
#include "vars.cuh"

#define LZ4_SLOTS 4096u
// From so many bytes on the hash is one of five bytes, else of four.
#define LZ4_LARGE 65535u
#define LZ4_MOST_DISTANCE 65535u
#define LZ4_LEAST_MATCH 4u
// The last match begins so many bytes before the end, or earlier; and ends so many before it.
#define LZ4_LAST_BEGIN 12u
#define LZ4_LAST_END 6u
// Of a body these many bytes are compressed first, to see whether it pays.
#define CODEC_PROBE_BYTES 16384u
// Mode and length before compressed bytes.
#define CODEC_HEAD_BYTES 5u
// Threads of a block: one warp, because each has a table.
#define LZ4_THREADS 32

// By hash, the position that was last seen, below 2^24; in shared memory. In two parts, because how many warps there
// are at a time depends on how long it is.
struct Lz4Table {
  unsigned short low[LZ4_SLOTS];
  u8 high[LZ4_SLOTS];
  DEVICE u32 at(u32 slot) const { return (u32)high[slot] << 16 | low[slot]; }
  DEVICE void put(u32 slot, u32 position) {
    low[slot] = (unsigned short)position;
    high[slot] = (u8)(position >> 16);
  }
};

// Bytes at any address, in whole aligned words with at least one byte of these.
DEVICE u32 load32(const u8* at) {
  const u32* words = (const u32*)(at - (u64)at % 4);
  u32 shift = (u32)((u64)at % 4) * 8;
  return shift == 0 ? words[0] : words[0] >> shift | words[1] << (32 - shift);
}

struct Lz4Input {
  const u8* bytes;
  u32 length;
  bool large;
  DEVICE u32 slot(u32 at, u32 first) const {
    if (!large) return first * 2654435761u >> 20;
    return (u32)(((u64)first << 24 | (u64)bytes[at + 4] << 56) * 889523592379ull >> 52);
  }
};

// Bytes behind a token for a length that does not fit into its four bits.
DEVICE u32 lz4_more_bytes(u32 length) { return length < 15 ? 0 : (length - 15) / 255 + 1; }
DEVICE void lz4_put_more(u8* out, u32 length) {
  u32 bytes = lz4_more_bytes(length);
  for (u32 i = lane(); i < bytes; i += 32) out[i] = i + 1 < bytes ? 255 : (u8)((length - 15) % 255);
}

// What a search has found: `at` begins a match with `before`, or is behind the last place where one may begin.
struct Lz4Match {
  u32 at, before;
  bool found;
};

// Looks from `from` on, first at each position and after each 32 at every second, third and so on, as the library does.
DEVICE Lz4Match lz4_search(const Lz4Input& in, Lz4Table& table, u32 from) {
  u32 last = in.length - LZ4_LAST_BEGIN;
  for (u32 step = 1, base = from;; base += 32 * step, step++) {
    u32 at = base + lane() * step;
    bool there = at <= last;
    u32 here = there ? load32(in.bytes + at) : 0;
    u32 slot = there ? in.slot(at, here) : LZ4_SLOTS + lane();
    // Lanes before this one come before it in the library's order too, so that what they leave in the table is seen.
    u32 alike = MATCH_ANY(slot), earlier = alike & ((1u << lane()) - 1);
    u32 before = !there ? 0 : earlier ? base + (31 - __clz(earlier)) * step : table.at(slot);
    bool same = there && at - before <= LZ4_MOST_DISTANCE && load32(in.bytes + before) == here;
    u32 matches = BALLOT(same), looked_at = matches ? 2u * (matches & (0 - matches)) - 1 : ~0u;
    // The last lane of those that were looked at leaves its position, when all have read the table.
    u32 me = 1u << lane();
    QUIET_WARP_BARRIER();
    if (there && (looked_at & me) && (alike & looked_at) < 2ull * me) table.put(slot, at);
    QUIET_WARP_BARRIER();
    if (matches) {
      u32 first = __ffs(matches) - 1;
      return {base + first * step, SHUFFLE(before, first), true};
    }
    if (BALLOT(there) != ~0u) return {0, 0, false};
  }
}

// By how many bytes a match begins earlier, at most `most_back`, and ends later than its first four, at most `most_more`.
struct Lz4Extent {
  u32 back, more;
};

// Half of the lanes look at a byte each before the match, the others at 8 bytes each behind it; again where that is not
// enough.
DEVICE Lz4Extent lz4_extend(const u8* a, const u8* b, u32 most_back, u32 most_more) {
  Lz4Extent all = {0, 0};
  for (bool back = true, more = true; back || more;) {
    u32 i = lane() % 16, equal = 0;
    if (lane() < 16) {
      i += all.back + 1;
      equal = back && i <= most_back && a[-(i64)i] == b[-(i64)i] ? 8 : 0;
    } else {
      i = all.more + i * 8;
      if (more && i < most_more) {
        u64 differ = load64(a + LZ4_LEAST_MATCH + i) ^ load64(b + LZ4_LEAST_MATCH + i);
        equal = differ ? (__ffsll((i64)differ) - 1) / 8 : 8;
        if (equal > most_more - i) equal = most_more - i;
      }
    }
    u32 ends = BALLOT(equal < 8), first = ends & 0xffff, second = ends >> 16;
    u32 end = second ? 15 + __ffs(second) : 31;
    u32 rest = SHUFFLE(equal, end);
    all.back += back ? (first ? __ffs(first) - 1 : 16) : 0;
    all.more += more ? (second ? (end - 16) * 8 + rest : 128) : 0;
    back = back && !first;
    more = more && !second;
  }
  return all;
}

// Puts token, literals and, if `match` is not 0, a match of 3 + `match` bytes; how many bytes that is. Nothing is put
// where that is more than `room`.
DEVICE u32 lz4_put(u8* out, u32 room, const u8* literals, u32 count, u32 distance, u32 match) {
  u32 more = match ? match - 1 : 0, before = 1 + lz4_more_bytes(count);
  u32 bytes = before + count + (match ? 2 + lz4_more_bytes(more) : 0);
  if (bytes > room) return bytes;
  if (lane() == 0) out[0] = (u8)((count < 15 ? count : 15) << 4 | (more < 15 ? more : 15));
  lz4_put_more(out + 1, count);
  if (count <= 32) {
    if (lane() < count) out[before + lane()] = literals[lane()];
  } else {
    warp_copy(out + before, literals, count);
  }
  if (match) {
    out += before + count;
    if (lane() < 2) out[lane()] = (u8)(distance >> (8 * lane()));
    lz4_put_more(out + 2, more);
  }
  return bytes;
}

// Compresses; how many bytes came out, of which no more than `room` were put. If it is more than `room`, then what
// there would be altogether is more too.
ONCE u32 lz4_compress(Lz4Table& table, const u8* bytes, u32 length, u8* out, u32 room) {
  Lz4Input in = {bytes, length, length >= LZ4_LARGE};
  u32 done = 0, literals = 0;
  if (length > LZ4_LAST_BEGIN) {
    for (u32 i = lane(); i < LZ4_SLOTS; i += 32) table.put(i, 0);
    QUIET_WARP_BARRIER();
    // Position 0 is in the table by that.
    for (u32 from = 1;;) {
      Lz4Match m = lz4_search(in, table, from);
      if (!m.found) break;
      u32 distance = m.at - m.before, most = m.before < m.at - literals ? m.before : m.at - literals;
      u32 behind = m.at + LZ4_LEAST_MATCH + LZ4_LAST_END, left = behind < length ? length - behind : 0;
      Lz4Extent extent = lz4_extend(bytes + m.at, bytes + m.before, most, left);
      u32 begin = m.at - extent.back, end = m.at + LZ4_LEAST_MATCH + extent.more;
      if (lane() == 0) table.put(in.slot(end - 2, load32(bytes + end - 2)), end - 2);
      QUIET_WARP_BARRIER();
      u32 match = 1 + extent.back + extent.more;
      done += lz4_put(out + done, done < room ? room - done : 0, bytes + literals, begin - literals, distance, match);
      if (done > room) return done;
      from = literals = end;
    }
  }
  return done + lz4_put(out + done, done < room ? room - done : 0, bytes + literals, length - literals, 0, 0);
}

// The bytes of an item (mode and body), compressed in place where that is worth it; how many there are then. `other`
// has as much room.
__device__ inline u32 compress_item(const EncodeJob& job, Lz4Table& table, u8* item, u32 bytes, u8* other) {
  u32 length = bytes - 1, probe = length < CODEC_PROBE_BYTES ? length : CODEC_PROBE_BYTES;
  u32 room = length - CODEC_HEAD_BYTES - 1, enough = (u32)((u64)probe * job.probe_sixteenths / 16);
  const u8* body = item + 1;
  u32 made = lz4_compress(table, body, probe, other, enough < room ? enough : room);
  if (made > enough || made > room) return bytes;
  if (probe < length) {
    QUIET_WARP_BARRIER();
    made = lz4_compress(table, body, length, other, room);
    if (made > room) return bytes;
  }
  // Also for what other lanes have put.
  WARP_BARRIER();
  if (lane() == 0) {
    item[0] |= CODEC_LZ4 << 4;
    store_short(item + 1, made, 4);
  }
  warp_copy(item + CODEC_HEAD_BYTES, other, made);
  return CODEC_HEAD_BYTES + made;
}

// A block, which is a warp, for the bytes of a field of a frame, or of its tails.
KERNEL_OF(LZ4_THREADS) compress_vars(EncodeJob job) {
  SHARED(Lz4Table, table);
  u64 items = (u64)job.summary->frames * (job.fields + 1);
  for (u64 i = blockIdx.x; i < items; i += gridDim.x) {
    u32 f = (u32)(i / (job.fields + 1)), field = (u32)(i % (job.fields + 1));
    Frame frame = job.frames[f];
    u32* bytes = item_of(job, f, field < job.fields ? job.words + 2 + field : job.words + 1);
    u32 before = frame.plain ? 0 : *bytes;
    if (before <= FEWEST_CODEC_BYTES) continue;
    u8* other = (u8*)var_words_of(job, f, frame, field);
    u32 after = compress_item(job, table, encoded_var_of(job, f, frame, field), before, other);
    if (lane() == 0) *bytes = after;
  }
}
