// Arrow's columns in the device's memory, as rows see them: the word of each field, and what lies behind the words. The
// same as columns/src/column.rs on the CPU; the structure is that of columns/src/device.rs.
#pragma once
#include "block.cuh"

// How values are stored.
#define FORM_NULL 0u       // there are none
#define FORM_BITS 1u
#define FORM_NUMBER 2u     // `width` bytes, the low ones of the word
#define FORM_SCALED 3u     // signed, of 4 or 8 bytes; in other units than the word
#define FORM_DAYS 4u       // signed, of 8 bytes; the word has 32 bits
#define FORM_UNSIGNED 5u   // 8 bytes that fit a signed number
#define FORM_DECIMAL 6u    // 16 bytes that fit a word
#define FORM_WIDE 7u       // decimals of 16 bytes
#define FORM_INTERVAL 8u   // months, days, nanoseconds
#define FORM_OFFSETS32 9u
#define FORM_OFFSETS64 10u
#define FORM_FIXED 11u     // `width` bytes behind the words

// From a value's units to the word's.
#define SCALE_SAME 0u
#define SCALE_TIMES 1u
#define SCALE_OVER 2u

// What is checked of values that are written.
#define FLAG_UNSIGNED 1u  // words are less than 2^(8 width)
#define FLAG_TEXT 2u      // values are UTF-8

// `first`: number of the batch's first value among those of the buffers.
struct Column {
  const u8 *valid, *values, *bytes;
  u64 first;
  i64 factor;
  u32 form, scale, width, flags;
};

struct Span {
  i64 at, end;
  DEVICE u32 size() const { return (u32)(end - at); }
};

DEVICE bool bit_at(const u8* bits, u64 i) { return bits[i / 8] >> (i % 8) & 1; }
DEVICE bool is_valid(const Column& c, u32 row) {
  return c.form != FORM_NULL && (!c.valid || bit_at(c.valid, c.first + row));
}
DEVICE bool has_slot(const Column& c) { return c.form >= FORM_WIDE; }
// Its slot has 16 bytes, also that of a null.
DEVICE bool has_slot16(const Column& c) { return c.form == FORM_WIDE || c.form == FORM_INTERVAL; }

DEVICE u64 number_at(const u8* at, u32 width) {
  if (width == 8) return *(const u64*)at;
  if (width == 4) return *(const u32*)at;
  return load_short(at, width);
}

// False if it is no whole number, or does not fit.
DEVICE bool rescale(i64 value, u32 scale, i64 factor, i64& to) {
  to = value;
  if (scale == SCALE_TIMES) {
    const i64 most = 0x7fffffffffffffffll;
    if (value > most / factor || value < (-most - 1) / factor) return false;
    to = value * factor;
  }
  if (scale == SCALE_OVER) {
    to = value / factor;
    return value % factor == 0;
  }
  return true;
}

// The word of a value that is not null and has no slot; false if it does not fit.
DEVICE bool word_of(const Column& c, u32 row, u64& word) {
  u64 i = c.first + row;
  i64 number;
  bool fits = true;
  word = 0;
  switch (c.form) {
    case FORM_BITS:
      word = bit_at(c.values, i);
      break;
    case FORM_NUMBER:
      word = number_at(c.values + i * c.width, c.width);
      break;
    case FORM_SCALED:
      number = c.width == 4 ? ((const i32*)c.values)[i] : ((const i64*)c.values)[i];
      fits = rescale(number, c.scale, c.factor, number);
      word = (u64)number;
      break;
    case FORM_DAYS:
      fits = rescale(((const i64*)c.values)[i], c.scale, c.factor, number) && number == (i32)number;
      word = (u32)number;
      break;
    case FORM_UNSIGNED:
      word = ((const u64*)c.values)[i];
      fits = (i64)word >= 0;
      break;
    case FORM_DECIMAL: {
      const u64* value = (const u64*)c.values + 2 * i;
      word = value[0];
      fits = value[1] == ((i64)word < 0 ? ~0ull : 0);
      break;
    }
  }
  return fits;
}

