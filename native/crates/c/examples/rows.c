/*
 * Rows with a column of a nested type, for which there is no way by columns: made as Spark's UnsafeRows, encoded by
 * partition, and decoded again. Run by tests/c_program.rs, also with sanitizers; prints what it did.
 *
 *   cc -I include examples/rows.c -L <folder of libsluice.a> -lsluice -lpthread -ldl -lm
 */
#include <sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 5000
#define PARTITIONS 3
#define FIELDS 2
/* Null bits, a word for each field, and behind them the array: how many, their null bits, and up to four numbers. */
#define MOST_ROW_BYTES ((1 + FIELDS + 1 + 1 + 4) * 8)

static void check(int32_t result, const char *what) {
  if (result != SLUICE_OK) {
    fprintf(stderr, "%s: %d: %s\n", what, (int)result, sluice_last_error());
    exit(1);
  }
}

static void expect(int condition, const char *what) {
  if (!condition) {
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
  }
}

/* Row `id`: its number, and an array of the `id % 5` numbers id, id + 1, ...; null for every seventh row. Returns its
 * bytes. */
static uint32_t make_row(uint64_t id, uint64_t *words) {
  uint64_t count = id % 5;
  memset(words, 0, MOST_ROW_BYTES);
  words[1] = id;
  if (id % 7 == 0) {
    words[0] = 1u << 1;
    return (1 + FIELDS) * 8;
  }
  uint64_t offset = (1 + FIELDS) * 8, size = (1 + 1 + count) * 8;
  words[2] = offset << 32 | size;
  words[3] = count;
  for (uint64_t i = 0; i < count; i++) words[5 + i] = id + i;
  return (uint32_t)(offset + size);
}

/* The blocks of all partitions. */
struct blocks {
  uint8_t *bytes[PARTITIONS];
  size_t length[PARTITIONS];
};

static int32_t append(void *context, uint32_t partition, const uint8_t *frame, size_t bytes) {
  struct blocks *blocks = context;
  uint8_t *longer = realloc(blocks->bytes[partition], blocks->length[partition] + bytes);
  if (longer == NULL) return 1;
  memcpy(longer + blocks->length[partition], frame, bytes);
  blocks->bytes[partition] = longer;
  blocks->length[partition] += bytes;
  return 0;
}

/* Compares the rows of a partition's block, which are in the order in which they were given; returns how many. */
static uint64_t read_block(sluice_decoder *decoder, const uint8_t *block, size_t bytes, uint32_t partition) {
  uint64_t count = 0;
  while (bytes > 0) {
    sluice_frame frame, decoded;
    check(sluice_frame_read(block, bytes, &frame), "sluice_frame_read");
    expect(frame.fields == FIELDS && frame.rows > 0, "the frame is of our rows");
    uint8_t *rows = malloc(frame.row_bytes);
    uint32_t *row_bytes = malloc(frame.rows * sizeof *row_bytes);
    expect(rows != NULL && row_bytes != NULL, "there is memory");
    expect(sluice_decode_rows(decoder, block, bytes, rows, frame.row_bytes, row_bytes, frame.rows - 1, &decoded) ==
                   SLUICE_INVALID &&
               decoded.bytes == 0,
           "less room is refused");
    check(sluice_decode_rows(decoder, block, bytes, rows, frame.row_bytes, row_bytes, frame.rows, &decoded),
          "sluice_decode_rows");
    expect(decoded.bytes == frame.bytes && decoded.row_bytes == frame.row_bytes, "it is the frame that was announced");
    uint64_t words[MOST_ROW_BYTES / 8];
    const uint8_t *row = rows;
    for (uint32_t i = 0; i < frame.rows; i++, count++) {
      uint32_t expected = make_row(count * PARTITIONS + partition, words);
      expect(row_bytes[i] == expected && memcmp(row, words, expected) == 0, "every row came back");
      row += row_bytes[i];
    }
    free(rows);
    free(row_bytes);
    block += frame.bytes;
    bytes -= frame.bytes;
  }
  return count;
}

int main(void) {
  expect(sluice_abi_version() == SLUICE_ABI_VERSION, "header and library are of one version");
  uint8_t *rows = malloc((size_t)ROWS * MOST_ROW_BYTES);
  uint32_t *row_bytes = malloc(ROWS * sizeof *row_bytes), *ids = malloc(ROWS * sizeof *ids);
  expect(rows != NULL && row_bytes != NULL && ids != NULL, "there is memory");
  size_t length = 0;
  for (uint32_t i = 0; i < ROWS; i++) {
    uint64_t words[MOST_ROW_BYTES / 8];
    row_bytes[i] = make_row(i, words);
    ids[i] = i % PARTITIONS;
    memcpy(rows + length, words, row_bytes[i]);
    length += row_bytes[i];
  }
  sluice_encoder *encoder = NULL;
  sluice_decoder *decoder = NULL;
  check(sluice_encoder_new(SLUICE_CODEC_LZ4, SLUICE_LEVEL_FAST, &encoder), "sluice_encoder_new");
  check(sluice_decoder_new(&decoder), "sluice_decoder_new");
  struct blocks blocks = {0};
  check(sluice_encode_rows(encoder, rows, row_bytes, ROWS, FIELDS, ids, PARTITIONS, append, &blocks),
        "sluice_encode_rows");
  expect(sluice_encode_rows(encoder, rows, row_bytes, ROWS, 40, ids, PARTITIONS, append, &blocks) == SLUICE_INVALID &&
             strstr(sluice_last_error(), "row 0 has 24 bytes") != NULL,
         "rows of fewer fields are refused");
  expect(sluice_encode_rows(encoder, NULL, row_bytes, ROWS, FIELDS, ids, PARTITIONS, append, &blocks) == SLUICE_INVALID,
         "null pointers are refused");
  ids[17] = PARTITIONS;
  expect(sluice_encode_rows(encoder, rows, row_bytes, ROWS, FIELDS, ids, PARTITIONS, append, &blocks) ==
                 SLUICE_INVALID &&
             strstr(sluice_last_error(), "row 17: partition 3 of 3") != NULL,
         "a partition that is none is refused");

  uint64_t count = 0;
  size_t bytes = 0;
  for (uint32_t partition = 0; partition < PARTITIONS; partition++) {
    count += read_block(decoder, blocks.bytes[partition], blocks.length[partition], partition);
    bytes += blocks.length[partition];
    free(blocks.bytes[partition]);
  }
  expect(count == ROWS && bytes < length, "all rows came back, and the frames are smaller than they");
  sluice_decoder_free(decoder);
  sluice_encoder_free(encoder);
  free(rows);
  free(row_bytes);
  free(ids);
  printf("%d nested rows, %zu bytes in %zu\n", ROWS, length, bytes);
  return 0;
}
