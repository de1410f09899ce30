// Frames to rows, a block a frame, with all checks of codec/src/decode.rs. The header was checked by the host; the
// payload's checksum is checked here. What fails is decoded by the CPU, which says what is wrong.
#pragma once
#include "column_decode.cuh"
#include "crc.cuh"
#include "job.cuh"

// What became of a frame.
#define DECODED 0u
#define CHECK_FAILED 1u
// Its var data is compressed by a general codec.
#define DECODE_NEEDS_CODEC 2u

struct DecodeFrame {
  u64 at;       // of the payload, in the frames' bytes
  u64 target;   // of its rows
  u64 lengths;  // number of its first row among all
  u64 scratch;  // its words among the scratch
  u32 rows, fields, bytes, payload, crc, columnar;
};

struct DecodeJob {
  const u8* input;
  const DecodeFrame* frames;
  u8* target;
  u32* row_bytes;
  // For each frame: columns of words, then of each row where it begins, where its predicted part ends, its tail's
  // length, and a word.
  u64* scratch;
  u32* status;
  const u32* crc_tables;
  // Whether columns are wanted (to_columns.cuh): words then stay in the scratch, of plain frames too, and the target
  // has of each row only what lies behind them.
  u32 frame_count, for_columns;
};

// A frame that is being decoded.
struct Decoding {
  DecodeFrame frame;
  u64 *columns, *begins, *ends, *tails, *values;
  u8* target;
  u32* row_bytes;
  u32 stride, first, words, for_columns;
  const u8* kinds;
  Input* input;

  DEVICE u64* column(u32 w) const { return columns + (u64)w * stride; }
  DEVICE u32 kind(u32 field) const { return kinds[field / 4] >> (2 * (field % 4)) & 3; }
};

// Rows that are in the target to columns of words.
__device__ inline bool take_apart(const Decoding& d) {
  u32 rows = d.frame.rows, is_short = 0;
  u64 before = 0;
  for (u32 start = 0; start < rows; start += THREADS) {
    u32 i = start + threadIdx.x, bytes = i < rows ? d.row_bytes[i] : 0;
    u64 total, begin = before + block_scan((u64)bytes, total);
    before += total;
    if (i < rows) d.begins[i] = begin;
    is_short |= i < rows && bytes < d.words * 8;
  }
  if (block_all(is_short, AnyBits())) return false;
  for (u64 j = threadIdx.x; j < (u64)rows * d.words; j += THREADS) {
    u32 i = (u32)(j / d.words), w = (u32)(j % d.words);
    d.column(w)[i] = load64(d.target + d.begins[i] + 8ull * w);
  }
  return true;
}

__device__ inline bool decode_plain(const Decoding& d) {
  u32 rows = d.frame.rows;
  if (d.frame.payload != 4ull * rows + d.frame.bytes) return false;
  const u8* lengths = d.input->at;
  u64 sum = 0;
  for (u32 i = threadIdx.x; i < rows; i += THREADS) {
    u32 bytes = (u32)load_short(lengths + 4ull * i, 4);
    d.row_bytes[i] = bytes;
    sum += bytes;
  }
  sum = block_all(sum, Sum());
  if (sum != d.frame.bytes) return false;
  block_copy(d.target, lengths + 4ull * rows, d.frame.bytes);
  if (!d.for_columns) return true;
  BARRIER();
  return take_apart(d);
}

// From size codes to words; moves each row's end behind the slot.
__device__ inline bool restore_words(const Decoding& d, u32 kind, u64* column) {
  u32 wrong = 0;
  for (u32 i = threadIdx.x; i < d.frame.rows; i += THREADS) {
    u64 code = column[i], size = code - 1, end = d.ends[i];
    u64 word = code == 0 ? 0 : end << 32 | (size & 0xffffffffull);
    if (code != 0 && size > 0xffffffffull) wrong = 1;
    end += slot_bytes(kind, word);
    if (end > d.frame.bytes) wrong = 1;
    d.ends[i] = end;
    column[i] = word;
  }
  return !block_all(wrong, AnyBits());
}

