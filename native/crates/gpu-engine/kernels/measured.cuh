// Parts of the other kernels by themselves, over columns of `count` values one behind another, to measure them.
#pragma once
#include "column_decode.cuh"
#include "column_encode.cuh"
#include "crc.cuh"

// `found`: of each column the least value and the largest, together.
KERNEL measure_statistics(const u64* values, u64 columns, u32 count, u64* found) {
  for (u64 c = blockIdx.x; c < columns; c += gridDim.x) {
    Statistics s = statistics_of(values + c * count, count);
    if (threadIdx.x == 0) found[c] = (u64)s.least + (u64)s.most;
  }
}

// `packed`: of each column `packed_bytes`.
KERNEL measure_pack(const u64* values, u64 columns, u32 count, u32 width, u8* packed) {
  for (u64 c = blockIdx.x; c < columns; c += gridDim.x) {
    put_packed(Packed{values + c * count, REFERENCE, 0}, count, width, packed + c * packed_bytes(count, width));
  }
}

KERNEL measure_unpack(const u8* packed, u64 columns, u32 count, u32 width, u64* values) {
  for (u64 c = blockIdx.x; c < columns; c += gridDim.x) {
    Head head = {REFERENCE, width, 0, 0, 0, 0, packed + c * packed_bytes(count, width)};
    put_values(head, count, values + c * count);
  }
}

// Of pieces of `length` bytes.
KERNEL measure_crc(const u32* tables, const u8* bytes, u64 pieces, u64 length, u32* found) {
  for (u64 p = blockIdx.x; p < pieces; p += gridDim.x) {
    u32 crc = block_crc(tables, bytes + p * length, length);
    if (threadIdx.x == 0) found[p] = crc;
  }
}
