// From pages to rows by partition: each row's partition, place and length, and then the rows in the order of their
// partitions.
#pragma once
#include "job.cuh"

// The page of an entry: the last one that begins at or before it. Pages have at least one entry.
DEVICE u32 page_of(const EncodeJob& job, u32 entry) {
  u32 low = 0, high = job.page_count;
  while (high - low > 1) {
    u32 middle = (low + high) / 2;
    if (job.pages[middle].first <= entry) low = middle; else high = middle;
  }
  return low;
}

// The checks are those of the engine's sort: each row begins at or before the one after it, or its page's end.
KERNEL read_entries(EncodeJob job) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= job.row_count) return;
  Page page = job.pages[page_of(job, i)];
  u32 back = page.entries - 1 - (i - page.first);
  u64 entry = job.entries[page.first + back];
  u32 offset = (u32)entry, partition = (u32)(entry >> 32);
  u32 end = back == 0 ? page.used : (u32)job.entries[page.first + back - 1];
  // Also those whose end is wrong: the row after them is reported too, and nobody must read theirs.
  bool bad = partition >= job.partitions || offset > end || end > page.used;
  u32 bytes = bad ? 0 : end - offset;
  if (bad) atomicOr(&job.summary->status, BAD_ENTRY);
  if (bytes > MOST_ROW_BYTES) atomicOr(&job.summary->status, ROW_TOO_LONG);
  job.keys[i] = bad ? 0 : partition;
  job.order[i] = i;
  job.row_at[i] = page.at + (bad ? 0 : offset);
  job.row_bytes[i] = bytes > MOST_ROW_BYTES ? 0 : bytes;
}

// Where each partition's rows begin, and each row's place and length in the sorted order. One thread more than rows.
KERNEL place_rows(EncodeJob job) {
  u32 i = blockIdx.x * THREADS + threadIdx.x;
  if (i > job.row_count) return;
  u32 from = i == 0 ? 0 : job.keys[i - 1] + 1, to = i == job.row_count ? job.partitions : job.keys[i];
  for (u32 p = from; p <= to; p++) job.starts[p] = i;
  if (i == job.row_count) {
    job.prefix[i] = 0;
    return;
  }
  u32 row = job.order[i];
  job.sorted_at[i] = job.row_at[row];
  job.prefix[i] = job.row_bytes[row];
}