__device__ inline bool read_words(const Decoding& d) {
  u32 wrong = 0;
  for (u32 field = threadIdx.x; field < d.frame.fields; field += THREADS) wrong |= d.kind(field) == 3;
  for (u32 i = threadIdx.x; i < d.frame.rows; i += THREADS) d.ends[i] = d.words * 8ull;
  if (block_all(wrong, AnyBits())) return false;
  for (u32 w = 0; w < d.words; w++) {
    if (!decode_column(*d.input, d.frame.rows, d.column(w))) return false;
    u32 kind = w < d.first ? KIND_WORD : d.kind(w - d.first);
    if (kind != KIND_WORD && !restore_words(d, kind, d.column(w))) return false;
  }
  return true;
}

// The flag, and the tails' lengths; 2 if the flag is wrong.
__device__ inline u32 read_tail_lengths(const Decoding& d) {
  SHARED(u32, shared_flag);
  if (threadIdx.x == 0) shared_flag = (u32)d.input->number(1);
  BARRIER();
  u32 flag = d.input->bad ? 2 : shared_flag;
  BARRIER();
  if (flag > 1) return 2;
  if (flag == 1) return decode_column(*d.input, d.frame.rows, d.tails) ? 1 : 2;
  for (u32 i = threadIdx.x; i < d.frame.rows; i += THREADS) d.tails[i] = 0;
  return 0;
}

// Where rows begin in the target; writes their lengths. Their ends are those in the target afterwards.
__device__ inline bool place_decoded_rows(const Decoding& d) {
  u32 wrong = 0;
  u64 before = 0, limit = d.frame.bytes;
  for (u32 start = 0; start < d.frame.rows; start += THREADS) {
    u32 i = start + threadIdx.x;
    u64 end = i < d.frame.rows ? d.ends[i] : 0, tail = i < d.frame.rows ? d.tails[i] : 0, total;
    if (tail > limit || end + tail > limit) {
      wrong = 1;
      end = tail = 0;
    }
    u64 begin = before + block_scan(end + tail, total);
    before += total;
    if (i < d.frame.rows) {
      d.begins[i] = begin;
      d.row_bytes[i] = (u32)(end + tail);
      d.ends[i] = begin + end;
    }
  }
  return !block_all(wrong, AnyBits()) && before == limit;
}

__device__ inline void put_row_words(const Decoding& d) {
  for (u64 j = threadIdx.x; j < (u64)d.frame.rows * d.words; j += THREADS) {
    u32 i = (u32)(j / d.words), w = (u32)(j % d.words);
    store64(d.target + d.begins[i] + 8ull * w, d.column(w)[i]);
  }
}

// The slots of a field, or the tails: where each lies in the target, its length, and that of its value.
struct TargetSlots {
  const u64 *words, *begins;  // of a field
  const u64 *tails, *ends;    // of the tails: words is null
  u32 kind;
  DEVICE u64 at(u32 i) const { return words ? begins[i] + (words[i] >> 32) : ends[i]; }
  DEVICE u32 bytes(u32 i) const { return words ? (u32)slot_bytes(kind, words[i]) : (u32)tails[i]; }
  DEVICE u32 size(u32 i) const { return words && kind == KIND_VAR ? (u32)words[i] : bytes(i); }
};

__device__ inline bool decode_var_words(const Decoding& d, const TargetSlots& slots) {
  u32 longest = 0, odd = 0, rows = d.frame.rows;
  for (u32 i = threadIdx.x; i < rows; i += THREADS) {
    u32 bytes = slots.bytes(i);
    longest = bytes > longest ? bytes : longest;
    odd |= bytes % 8;
  }
  longest = block_all(longest, Largest());
  if (block_all(odd, AnyBits()) || longest > 32) return false;
  for (u32 word = 0; word < longest; word += 8) {
    u32 count = 0;
    for (u32 i = threadIdx.x; i < rows; i += THREADS) count += slots.bytes(i) > word;
    count = block_all(count, Sum());
    if (!decode_column(*d.input, count, d.values)) return false;
    u32 before = 0;
    for (u32 start = 0; start < rows; start += THREADS) {
      u32 i = start + threadIdx.x, has = i < rows && slots.bytes(i) > word, total;
      u32 number = before + block_scan(has, total);
      if (has) store64(d.target + slots.at(i) + word, d.values[number]);
      before += total;
    }
  }
  return true;
}

