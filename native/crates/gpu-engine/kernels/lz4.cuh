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
// Warps of a block that compress: as many as have room for their tables.
#define LZ4_WARPS 2u

// By hash, the position that was last seen; in shared memory.
struct Lz4Table {
  u32 places[LZ4_SLOTS];
};

DEVICE u32 lz4_slot(u64 bytes, bool large) {
  return large ? (u32)((bytes << 24) * 889523592379ull >> 52) : (u32)bytes * 2654435761u >> 20;
}

// Bytes behind a token for a length that does not fit into its four bits.
DEVICE u32 lz4_more_bytes(u32 length) { return length < 15 ? 0 : (length - 15) / 255 + 1; }
DEVICE void lz4_put_more(u8* out, u32 length) {
  u32 bytes = lz4_more_bytes(length);
  for (u32 i = lane(); i < bytes; i += 32) out[i] = i + 1 < bytes ? 255 : (u8)((length - 15) % 255);
}

struct Lz4Input {
  const u8* bytes;
  u32 length;
  bool large;
};

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
    u64 here = there ? load64(in.bytes + at) : 0;
    u32 slot = there ? lz4_slot(here, in.large) : LZ4_SLOTS + lane();
    // Lanes before this one come before it in the library's order too, so that what they leave in the table is seen.
    u32 alike = MATCH_ANY(slot), earlier = alike & ((1u << lane()) - 1);
    u32 before = !there ? 0 : earlier ? base + (31 - __clz(earlier)) * step : table.places[slot];
    bool same = there && at - before <= LZ4_MOST_DISTANCE && (u32)load64(in.bytes + before) == (u32)here;
    u32 matches = BALLOT(same), looked_at = matches ? 2u * (matches & (0 - matches)) - 1 : ~0u;
    // The last lane of those that were looked at leaves its position.
    u32 me = 1u << lane();
    if (there && (looked_at & me) && (alike & looked_at) < 2ull * me) table.places[slot] = at;
    QUIET_WARP_BARRIER();
    if (matches) {
      u32 first = __ffs(matches) - 1;
      return {base + first * step, SHUFFLE(before, first), true};
    }
    if (BALLOT(there) != ~0u) return {0, 0, false};
  }
}

// How many bytes before both positions are the same, at most `most`.
DEVICE u32 lz4_same_before(const u8* a, const u8* b, u32 most) {
  u32 same = 0;
  for (;;) {
    u32 i = same + lane() + 1;
    u32 differ = ~BALLOT(i <= most && a[-(i64)i] == b[-(i64)i]);
    if (differ) return same + __ffs(differ) - 1;
    same += 32;
  }
}

// How many bytes from both positions on are the same, at most `most`.
DEVICE u32 lz4_same_behind(const u8* a, const u8* b, u32 most) {
  u32 same = 0;
  for (;;) {
    u32 i = same + lane() * 8, equal = 0;
    if (i < most) {
      u64 differ = load64(a + i) ^ load64(b + i);
      equal = differ ? (__ffsll((i64)differ) - 1) / 8 : 8;
      if (equal > most - i) equal = most - i;
    }
    u32 ends = BALLOT(equal < 8);
    if (ends) {
      u32 end = __ffs(ends) - 1;
      return same + end * 8 + SHUFFLE(equal, end);
    }
    same += 256;
  }
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
    for (u32 i = lane(); i < LZ4_SLOTS; i += 32) table.places[i] = 0;
    QUIET_WARP_BARRIER();
    // Position 0 is in the table by that.
    for (u32 from = 1;;) {
      Lz4Match m = lz4_search(in, table, from);
      if (!m.found) break;
      u32 distance = m.at - m.before, most = m.before < m.at - literals ? m.before : m.at - literals;
      u32 back = lz4_same_before(bytes + m.at, bytes + m.before, most);
      u32 begin = m.at - back, at = m.at + LZ4_LEAST_MATCH - back;
      u32 left = at + LZ4_LAST_END < length ? length - LZ4_LAST_END - at : 0;
      u32 more = lz4_same_behind(bytes + at, bytes + at - distance, left);
      done += lz4_put(out + done, done < room ? room - done : 0, bytes + literals, begin - literals, distance, 1 + more);
      if (done > room) return done;
      from = literals = at + more;
      if (lane() == 0) table.places[lz4_slot(load64(bytes + from - 2), in.large)] = from - 2;
      QUIET_WARP_BARRIER();
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

// A warp for the bytes of a field of a frame, or of its tails.
KERNEL compress_vars(EncodeJob job) {
  SHARED_ARRAY(Lz4Table, tables, LZ4_WARPS);
  if (warp() >= LZ4_WARPS) return;
  u64 items = (u64)job.summary->frames * (job.fields + 1);
  for (u64 i = (u64)blockIdx.x * LZ4_WARPS + warp(); i < items; i += (u64)gridDim.x * LZ4_WARPS) {
    u32 f = (u32)(i / (job.fields + 1)), field = (u32)(i % (job.fields + 1));
    Frame frame = job.frames[f];
    u32* bytes = item_of(job, f, field < job.fields ? job.words + 2 + field : job.words + 1);
    u32 before = frame.plain ? 0 : *bytes;
    if (before <= FEWEST_CODEC_BYTES) continue;
    u8* other = (u8*)var_words_of(job, f, frame, field);
    u32 after = compress_item(job, tables[warp()], encoded_var_of(job, f, frame, field), before, other);
    if (lane() == 0) *bytes = after;
  }
}
