// Where frames end. Within a partition each frame begins where the one before ends, so a warp goes through a partition;
// its lanes look for the end together, in three steps of 32.
#pragma once
#include "job.cuh"

// How many of the rows from `first` on the next frame has, of `left`.
__device__ inline u32 frame_rows(const u64* prefix, u32 first, u32 left) {
  u32 most = left < FRAME_ROWS ? left : FRAME_ROWS;
  u64 enough = prefix[first] + FRAME_BYTES;
  // The fewest rows, at least one, that are enough; else `most`. Those before `base` are not enough.
  u32 base = 0;
  for (u32 step = FRAME_ROWS / 32; step; step = step == 4 ? 1 : step / 32) {
    u32 rows = base + (lane() + 1) * step;
    bool more = rows < most && prefix[first + rows] < enough;
    base += __popc(BALLOT(more)) * step;
  }
  u32 rows = base + 1;
  return rows < left && rows > FRAME_TILE ? rows / FRAME_TILE * FRAME_TILE : rows;
}

// Calls `each(number, first, rows)` for the frames of a partition; how many there are.
template <class Each>
__device__ u32 for_each_frame(const EncodeJob& job, u32 partition, Each each) {
  u32 end = job.starts[partition + 1], number = 0;
  for (u32 first = job.starts[partition]; first < end; number++) {
    u32 rows = frame_rows(job.prefix, first, end - first);
    each(number, first, rows);
    first += rows;
  }
  return number;
}

struct CountFrames {
  DEVICE void operator()(u32, u32, u32) const {}
};
struct WriteFrames {
  const EncodeJob& job;
  u32 partition;
  DEVICE void operator()(u32 number, u32 first, u32 rows) const {
    u64 f = job.frames_before[partition] + number;
    if (lane() != 0 || f >= job.most_frames) return;
    Frame& frame = job.frames[f];
    frame.first = first;
    frame.rows = rows;
    frame.partition = partition;
    frame.plain = job.plain;
    frame.codec = frame.unused = 0;
    frame.bytes = job.prefix[first + rows] - job.prefix[first];
    frame.payload = frame.place = frame.hash_xor = frame.hash_sum = 0;
  }
};

KERNEL count_frames(EncodeJob job) {
  for (u32 p = blockIdx.x * WARPS + warp(); p <= job.partitions; p += gridDim.x * WARPS) {
    u32 frames = p == job.partitions ? 0 : for_each_frame(job, p, CountFrames());
    if (lane() == 0) job.frames_before[p] = frames;
  }
}

KERNEL write_frames(EncodeJob job) {
  for (u32 p = blockIdx.x * WARPS + warp(); p < job.partitions; p += gridDim.x * WARPS) {
    for_each_frame(job, p, WriteFrames{job, p});
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) job.summary->frames = (u32)job.frames_before[job.partitions];
}