__device__ inline bool decode_var_bytes(const Decoding& d, const TargetSlots& slots, bool trimmed) {
  SHARED(const u8*, from);
  u32 rows = d.frame.rows;
  u64 all = 0;
  for (u32 i = threadIdx.x; i < rows; i += THREADS) all += trimmed ? slots.size(i) : slots.bytes(i);
  all = block_all(all, Sum());
  if (threadIdx.x == 0) from = d.input->take(all);
  BARRIER();
  if (d.input->bad) return false;
  u64 before = 0;
  for (u32 start = 0; start < rows; start += THREADS) {
    u32 i = start + threadIdx.x, bytes = i < rows ? trimmed ? slots.size(i) : slots.bytes(i) : 0;
    u64 total, place = before + block_scan((u64)bytes, total);
    if (i < rows && slots.bytes(i) > 0) {
      u8* target = d.target + slots.at(i);
      copy_bytes(target, from + place, bytes, 0, 1);
      for (u32 b = bytes; b < slots.bytes(i); b++) target[b] = 0;
    }
    before += total;
  }
  return true;
}

ONCE u32 decode_var(const Decoding& d, const TargetSlots& slots) {
  SHARED(u32, shared_mode);
  if (threadIdx.x == 0) shared_mode = (u32)d.input->number(1);
  BARRIER();
  u32 mode = shared_mode;
  bool bad = d.input->bad;
  QUIET_BARRIER();
  if (bad || (mode & 15) > 2) return CHECK_FAILED;
  if (mode >> 4) return (mode & 15) == 0 ? CHECK_FAILED : DECODE_NEEDS_CODEC;
  bool done = mode == 0 ? decode_var_words(d, slots) : decode_var_bytes(d, slots, mode == 1);
  return done ? DECODED : CHECK_FAILED;
}

__device__ inline u32 decode_columnar(Decoding& d) {
  // Before any word is written: all rows have room for their words.
  if ((u64)d.frame.rows * d.words * 8 > d.frame.bytes) return CHECK_FAILED;
  d.kinds = d.input->at;
  BARRIER();
  if (threadIdx.x == 0) d.input->take((d.frame.fields + 3) / 4);
  BARRIER();
  if (d.input->bad || !read_words(d)) return CHECK_FAILED;
  u32 tails = read_tail_lengths(d);
  if (tails > 1) return CHECK_FAILED;
  if (!place_decoded_rows(d)) return CHECK_FAILED;
  if (!d.for_columns) put_row_words(d);
  u32 status = DECODED;
  if (tails) status = decode_var(d, TargetSlots{nullptr, nullptr, d.tails, d.ends, KIND_WORD});
  for (u32 field = 0; field < d.frame.fields && status == DECODED; field++) {
    u32 kind = d.kind(field);
    if (kind == KIND_WORD) continue;
    status = decode_var(d, TargetSlots{d.column(d.first + field), d.begins, nullptr, nullptr, kind});
  }
  if (status == DECODED && d.input->left() != 0) status = CHECK_FAILED;
  return status;
}

__device__ inline u32 decode_frame(const DecodeJob& job, const DecodeFrame& frame, Input& input) {
  const u8* payload = job.input + frame.at;
  Decoding d;
  d.frame = frame;
  d.stride = stride_of(frame.rows);
  d.first = (frame.fields + 63) / 64;
  d.words = d.first + frame.fields;
  d.columns = job.scratch + frame.scratch;
  d.begins = d.columns + (u64)d.words * d.stride;
  d.ends = d.begins + d.stride;
  d.tails = d.ends + d.stride;
  d.values = d.tails + d.stride;
  d.target = job.target + frame.target;
  d.row_bytes = job.row_bytes + frame.lengths;
  d.input = &input;
  d.for_columns = job.for_columns;
  if (threadIdx.x == 0) {
    input.at = payload;
    input.end = payload + frame.payload;
    input.bad = 0;
  }
  // Its barriers are those behind the input, too.
  if (block_crc(job.crc_tables, payload, frame.payload) != frame.crc) return CHECK_FAILED;
  if (frame.columnar) return decode_columnar(d);
  return decode_plain(d) ? DECODED : CHECK_FAILED;
}

KERNEL decode_frames(DecodeJob job) {
  SHARED(Input, input);
  for (u32 f = blockIdx.x; f < job.frame_count; f += gridDim.x) {
    DecodeFrame frame = job.frames[f];
    u32 status = decode_frame(job, frame, input);
    if (threadIdx.x == 0) job.status[f] = status;
    QUIET_BARRIER();
  }
}
