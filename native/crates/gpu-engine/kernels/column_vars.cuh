// What vars.cuh does, with the values of columns in place of those of rows: a block for a field of a frame. Kernels of
// their own, so that those of rows keep all of their values in registers.
#pragma once
#include "vars.cuh"

// Whether the predicted kind gives each value of a column the slot that it has.
__device__ inline bool predicts(const Frame& frame, const Field& field, const Column& source) {
  u32 slots = !has_slot(source) ? KIND_WORD : has_slot16(source) ? KIND_VAR16 : KIND_VAR, wrong = 0;
  if (slots == field.kind) return true;
  if (slots == KIND_WORD) return false;
  for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
    wrong |= slot_bytes(slots, field.words[i]) != slot_bytes(field.kind, field.words[i]);
  }
  return !block_all(wrong, AnyBits());
}

// Puts word k of every slot that has one to the others of its number. How many there are of each.
__device__ inline u64 take_words(const EncodeJob& job, const Frame& frame, const Field& field, const Column& source,
                                 u64* out) {
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
    u32 i = start + threadIdx.x, bytes = i < frame.rows ? field.slot(i).bytes : 0;
    u64 total, here = before + block_scan(words_of_slot(bytes), total);
    before += total;
    u32 row = bytes ? (u32)job.sorted_at[frame.first + i] : 0;
    for (u32 k = 0; k < MOST_SLOT_WORDS && k < bytes / 8; k++) {
      out[begin[k] + ((u32)(here >> (16 * k)) & 0xffff)] = word_of_slot(source, row, k);
    }
  }
  return counts;
}

// Puts the mode and the values, in whose slots behind them there is nothing; `bytes` is shared memory for as many
// numbers as there are rows. How many bytes that is; none if the CPU has to look at them.
__device__ inline u32 put_values_of_column(const EncodeJob& job, u32 f, const Frame& frame, const Field& field,
                                           const Column& source, u32* bytes, u8* out) {
  u32 all = 0;
  for (u32 start = 0; start < frame.rows; start += THREADS) {
    u32 i = start + threadIdx.x, total, here = block_scan(i < frame.rows ? field.slot(i).size : 0, total);
    if (i < frame.rows) bytes[i] = all + here;
    all += total;
  }
  BARRIER();
  if (job.codec == CODEC_OTHER && all >= FEWEST_CODEC_BYTES) {
    if (threadIdx.x == 0) atomicOr(&job.frames[f].codec, 1u);
    return 0;
  }
  if (threadIdx.x == 0) out[0] = MODE_TRIMMED;
  for (u32 i = warp(); i < frame.rows; i += WARPS) {
    u32 end = i + 1 < frame.rows ? bytes[i + 1] : all;
    if (end == bytes[i]) continue;
    const u8* from = bytes_of(source, span_of(source, (u32)job.sorted_at[frame.first + i]));
    warp_copy(out + 1 + bytes[i], from, end - bytes[i]);
  }
  return 1 + all;
}

__device__ inline void encode_field_of_column(const EncodeJob& job, u32 f, const Frame& frame, u32 number, u32* shared) {
  u64* column = column_of(job, f, frame, bitset_words(job) + number);
  Field field = {column, job.kinds[(u64)f * job.fields + number]};
  Column source = job.sources[number];
  u64 counts = 0;
  u32 item = 0, longest = 0;
  if (!predicts(frame, field, source)) {
    if (threadIdx.x == 0) atomicOr(&job.summary->status, NEEDS_ROWS);
    counts = NO_WORDS;
  } else if (field.kind != KIND_WORD) {
    for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
      u32 bytes = field.slot(i).bytes;
      longest = bytes > longest ? bytes : longest;
    }
    longest = block_all(longest, Largest());
    if (longest <= MOST_SLOT_WORDS * 8) {
      counts = take_words(job, frame, field, source, var_words_of(job, f, frame, number));
    } else {
      counts = NO_WORDS;
      u8* out = encoded_var_of(job, f, frame, number);
      item = put_values_of_column(job, f, frame, field, source, shared, out);
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

// Rows of columns have no tails, if all their slots are predicted.
__device__ inline void encode_no_tails(const EncodeJob& job, u32 f, const Frame& frame) {
  u32 any = 0;
  for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) any |= job.tail_bytes[frame.first + i] != 0;
  any = block_all(any, AnyBits());
  if (threadIdx.x == 0) {
    if (any) atomicOr(&job.summary->status, NEEDS_ROWS);
    job.item_bytes[(u64)f * items_of(job) + job.words + 1] = 0;
  }
}

KERNEL encode_vars_of_columns(EncodeJob job) {
  SHARED_ARRAY(u32, shared, FRAME_ROWS);
  u64 items = (u64)job.summary->frames * (job.fields + 1);
  for (u64 i = blockIdx.x; i < items; i += gridDim.x) {
    u32 f = (u32)(i / (job.fields + 1)), field = (u32)(i % (job.fields + 1));
    Frame frame = job.frames[f];
    if (!frame.plain && field < job.fields) encode_field_of_column(job, f, frame, field, shared);
    if (!frame.plain && field == job.fields) encode_no_tails(job, f, frame);
    BARRIER();
  }
}
