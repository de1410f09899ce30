// Decoded frames to columns: how long each value is, where each goes among the bytes of its column, and the columns.
#pragma once
#include "decode.cuh"

// What was found; the frames are decoded by the CPU then, which says what is wrong.
#define BAD_FRAME 1u
#define FRAME_NEEDS_CODEC 2u
#define NO_VALUE 4u  // of its column's type
#define NO_TEXT 8u

struct ColumnsJob {
  const DecodeFrame* frames;
  const u8* target;
  const u32 *row_bytes, *status;
  const u64* scratch;
  // Where the columns go; of those with offsets `first` is their number among these.
  const Column* columns;
  u64* lengths;   // by column with offsets and row, and one more: sizes, then places
  u64* totals;    // by column with offsets: bytes of all values
  u32* nulls;     // by column
  u32* found;
  u32 frame_count, row_count, fields, words, with_offsets, unused;
};

DEVICE bool has_offsets(const Column& c) { return c.form == FORM_OFFSETS32 || c.form == FORM_OFFSETS64; }
DEVICE u64* lengths_of(const ColumnsJob& job, const Column& c) { return job.lengths + c.first * (job.row_count + 1ull); }

// A decoded row.
struct DecodedRow {
  const u64* words;
  const u8* target;
  u32 stride, first, bytes;

  DEVICE u64 word(u32 w) const { return words[(u64)w * stride]; }
  // What the word of a field with a slot speaks of; null if that is not within the row. Bytes of the row's words, from
  // 0 to `first`, are not there.
  DEVICE const u8* value(u64 word) const {
    u64 at = word >> 32, size = word & 0xffffffffull;
    return (at >= first || size == 0) && at + size <= bytes ? target + at : nullptr;
  }
};

// Row `r` of all, which is one of a frame that was decoded; else false.
DEVICE bool decoded_row(const ColumnsJob& job, u32 r, DecodedRow& row) {
  u32 low = 0, high = job.frame_count;
  while (high - low > 1) {
    u32 middle = (low + high) / 2;
    if (job.frames[middle].lengths <= r) low = middle; else high = middle;
  }
  if (job.status[low] != DECODED) return false;
  DecodeFrame frame = job.frames[low];
  u32 i = r - (u32)frame.lengths, stride = stride_of(frame.rows);
  const u64* columns = job.scratch + frame.scratch;
  const u64* begins = columns + (u64)job.words * stride;
  row = {columns + i, job.target + frame.target + begins[i], stride, job.words * 8, job.row_bytes[r]};
  return true;
}

DEVICE bool is_null(const DecodedRow& row, u32 field) { return row.word(field / 64) >> (field % 64) & 1; }

// The first 32 bytes of each frame, one after another.
KERNEL take_headers(const u64* frames, u32 count, u64* headers) {
  for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count * 4ull; i += (u64)gridDim.x * THREADS) {
    headers[i] = load64((const u8*)frames[i / 4] + 8 * (i % 4));
  }
}

// Sizes of the values of columns with offsets: a block a column and THREADS rows at a time.
KERNEL measure_values(ColumnsJob job) {
  u32 tiles = job.row_count / THREADS + 1, wrong = 0;
  for (u64 t = blockIdx.x; t < (u64)job.fields * tiles; t += gridDim.x) {
    u32 field = (u32)(t / tiles), r = (u32)(t % tiles) * THREADS + threadIdx.x;
    Column column = job.columns[field];
    if (!has_offsets(column) || r > job.row_count) continue;
    DecodedRow row;
    u64 size = 0;
    if (r < job.row_count && decoded_row(job, r, row) && !is_null(row, field)) {
      u64 word = row.word(job.words - job.fields + field);
      size = word & 0xffffffffull;
      if (!row.value(word)) {
        wrong = 1;
        size = 0;
      }
    }
    lengths_of(job, column)[r] = size;
  }
  if (wrong) atomicOr(job.found, NO_VALUE);
}

// One block: what became of the frames, and bytes of each column's values, behind the sums of their sizes.
KERNEL total_values(ColumnsJob job) {
  u32 found = 0;
  for (u32 f = threadIdx.x; f < job.frame_count; f += THREADS) {
    u32 status = job.status[f];
    found |= status == DECODED ? 0 : status == DECODE_NEEDS_CODEC ? FRAME_NEEDS_CODEC : BAD_FRAME;
  }
  if (found) atomicOr(job.found, found);
  for (u32 v = threadIdx.x; v < job.with_offsets; v += THREADS) {
    job.totals[v] = job.lengths[v * (job.row_count + 1ull) + job.row_count];
  }
}

DEVICE void put_number(u8* at, u64 value, u32 width) {
  if (width == 8) *(u64*)at = value;
  else if (width == 4) *(u32*)at = (u32)value;
  else store_short(at, value, width);
}

// A decimal from its bytes as Java writes them.
DEVICE void put_wide(u64* to, const u8* bytes, u32 size) {
  u64 low = bytes[0] & 128 ? ~0ull : 0, high = low;
  for (u32 b = 0; b < size; b++) {
    high = high << 8 | low >> 56;
    low = low << 8 | bytes[b];
  }
  to[0] = low;
  to[1] = high;
}

