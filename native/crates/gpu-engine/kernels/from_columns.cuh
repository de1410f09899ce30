// From columns to rows by partition, without the rows: how long each would be, its partition, and then the words of
// frames. What takes the bytes of rows elsewhere takes them from the columns too (column_vars.cuh, assemble.cuh).
#pragma once
#include "job.cuh"

// Of all rows.
struct Measured {
  u64 bytes;
  u32 status, unused;
};

// Checks all values; how long rows are, each and together.
KERNEL measure_columns(const Column* columns, u32 fields, u32 words, u32 rows, u32* row_bytes, Measured* measured) {
  u64 sum = 0;
  u32 status = 0;
  for (u64 at = (u64)blockIdx.x * THREADS + threadIdx.x; at < rows; at += (u64)gridDim.x * THREADS) {
    u32 i = (u32)at;
    u32 bytes = words * 8, wrong = 0;
    for (u32 field = 0; field < fields && bytes <= MOST_ROW_BYTES; field++) {
      bytes += measure_value(columns[field], i, MOST_ROW_BYTES, wrong);
    }
    if (wrong) status |= BAD_VALUE;
    if (bytes > MOST_ROW_BYTES) status |= ROW_TOO_LONG;
    row_bytes[i] = bytes;
    sum += bytes;
  }
  sum = block_all(sum, Sum());
  status = block_all(status, AnyBits());
  if (threadIdx.x == 0) {
    atomicAdd(&measured->bytes, sum);
    if (status) atomicOr(&measured->status, status);
  }
}

// What read_entries does for pages; the place of a row is its number. Without `ids` all are in partition 0.
KERNEL list_rows(EncodeJob job, const u32* ids) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= job.row_count) return;
  u32 partition = ids ? ids[i] : 0;
  bool bad = partition >= job.partitions;
  if (bad) atomicOr(&job.summary->status, BAD_ENTRY);
  job.keys[i] = bad ? 0 : partition;
  job.order[i] = i;
  job.row_at[i] = i;
}

// Columns to columns of words: a thread a row.
KERNEL gather_columns(EncodeJob job) {
  for (u32 f = blockIdx.x; f < job.summary->frames; f += gridDim.x) {
    Frame frame = job.frames[f];
    u32 stride = stride_of(frame.rows);
    for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
      u64* words = column_of(job, f, frame, 0) + i;
      for_each_word(job, (u32)job.sorted_at[frame.first + i], [=](u32 w, u64 word) { words[(u64)w * stride] = word; });
    }
  }
}
