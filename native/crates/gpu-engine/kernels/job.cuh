// What the kernels of an encode share: the batch, and where in the device's memory each step leaves its results. The
// same in Rust: src/encode_job.rs.
#pragma once
#include "source.cuh"

// A frame has the fewest rows that have so many bytes together, or so many rows (docs/block-format.md).
#define FRAME_BYTES (160u << 10)
#define FRAME_ROWS 4096u
#define FRAME_TILE 512u
#define HEADER_BYTES 32u
// Longer rows are left to the CPU.
#define MOST_ROW_BYTES (64u << 10)

// Kinds of fields.
#define KIND_WORD 0
#define KIND_VAR 1
#define KIND_VAR16 2

// What went wrong; the batch is encoded by the CPU, which also says what is wrong with it.
#define BAD_ENTRY 1u
#define ROW_TOO_LONG 2u
#define BAD_VALUE 4u
// A field was taken for another kind than its column has.
#define NEEDS_ROWS 8u

// Rows of a page: `entries` of the batch's entries from number `first` on; its rows' bytes begin at `at`.
struct Page {
  u64 at;
  u32 used, entries, first, unused;
};

// Rows `first` to `first + rows` of the sorted order.
struct Frame {
  u32 first, rows, partition, plain;
  // Whether a general codec has to look at its bytes: then the CPU makes it.
  u32 codec, unused;
  u64 bytes;    // of its rows
  u64 payload;  // bytes of the payload
  u64 place;    // where the frame begins in the output
  u64 hash_xor, hash_sum;
};

struct Summary {
  u32 status, frames;
  u64 bytes;  // of all frames
};

// General codecs (`codec` of a job). The bytes that others than LZ4 would get are left to the CPU.
#define CODEC_NONE 0u
#define CODEC_LZ4 1u
#define CODEC_OTHER 2u

// `plain`: frames have rows as they are. `probe_sixteenths`: a body is compressed if no more than so many sixteenths of
// its first bytes come out.
struct EncodeJob {
  // Pages of rows, or null if the rows are those of `sources`: then `sorted_at` has numbers of rows.
  const u8* rows;
  const Column* sources;
  // Row offset in the page (low half) and partition (high half); those of a page in reverse order, as in the page.
  const u64* entries;
  const Page* pages;
  u32 *keys, *keys_other, *order, *order_other;
  // Of each entry's row: where its bytes are, and how many.
  u64* row_at;
  u32* row_bytes;
  // In the sorted order. `prefix[i]`: bytes of the rows before row i.
  u64 *sorted_at, *prefix;
  u32* starts;           // of each partition, and the number of rows
  u64* frames_before;    // of each partition, and the number of frames
  Frame* frames;
  u64* columns;          // words of rows, by frame and column
  u32* ends;             // of each row its predicted part
  u8* kinds;             // by frame and field
  u32* slots_before;     // by frame and field: bytes of the slots of the fields before
  u64* var_words;        // words of slots, by frame, field and number of the word
  u64* var_counts;       // how many of those: 16 bits for each of four
  u64* tail_bytes;       // of each row
  u8 *encoded_columns, *encoded_vars;
  u32* item_bytes;       // by frame and item: lengths, then places in the payload
  u64* frame_bytes;      // lengths, then places in the output
  u8* output;
  Summary* summary;
  const u32* crc_tables;
  u32 row_count, page_count, partitions, fields, words, most_frames, codec, plain, hash_rows, probe_sixteenths;
};

// Items of a frame's payload behind the kinds, in this order: columns; the lengths of the tails; the tails; the var
// data of each field.
DEVICE u32 items_of(const EncodeJob& job) { return job.words + 2 + job.fields; }
DEVICE u32* item_of(const EncodeJob& job, u32 f, u32 item) { return job.item_bytes + (u64)f * items_of(job) + item; }
DEVICE u32 stride_of(u32 rows) { return (rows + 7) / 8 * 8; }
DEVICE u32 bitset_words(const EncodeJob& job) { return job.words - job.fields; }

// Column `w` of a frame. Before frame f there are at most `first + 8 f` values of each column.
DEVICE u64* column_of(const EncodeJob& job, u32 f, const Frame& frame, u32 w) {
  u64 before = (u64)job.words * (frame.first + 8ull * f);
  return job.columns + before + (u64)w * stride_of(frame.rows);
}
// Room for `rows` values in any encoding: their words and a tag, or at least a constant with its tag.
DEVICE u64 encoded_room(u32 rows) { return 8ull * rows + 16; }
DEVICE u8* encoded_column_of(const EncodeJob& job, u32 f, const Frame& frame, u32 w) {
  u64 before = (job.words + 1ull) * (8ull * frame.first + 16ull * f);
  return job.encoded_columns + before + w * encoded_room(frame.rows);
}
// Room for the var data of a frame before those of `field`, and before that for the frames before: all slots, and for
// each field (the tails are one more) a mode byte and the heads of four columns.
#define VAR_ROOM 64u
DEVICE u64 var_room_before(const EncodeJob& job, u32 f, const Frame& frame, u32 field, u32 slots_before) {
  u64 rows = (job.prefix[frame.first] + 7) / 8 * 8, each = (job.fields + 1ull) * f;
  return rows + (each + field) * VAR_ROOM + slots_before;
}
DEVICE u32 slots_before(const EncodeJob& job, u32 f, u32 field) {
  return job.slots_before[(u64)f * (job.fields + 1) + field];
}
DEVICE u8* encoded_var_of(const EncodeJob& job, u32 f, const Frame& frame, u32 field) {
  return job.encoded_vars + var_room_before(job, f, frame, field, slots_before(job, f, field));
}
DEVICE u64* var_words_of(const EncodeJob& job, u32 f, const Frame& frame, u32 field) {
  return job.var_words + var_room_before(job, f, frame, field, slots_before(job, f, field)) / 8;
}

// Calls `each(w, word)` for the words of a row of columns, in any order.
template <class Each>
DEVICE void for_each_word(const EncodeJob& job, u32 row, Each each) {
  u32 first = bitset_words(job), end = job.words * 8;
  u64 nulls = 0;
  for (u32 field = 0; field < job.fields; field++) {
    Column column = job.sources[field];
    bool valid = is_valid(column, row);
    u64 word = 0;
    if (has_slot(column)) word = slot_word_of(column, row, valid, end);
    else if (valid) word_of(column, row, word);
    each(first + field, word);
    nulls |= (u64)!valid << (field % 64);
    if (field % 64 == 63 || field + 1 == job.fields) {
      each(field / 64, nulls);
      nulls = 0;
    }
  }
}

DEVICE u32 round8(u32 bytes) { return (bytes + 7) & ~7u; }

// Bytes of the slot that a word describes.
DEVICE u64 slot_bytes(u32 kind, u64 word) {
  if (word == 0 || kind == KIND_WORD) return 0;
  return kind == KIND_VAR ? ((word & 0xffffffffull) + 7) & ~7ull : 16;
}
