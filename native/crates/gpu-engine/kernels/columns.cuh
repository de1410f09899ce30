// All columns of all frames: a block for a column of words or size codes, for the words of a field's slots, or for the
// lengths of the tails.
#pragma once
#include "column_encode.cuh"
#include "vars.cuh"

__device__ inline void encode_word_column(const EncodeJob& job, Dictionary& d, u32 f, const Frame& frame, u32 w) {
  u8* out = encoded_column_of(job, f, frame, w);
  u32 bytes = encode_column(d, column_of(job, f, frame, w), frame.rows, out);
  if (threadIdx.x == 0) *item_of(job, f, w) = bytes;
}

__device__ inline void encode_tail_bytes(const EncodeJob& job, Dictionary& d, u32 f, const Frame& frame) {
  u32 bytes = 0;
  if (*item_of(job, f, job.words + 1) != 0) {
    bytes = encode_column(d, job.tail_bytes + frame.first, frame.rows, encoded_column_of(job, f, frame, job.words));
  }
  // The flag before them is a byte more.
  if (threadIdx.x == 0) *item_of(job, f, job.words) = 1 + bytes;
}

__device__ inline void encode_var_words(const EncodeJob& job, Dictionary& d, u32 f, const Frame& frame, u32 field) {
  u64 counts = job.var_counts[(u64)f * job.fields + field];
  if (job.kinds[(u64)f * job.fields + field] == KIND_WORD || counts == NO_WORDS) return;
  const u64* words = var_words_of(job, f, frame, field);
  u8* out = encoded_var_of(job, f, frame, field);
  if (threadIdx.x == 0) out[0] = MODE_WORDS;
  u32 bytes = 1;
  for (u32 k = 0; k < MOST_SLOT_WORDS; k++) {
    u32 count = (u32)(counts >> (16 * k)) & 0xffff;
    if (count == 0) break;
    bytes += encode_column(d, words, count, out + bytes);
    words += count;
  }
  if (threadIdx.x == 0) *item_of(job, f, job.words + 2 + field) = bytes;
}

KERNEL encode_columns(EncodeJob job) {
  SHARED(Dictionary, dictionary);
  u32 each = job.words + 1 + job.fields;
  u64 items = (u64)job.summary->frames * each;
  for (u64 i = blockIdx.x; i < items; i += gridDim.x) {
    u32 f = (u32)(i / each), item = (u32)(i % each);
    Frame frame = job.frames[f];
    if (!frame.plain && !frame.codec) {
      if (item < job.words) encode_word_column(job, dictionary, f, frame, item);
      if (item == job.words) encode_tail_bytes(job, dictionary, f, frame);
      if (item > job.words) encode_var_words(job, dictionary, f, frame, item - job.words - 1);
    }
  }
}