// False if the word is no value of the column's type. Nulls are as the CPU has them: their words where any word is a
// value, else zeros.
DEVICE bool write_value(const Column& c, u32 r, const DecodedRow& row, bool valid, u64 word) {
  u8* to = (u8*)c.values + (u64)r * c.width;
  u32 size = (u32)word;
  i64 number = (i64)word;
  bool fits = true;
  switch (c.form) {
    case FORM_NUMBER:
      fits = !valid || !(c.flags & FLAG_UNSIGNED) || word < 1ull << (8 * c.width);
      put_number(to, valid || !(c.flags & FLAG_UNSIGNED) ? word : 0, c.width);
      break;
    case FORM_SCALED:
    case FORM_DAYS: {
      u32 back = c.scale == SCALE_SAME ? SCALE_SAME : SCALE_TIMES + SCALE_OVER - c.scale;
      if (c.form == FORM_DAYS) number = (i32)word;
      fits = !valid || (rescale(number, back, c.factor, number) && (c.width == 8 || number == (i32)number));
      put_number(to, valid ? (u64)number : 0, c.width);
      break;
    }
    case FORM_UNSIGNED:
      fits = !valid || number >= 0;
      *(u64*)to = valid ? word : 0;
      break;
    case FORM_DECIMAL:
      ((u64*)to)[0] = word;
      ((u64*)to)[1] = number < 0 ? ~0ull : 0;
      break;
    case FORM_WIDE: {
      const u8* from = row.value(word);
      fits = !valid || (from && size > 0 && size <= 16);
      if (valid && fits) put_wide((u64*)to, from, size);
      else ((u64*)to)[0] = ((u64*)to)[1] = 0;
      break;
    }
    case FORM_INTERVAL: {
      const u8* from = row.value(word);
      i64 nanos = 0;
      fits = !valid || (from && size == 16 && rescale((i64)load64(from + 8), SCALE_TIMES, 1000, nanos));
      ((u64*)to)[0] = valid && fits ? load64(from) : 0;
      ((i64*)to)[1] = nanos;
      break;
    }
    case FORM_FIXED: {
      const u8* from = row.value(word);
      fits = !valid || (from && size == c.width);
      for (u32 b = 0; b < c.width; b++) to[b] = valid && fits ? from[b] : 0;
      break;
    }
  }
  return fits;
}

// Columns but for the bytes of their values: a block a column and THREADS rows at a time. Masks have whole words.
KERNEL write_columns(ColumnsJob job) {
  u32 tiles = job.row_count / THREADS + 1, wrong = 0;
  for (u64 t = blockIdx.x; t < (u64)job.fields * tiles; t += gridDim.x) {
    u32 field = (u32)(t / tiles), r = (u32)(t % tiles) * THREADS + threadIdx.x;
    Column column = job.columns[field];
    if (column.form == FORM_NULL) continue;
    DecodedRow row;
    bool here = r < job.row_count && decoded_row(job, r, row), valid = here && !is_null(row, field);
    u64 word = here ? row.word(job.words - job.fields + field) : 0;
    u32 valids = BALLOT(valid), nulls = BALLOT(here && !valid), bits = BALLOT(here && (word & 255));
    if (lane() == 0 && r < job.row_count) {
      ((u32*)column.valid)[r / 32] = valids;
      if (column.form == FORM_BITS) ((u32*)column.values)[r / 32] = bits;
      if (nulls) atomicAdd(job.nulls + field, (u32)__popc(nulls));
    }
    if (has_offsets(column) && r <= job.row_count) {
      put_number((u8*)column.values + (u64)r * column.width, lengths_of(job, column)[r], column.width);
    } else if (here && column.form != FORM_BITS) {
      wrong |= !write_value(column, r, row, valid, word);
    }
  }
  if (wrong) atomicOr(job.found, NO_VALUE);
}

DEVICE bool is_utf8(const u8* text, u64 bytes) {
  for (u64 i = 0; i < bytes;) {
    u32 first = text[i++], more, low = 0x80, high = 0xbf;
    if (first < 0x80) continue;
    if (first < 0xc2 || first > 0xf4) return false;
    more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
    if (more > bytes - i) return false;
    for (; more; more--, low = 0x80, high = 0xbf) {
      u32 next = text[i++];
      if (next < low || next > high) return false;
    }
  }
  return true;
}

// Whether any of this thread's bytes is none of ASCII; 8 threads look at a value.
DEVICE bool has_high_bits(const u8* text, u64 bytes, u32 me) {
  u64 high = 0;
  for (u64 at = 8ull * me; at < bytes; at += 64) {
    high |= (at + 8 <= bytes ? load64(text + at) : load_short(text + at, (u32)(bytes - at))) & 0x8080808080808080ull;
  }
  return high != 0;
}

// The bytes of columns with offsets, 8 threads a value.
KERNEL write_value_bytes(ColumnsJob job) {
  u32 group = threadIdx.x / 8, me = threadIdx.x % 8, groups = THREADS / 8, wrong = 0;
  u32 tiles = job.row_count / groups + 1;
  for (u64 t = blockIdx.x; t < (u64)job.fields * tiles; t += gridDim.x) {
    u32 field = (u32)(t / tiles), r = (u32)(t % tiles) * groups + group;
    Column column = job.columns[field];
    if (!has_offsets(column)) continue;
    DecodedRow row;
    const u8* from = nullptr;
    u64 bytes = 0;
    if (r < job.row_count && decoded_row(job, r, row) && !is_null(row, field)) {
      u64 word = row.word(job.words - job.fields + field), place = lengths_of(job, column)[r];
      from = row.value(word);
      bytes = from ? word & 0xffffffffull : 0;
      copy_bytes((u8*)column.bytes + place, from, bytes, me, 8);
    }
    bool text = column.flags & FLAG_TEXT;
    u32 high = BALLOT(text && has_high_bits(from, bytes, me)) >> (lane() / 8 * 8) & 255;
    if (me == 0 && high) wrong |= !is_utf8(from, bytes);
  }
  if (wrong) atomicOr(job.found, NO_TEXT);
}
