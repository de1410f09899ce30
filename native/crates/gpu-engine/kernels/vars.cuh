// Var data: a block for a field of a frame, or for its tails. Short slots are taken apart to columns of words; of
// longer ones the bytes are put one after another. Of a field's column the size codes are left.
#pragma once
#include "job.cuh"

#define MODE_WORDS 0
#define MODE_TRIMMED 1
#define MODE_FULL 2
#define MOST_SLOT_WORDS 4u
// Fewer bytes are never compressed by a general codec.
#define FEWEST_CODEC_BYTES 64u
// In the place of counts of words: the field has bytes.
#define NO_WORDS (~0ull)

// A slot: where it lies in its row, its length, and that of its value.
struct Slot {
  u32 at, bytes, size;
};

struct Field {
  const u64* words;
  u32 kind;
  DEVICE Slot slot(u32 i) const {
    u64 word = words[i];
    u32 bytes = (u32)slot_bytes(kind, word);
    // A slot of 16 is stored whole: its unused bytes are not always zero.
    return {word == 0 ? 0 : (u32)(word >> 32), bytes, kind == KIND_VAR16 ? bytes : (u32)word};
  }
};

// A one in each of the four numbers of 16 bits that counts the words of a slot.
DEVICE u64 words_of_slot(u32 bytes) {
  u32 words = bytes / 8;
  return words >= 4 ? 0x0001000100010001ull : 0x0001000100010001ull & ((1ull << (16 * words)) - 1);
}

// Puts word k of every slot that has one to the others of its number. How many there are of each.
__device__ inline u64 take_words(const EncodeJob& job, const Frame& frame, const Field& field, u64* out) {
  u64 counts = 0;
  for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) counts += words_of_slot(field.slot(i).bytes);
  counts = block_all(counts, Sum());
  u32 begin[MOST_SLOT_WORDS];
  for (u32 k = 0, at = 0; k < MOST_SLOT_WORDS; k++) {
    begin[k] = at;
    at += (u32)(counts >> (16 * k)) & 0xffff;
  }
  u64 before = 0;
  for (u32 start = 0; start < frame.rows; start += THREADS) {
    u32 i = start + threadIdx.x;
    Slot slot = i < frame.rows ? field.slot(i) : Slot{0, 0, 0};
    u64 total, here = before + block_scan(words_of_slot(slot.bytes), total);
    before += total;
    const u8* from = job.rows + (slot.bytes ? job.sorted_at[frame.first + i] + slot.at : 0);
    for (u32 k = 0; k < MOST_SLOT_WORDS && k < slot.bytes / 8; k++) {
      out[begin[k] + ((u32)(here >> (16 * k)) & 0xffff)] = load64(from + 8 * k);
    }
  }
  return counts;
}

DEVICE bool has_padding(const EncodeJob& job, u32 row, const Slot& slot) {
  const u8* bytes = job.rows + job.sorted_at[row] + slot.at;
  for (u32 b = slot.size; b < slot.bytes; b++) {
    if (bytes[b] != 0) return true;
  }
  return false;
}

// Puts the mode and the bytes of a frame's rows, of row i `bytes[i]` at `at[i]` of the row, both in shared memory,
// where the thread of each row has put them. How many bytes that is; none if the CPU has to look at them.
__device__ inline u32 put_bytes(const EncodeJob& job, u32 f, const Frame& frame, u32 mode, const u32* at, u32* bytes,
                                u8* out) {
  u32 all = 0;
  for (u32 start = 0; start < frame.rows; start += THREADS) {
    u32 i = start + threadIdx.x, total, here = block_scan(i < frame.rows ? bytes[i] : 0, total);
    // From lengths to places: all threads have read theirs before the scan's barriers.
    if (i < frame.rows) bytes[i] = all + here;
    all += total;
  }
  BARRIER();
  if (job.codec == CODEC_OTHER && all >= FEWEST_CODEC_BYTES) {
    if (threadIdx.x == 0) atomicOr(&job.frames[f].codec, 1u);
    return 0;
  }
  if (threadIdx.x == 0) out[0] = (u8)mode;
  for (u32 i = warp(); i < frame.rows; i += WARPS) {
    u32 end = i + 1 < frame.rows ? bytes[i + 1] : all;
    warp_copy(out + 1 + bytes[i], job.rows + job.sorted_at[frame.first + i] + at[i], end - bytes[i]);
  }
  return 1 + all;
}

struct ByteRanges {
  u32 at[FRAME_ROWS], bytes[FRAME_ROWS];
};

__device__ inline void encode_field(const EncodeJob& job, u32 f, const Frame& frame, u32 number, ByteRanges& ranges) {
  u64* column = column_of(job, f, frame, bitset_words(job) + number);
  Field field = {column, job.kinds[(u64)f * job.fields + number]};
  u64 counts = 0;
  u32 item = 0, longest = 0;
  if (field.kind != KIND_WORD) {
    for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
      u32 bytes = field.slot(i).bytes;
      longest = bytes > longest ? bytes : longest;
    }
    longest = block_all(longest, Largest());
    if (longest <= MOST_SLOT_WORDS * 8) {
      counts = take_words(job, frame, field, var_words_of(job, f, frame, number));
    } else {
      counts = NO_WORDS;
      u32 padded = 0;
      for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
        padded |= has_padding(job, frame.first + i, field.slot(i));
      }
      padded = block_all(padded, AnyBits());
      for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
        Slot slot = field.slot(i);
        ranges.at[i] = slot.at;
        ranges.bytes[i] = padded ? slot.bytes : slot.size;
      }
      u8* out = encoded_var_of(job, f, frame, number);
      item = put_bytes(job, f, frame, padded ? MODE_FULL : MODE_TRIMMED, ranges.at, ranges.bytes, out);
    }
    for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
      column[i] = column[i] == 0 ? 0 : (column[i] & 0xffffffffull) + 1;
    }
  }
  if (threadIdx.x == 0) {
    job.var_counts[(u64)f * job.fields + number] = counts;
    job.item_bytes[(u64)f * items_of(job) + job.words + 2 + number] = item;
  }
}

__device__ inline void encode_tails(const EncodeJob& job, u32 f, const Frame& frame, ByteRanges& ranges) {
  u32 any = 0;
  for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
    ranges.at[i] = job.ends[frame.first + i];
    ranges.bytes[i] = (u32)job.tail_bytes[frame.first + i];
    any |= ranges.bytes[i];
  }
  any = block_all(any, AnyBits());
  u8* out = encoded_var_of(job, f, frame, job.fields);
  u32 bytes = any ? put_bytes(job, f, frame, MODE_FULL, ranges.at, ranges.bytes, out) : 0;
  if (threadIdx.x == 0) job.item_bytes[(u64)f * items_of(job) + job.words + 1] = bytes;
}

KERNEL encode_vars(EncodeJob job) {
  SHARED(ByteRanges, ranges);
  u64 items = (u64)job.summary->frames * (job.fields + 1);
  for (u64 i = blockIdx.x; i < items; i += gridDim.x) {
    u32 f = (u32)(i / (job.fields + 1)), field = (u32)(i % (job.fields + 1));
    Frame frame = job.frames[f];
    if (!frame.plain && field < job.fields) encode_field(job, f, frame, field, ranges);
    if (!frame.plain && field == job.fields) encode_tails(job, f, frame, ranges);
    BARRIER();
  }
}
