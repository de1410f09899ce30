// Rows to columns of words: 8 threads a row.
#pragma once
#include "job.cuh"

KERNEL gather_words(EncodeJob job) {
  u32 group = threadIdx.x / 8, in_group = threadIdx.x % 8;
  for (u32 f = blockIdx.x; f < job.summary->frames; f += gridDim.x) {
    Frame frame = job.frames[f];
    u32 stride = stride_of(frame.rows);
    u64* columns = column_of(job, f, frame, 0);
    u32 is_short = 0;
    for (u32 i = group; i < frame.rows; i += THREADS / 8) {
      u32 row = frame.first + i;
      if (job.prefix[row + 1] - job.prefix[row] < job.words * 8ull) {
        is_short = 1;
        continue;
      }
      const u8* from = job.rows + job.sorted_at[row];
      for (u32 w = in_group; w < job.words; w += 8) columns[(u64)w * stride + i] = load64(from + w * 8ull);
    }
    // A row without all its words: the frame is plain.
    if (block_all(is_short, AnyBits()) && threadIdx.x == 0) job.frames[f].plain = 1;
  }
}