// Where a value of variable length lies among the bytes.
DEVICE Span span_of(const Column& c, u32 row) {
  u64 i = c.first + row;
  if (c.form == FORM_OFFSETS32) return {((const i32*)c.values)[i], ((const i32*)c.values)[i + 1]};
  if (c.form == FORM_OFFSETS64) return {((const i64*)c.values)[i], ((const i64*)c.values)[i + 1]};
  return {(i64)(i * c.width), (i64)((i + 1) * c.width)};
}

DEVICE const u8* bytes_of(const Column& c, const Span& span) {
  return (c.form == FORM_FIXED ? c.values : c.bytes) + span.at;
}

// Bytes of a decimal as Java writes it, without those at the front that only repeat the sign.
DEVICE u32 decimal_size(const u64* value) {
  u64 sign = (i64)value[1] < 0 ? ~0ull : 0, high = value[1] ^ sign, low = value[0] ^ sign;
  u32 zeros = high ? __clzll(high) : low ? 64 + __clzll(low) : 128;
  return (128 - zeros) / 8 + 1;
}

// The word of a field with a slot that begins at `end`, which it moves behind the slot.
DEVICE u64 slot_word_of(const Column& c, u32 row, bool valid, u32& end) {
  u64 at = (u64)end << 32;
  if (has_slot16(c)) {
    end += 16;
    if (c.form == FORM_INTERVAL) return at | 16;
    return valid ? at | decimal_size((const u64*)c.values + 2 * (c.first + row)) : at;
  }
  if (!valid) return 0;
  u32 size = span_of(c, row).size();
  end += (size + 7) & ~7u;
  return at | size;
}

// Bytes 8 k to 8 k + 7 of a value's slot: zeros behind the value.
DEVICE u64 word_of_slot(const Column& c, u32 row, u32 k) {
  if (!is_valid(c, row)) return 0;
  if (c.form == FORM_WIDE) {
    const u64* value = (const u64*)c.values + 2 * (c.first + row);
    u64 word = 0;
    // Number of the slot's first byte among the decimal's, the lowest of which is the last one of the slot.
    i32 from = (i32)decimal_size(value) - 1 - 8 * (i32)k;
    for (i32 b = 0; b < 8 && from - b >= 0; b++) {
      u32 byte = (u32)(from - b);
      word |= (value[byte / 8] >> (8 * (byte % 8)) & 255) << (8 * b);
    }
    return word;
  }
  if (c.form == FORM_INTERVAL) {
    const i64* value = (const i64*)c.values + 2 * (c.first + row);
    return k == 0 ? (u64)value[0] : (u64)(value[1] / 1000);
  }
  Span span = span_of(c, row);
  i64 left = span.end - span.at - 8 * (i64)k;
  const u8* at = bytes_of(c, span) + 8ull * k;
  return left >= 8 ? load64(at) : left > 0 ? load_short(at, (u32)left) : 0;
}

// Bytes of a row's slot in this column; `wrong` if a row cannot have the value.
DEVICE u32 measure_value(const Column& c, u32 row, u32 most, u32& wrong) {
  bool valid = is_valid(c, row);
  if (!has_slot(c)) {
    u64 word;
    wrong |= valid && !word_of(c, row, word);
    return 0;
  }
  if (has_slot16(c)) {
    wrong |= c.form == FORM_INTERVAL && valid && ((const i64*)c.values)[2 * (c.first + row) + 1] % 1000 != 0;
    return 16;
  }
  Span span = span_of(c, row);
  // Also of nulls: the offsets that follow count from theirs.
  wrong |= span.at < 0 || span.end < span.at || (c.form != FORM_FIXED && !c.bytes && span.end > span.at);
  if (!valid || wrong) return 0;
  // Too long for a row, whatever else it has.
  return span.end - span.at > most ? most + 8 : (span.size() + 7) & ~7u;
}
