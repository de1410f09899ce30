// Which fields' words say where a variable-length value lies (codec/src/layout.rs): a block goes through the fields
// of a frame in their order, because each field's slots begin where those of the fields before end.
#pragma once
#include "job.cuh"

#define NO_ROW 0xffffffffu

struct Rows {
  const u64* columns;
  const u64* prefix;  // of the frame's first row
  u32* ends;          // in shared memory
  u32 rows, stride, words;
  DEVICE u64 word(u32 w, u32 i) const { return columns[(u64)w * stride + i]; }
  DEVICE u64 bytes(u32 i) const { return prefix[i + 1] - prefix[i]; }
};

// The kind for which the offsets of the fields behind field word `w` speak, in the first row where the kinds differ.
__device__ inline u32 likely_kind(const Rows& r, u32 w) {
  u32 row = NO_ROW;
  for (u32 i = threadIdx.x; i < r.rows && row == NO_ROW; i += THREADS) {
    u64 word = r.word(w, i);
    if (word != 0 && slot_bytes(KIND_VAR, word) != 16) row = i;
  }
  row = block_all(row, Smallest());
  if (row == NO_ROW) return KIND_VAR;
  u64 word = r.word(w, row), end = r.ends[row], bytes = r.bytes(row);
  u64 near = end + slot_bytes(KIND_VAR, word), far = end + 16;
  if ((word & 0xffffffffull) > 16 || far > bytes) return KIND_VAR;
  // The first later field that says either; twice its number, and one more if it says "far".
  u32 says = NO_ROW;
  for (u32 later = w + 1 + threadIdx.x; later < r.words && says == NO_ROW; later += THREADS) {
    u64 offset = r.word(later, row) >> 32;
    if (offset == near) says = 2 * later;
    if (offset == far) says = 2 * later + 1;
  }
  says = block_all(says, Smallest());
  if (says == NO_ROW) return bytes == far ? KIND_VAR16 : KIND_VAR;
  return says % 2 ? KIND_VAR16 : KIND_VAR;
}

// Whether the kind explains the word of every row.
__device__ inline bool holds(const Rows& r, u32 w, u32 kind) {
  u32 wrong = 0;
  for (u32 i = threadIdx.x; i < r.rows; i += THREADS) {
    u64 word = r.word(w, i);
    bool fits = word >> 32 == r.ends[i] && r.ends[i] + slot_bytes(kind, word) <= r.bytes(i);
    bool small = kind == KIND_VAR || (word & 0xffffffffull) <= 16;
    wrong |= !(word == 0 || (fits && small));
  }
  return !block_all(wrong, AnyBits());
}

__device__ inline u32 kind_of(const Rows& r, u32 w) {
  u32 probe = NO_ROW;
  for (u32 i = threadIdx.x; i < r.rows && probe == NO_ROW; i += THREADS) {
    if (r.word(w, i) != 0) probe = i;
  }
  probe = block_all(probe, Smallest());
  if (probe == NO_ROW || r.word(w, probe) >> 32 != r.ends[probe]) return KIND_WORD;
  u32 kind = likely_kind(r, w);
  return holds(r, w, kind) ? kind : KIND_WORD;
}

__device__ inline void predict_frame(const EncodeJob& job, u32 f, const Frame& frame, u32* ends) {
  Rows r = {column_of(job, f, frame, 0), job.prefix + frame.first, ends, frame.rows, stride_of(frame.rows), job.words};
  u32 longer = 0, first = bitset_words(job);
  for (u32 i = threadIdx.x; i < r.rows; i += THREADS) {
    ends[i] = job.words * 8;
    longer |= r.bytes(i) != job.words * 8;
  }
  longer = block_all(longer, AnyBits());
  u32 before = 0, *slots_before = job.slots_before + (u64)f * (job.fields + 1);
  for (u32 field = 0; field < job.fields; field++) {
    u32 kind = longer ? kind_of(r, first + field) : KIND_WORD, slots = 0;
    for (u32 i = threadIdx.x; i < r.rows && kind != KIND_WORD; i += THREADS) {
      u32 slot = (u32)slot_bytes(kind, r.word(first + field, i));
      ends[i] += slot;
      slots += slot;
    }
    if (threadIdx.x == 0) {
      job.kinds[(u64)f * job.fields + field] = (u8)kind;
      slots_before[field] = before;
    }
    // Also the barrier behind the change of `ends`.
    before += block_all(slots, Sum());
  }
  if (threadIdx.x == 0) slots_before[job.fields] = before;
  for (u32 i = threadIdx.x; i < r.rows; i += THREADS) {
    job.ends[frame.first + i] = ends[i];
    job.tail_bytes[frame.first + i] = r.bytes(i) - ends[i];
  }
}

KERNEL predict_fields(EncodeJob job) {
  SHARED_ARRAY(u32, ends, FRAME_ROWS);
  for (u32 f = blockIdx.x; f < job.summary->frames; f += gridDim.x) {
    Frame frame = job.frames[f];
    if (!frame.plain) predict_frame(job, f, frame, ends);
  }
}
