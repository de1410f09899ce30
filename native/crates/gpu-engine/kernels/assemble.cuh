// Frames from their parts: how long each is, where it lies in the output, its bytes, its checksums and header.
#pragma once
#include "columns.cuh"
#include "crc.cuh"

// From lengths of items to their places in the payload; how long the payload is. Plain if columns are not shorter. The
// frames beyond the last one get no bytes, so that all can be added up, and so do those that the CPU makes.
KERNEL lay_out_frames(EncodeJob job) {
  u32 items = items_of(job), frames = job.summary->frames, kinds = (job.fields + 3) / 4;
  for (u32 f = blockIdx.x; f <= job.most_frames; f += gridDim.x) {
    if (f >= frames) {
      if (threadIdx.x == 0) job.frame_bytes[f] = 0;
      continue;
    }
    Frame frame = job.frames[f];
    if (frame.codec) {
      if (threadIdx.x == 0) job.frame_bytes[f] = 0;
      continue;
    }
    u64 plain_bytes = frame.bytes + 4ull * frame.rows, payload = plain_bytes;
    if (!frame.plain) {
      u32 before = kinds;
      for (u32 start = 0; start < items; start += THREADS) {
        u32 i = start + threadIdx.x, total, here = block_scan(i < items ? *item_of(job, f, i) : 0, total);
        if (i < items) *item_of(job, f, i) = before + here;
        before += total;
      }
      payload = before;
    }
    if (threadIdx.x == 0) {
      if (payload >= plain_bytes) job.frames[f].plain = 1;
      job.frames[f].payload = payload < plain_bytes ? payload : plain_bytes;
      job.frame_bytes[f] = HEADER_BYTES + job.frames[f].payload;
    }
  }
}

// A row of columns: its words, and the slots behind them.
DEVICE void put_row_of_columns(const EncodeJob& job, u32 row, u8* out) {
  for_each_word(job, row, [=](u32 w, u64 word) {
    store64(out + 8ull * w, word);
  });
  out += job.words * 8;
  for (u32 field = 0; field < job.fields; field++) {
    Column column = job.sources[field];
    u32 wrong = 0, words = measure_value(column, row, MOST_ROW_BYTES, wrong) / 8;
    for (u32 k = 0; k < words; k++) store64(out + 8ull * k, word_of_slot(column, row, k));
    out += words * 8;
  }
}

__device__ inline void put_plain(const EncodeJob& job, const Frame& frame, u8* out) {
  for (u32 i = threadIdx.x; i < frame.rows; i += THREADS) {
    u32 row = frame.first + i;
    store_short(out + 4ull * i, job.prefix[row + 1] - job.prefix[row], 4);
  }
  out += 4ull * frame.rows;
  for (u32 i = threadIdx.x; job.sources && i < frame.rows; i += THREADS) {
    u32 row = frame.first + i;
    put_row_of_columns(job, (u32)job.sorted_at[row], out + (job.prefix[row] - job.prefix[frame.first]));
  }
  for (u32 i = warp(); !job.sources && i < frame.rows; i += WARPS) {
    u32 row = frame.first + i;
    u64 place = job.prefix[row] - job.prefix[frame.first];
    warp_copy(out + place, job.rows + job.sorted_at[row], job.prefix[row + 1] - job.prefix[row]);
  }
}

__device__ inline void put_kinds(const EncodeJob& job, u32 f, u8* out) {
  const u8* kinds = job.kinds + (u64)f * job.fields;
  for (u32 b = threadIdx.x; b < (job.fields + 3) / 4; b += THREADS) {
    u32 byte = 0;
    for (u32 k = 0; k < 4 && 4 * b + k < job.fields; k++) byte |= (u32)kinds[4 * b + k] << (2 * k);
    out[b] = (u8)byte;
  }
}

// A warp an item.
__device__ inline void put_columnar(const EncodeJob& job, u32 f, const Frame& frame, u8* out) {
  u32 items = items_of(job);
  put_kinds(job, f, out);
  for (u32 i = warp(); i < items; i += WARPS) {
    u64 place = *item_of(job, f, i), end = i + 1 < items ? *item_of(job, f, i + 1) : frame.payload;
    const u8* from = i < job.words + 1    ? encoded_column_of(job, f, frame, i)
                     : i == job.words + 1 ? encoded_var_of(job, f, frame, job.fields)
                                          : encoded_var_of(job, f, frame, i - job.words - 2);
    if (i == job.words) {
      // The tails' flag: whether anything follows it.
      if (lane() == 0) out[place] = end - place > 1;
      place++;
    }
    warp_copy(out + place, from, end - place);
  }
}

// frame_bytes has the places by now.
KERNEL put_frames(EncodeJob job) {
  u32 frames = job.summary->frames;
  for (u32 f = blockIdx.x; f < frames; f += gridDim.x) {
    Frame frame = job.frames[f];
    u8* out = job.output + job.frame_bytes[f] + HEADER_BYTES;
    if (frame.codec) continue;
    if (frame.plain) put_plain(job, frame, out); else put_columnar(job, f, frame, out);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) job.summary->bytes = job.frame_bytes[job.most_frames];
}

KERNEL put_headers(EncodeJob job) {
  u32 frames = job.summary->frames;
  for (u32 f = blockIdx.x; f < frames; f += gridDim.x) {
    Frame frame = job.frames[f];
    u8* out = job.output + job.frame_bytes[f];
    if (frame.codec) continue;
    u32 crc = block_crc(job.crc_tables, out + HEADER_BYTES, frame.payload);
    if (threadIdx.x == 0) {
      store_short(out, 0x31464C53, 4);
      store_short(out + 4, 1 | (frame.plain ? 0 : 1) << 8, 4);
      store_short(out + 8, frame.rows, 4);
      store_short(out + 12, job.fields, 4);
      store_short(out + 16, frame.bytes, 4);
      store_short(out + 20, frame.payload, 4);
      store_short(out + 24, crc, 4);
      store_short(out + 28, crc_of(job.crc_tables, out, 28), 4);
      job.frames[f].place = job.frame_bytes[f];
    }
  }
}
