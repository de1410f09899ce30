// CRC32C of a frame's payload by one block: each thread takes a part, and neighbours are joined by multiplying with
// x^(8 n) mod P, where n is the length of the right one. All parts but the first have the same length, so that a step
// of joining multiplies with the same number everywhere.
#pragma once
#include "block.cuh"

#define CRC_POLYNOMIAL 0x82F63B78u

// a b mod P, of polynomials with the coefficient of x^0 in the highest bit.
ONCE u32 crc_multiply(u32 a, u32 b) {
  u32 product = 0;
  for (u32 bit = 0x80000000u; bit; bit >>= 1) {
    if (a & bit) product ^= b;
    b = b & 1 ? b >> 1 ^ CRC_POLYNOMIAL : b >> 1;
  }
  return product;
}

// x^(8 n) mod P.
__device__ inline u32 crc_power(u64 n) {
  u32 power = 0x80000000u, square = 0x00800000u;
  for (; n; n >>= 1) {
    if (n & 1) power = crc_multiply(square, power);
    square = crc_multiply(square, square);
  }
  return power;
}

// `tables`: of byte k and value v, what v followed by k zeros adds.
ONCE u32 crc_of(const u32* tables, const u8* bytes, u64 length) {
  u32 crc = ~0u;
  u64 at = 0;
  for (; at + 8 <= length; at += 8) {
    u64 word = load64(bytes + at) ^ crc;
    crc = 0;
    for (u32 k = 0; k < 8; k++) crc ^= tables[(7 - k) * 256 + ((u32)(word >> (8 * k)) & 255)];
  }
  for (; at < length; at++) crc = crc >> 8 ^ tables[(crc ^ bytes[at]) & 255];
  return ~crc;
}

// By all threads; thread 0 gets it.
ONCE u32 block_crc(const u32* tables, const u8* bytes, u64 length) {
  SHARED_ARRAY(u32, parts, THREADS);
  u64 each = (length / THREADS + 8) / 8 * 8, behind = (THREADS - 1 - threadIdx.x) * each;
  u64 end = length > behind ? length - behind : 0, start = end > each ? end - each : 0;
  // The CRC of no bytes is 0, and joining it changes nothing.
  parts[threadIdx.x] = crc_of(tables, bytes + start, end - start);
  BARRIER();
  u32 power = crc_power(each);
  for (u32 step = 1; step < THREADS; step *= 2) {
    u32 i = threadIdx.x * 2 * step;
    if (i + step < THREADS) parts[i] = crc_multiply(power, parts[i]) ^ parts[i + step];
    power = crc_multiply(power, power);
    BARRIER();
  }
  u32 crc = parts[0];
  QUIET_BARRIER();
  return crc;
}
