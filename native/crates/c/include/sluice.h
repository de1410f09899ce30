/*
 * The frames of Sluice's shuffles for engines that are not on a JVM: rows in columns to frames, their partitions, and
 * frames to columns; or rows as Spark has them, to frames and back. Columns come and go by Arrow's C Data Interface;
 * which types there are, and which Spark type each stands for, is in docs/engines.md. The frames are those that Sluice
 * makes of the same rows in Spark.
 *
 * Results. A function that can fail returns SLUICE_OK or one of the other numbers; what is wrong, and where, says
 * sluice_last_error(). Where it fails, what it would have written through pointers to pointers is NULL. A null pointer
 * where one is needed is SLUICE_INVALID; any other wrong pointer is undefined behaviour.
 *
 * Ownership. What a function gives through `out` belongs to the caller, who gives it to the function with _free of that
 * type, once; NULL may be given to those. Arrays and streams of Arrow's that are given to a function are moved: they
 * belong to Sluice from the call on, also where it fails, their `release` is NULL afterwards, and Sluice calls the
 * producer's release once. Schemas are read during the call and stay the caller's.
 *
 * Threads. Schemas and batches never change: any threads may use one at once. Encoders, decoders and streams are used by
 * one call at a time: not by two threads at once, and not from a callback of the call that uses them, neither for another
 * call nor to free them. No function keeps a thread, a file or a lock.
 *
 * ABI. Functions and numbers stay as they are while SLUICE_ABI_VERSION does; new ones may be added. A program should
 * compare SLUICE_ABI_VERSION with sluice_abi_version() once.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_ABI_VERSION 1

/* Arrow's C Data Interface and C Stream Interface, as their specification gives them. */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* Results */

/* Done. */
#define SLUICE_OK 0
/* The arguments, or a producer's arrays, contradict themselves or each other. */
#define SLUICE_INVALID 1
/* They are right, but there is no way for them here (nested types, for example): the rows must go another way
 * (sluice_encode_rows). */
#define SLUICE_UNSUPPORTED 2
/* A stream said that it failed. */
#define SLUICE_PRODUCER 3
/* Bytes are no frames, or their rows are none of the schema. */
#define SLUICE_CORRUPT 4
/* Memory could not be had. */
#define SLUICE_NO_MEMORY 5
/* A sink returned something else than 0. */
#define SLUICE_SINK 6
/* A defect of Sluice; the call's encoder, decoder or stream must not be used any more. */
#define SLUICE_DEFECT 7

/* The ABI version of the library. */
uint32_t sluice_abi_version(void);

/* The library's version; a string that is always there. */
const char *sluice_version(void);

/* What the last call on this thread that failed found wrong; empty before the first, and in what runs when the thread ends.
 * There until the next call on this thread fails. */
const char *sluice_last_error(void);

/* Schemas of batches: structs ("+s") whose children are the columns. */

typedef struct sluice_schema sluice_schema;

int32_t sluice_schema_new(const struct ArrowSchema *schema, sluice_schema **out);
void sluice_schema_free(sluice_schema *schema);

/* Batches: rows in columns, checked. What they refer to is released when they are freed. */

typedef struct sluice_batch sluice_batch;

int32_t sluice_batch_import(const sluice_schema *schema, struct ArrowArray *array, sluice_batch **out);
uint64_t sluice_batch_rows(const sluice_batch *batch);
void sluice_batch_free(sluice_batch *batch);

/* Streams of batches. At its end, sluice_stream_next gives NULL. */

typedef struct sluice_stream sluice_stream;

int32_t sluice_stream_open(struct ArrowArrayStream *stream, sluice_stream **out);
int32_t sluice_stream_next(sluice_stream *stream, sluice_batch **out);
void sluice_stream_free(sluice_stream *stream);

/* The partition of each row of a batch, as Spark gives it to such a row; `ids` has room for as many as the batch has
 * rows. */

/* By Spark's hash of these columns, in this order. */
int32_t sluice_partition_hash(const sluice_batch *batch, const uint32_t *columns, size_t n_columns, uint32_t partitions,
                              uint32_t *ids);

typedef struct {
  /* Which column. */
  uint32_t column;
  /* 1 if larger values come first, else 0. */
  uint8_t descending;
  /* 1 if nulls come before all values, else 0. */
  uint8_t nulls_first;
  /* 0. */
  uint16_t reserved;
} sluice_sort_key;

/* By ranges of an order: `bounds` has a column for each key, and strictly ascending rows; the partitions are one more. */
int32_t sluice_partition_range(const sluice_batch *batch, const sluice_sort_key *keys, size_t n_keys,
                               const sluice_batch *bounds, uint32_t *ids);

/* In turn; the first row gets the partition after `position`. */
int32_t sluice_partition_round_robin(const sluice_batch *batch, int32_t position, uint32_t partitions, uint32_t *ids);

/* Encoders: batches to frames. */

typedef struct sluice_encoder sluice_encoder;

#define SLUICE_CODEC_NONE 0
#define SLUICE_CODEC_LZ4 1
#define SLUICE_CODEC_ZSTD 2
#define SLUICE_CODEC_SNAPPY 3

/* Rows as they are. */
#define SLUICE_LEVEL_PLAIN 0
/* By column; the codec only where it gains much. What Sluice does in Spark, with LZ4. */
#define SLUICE_LEVEL_FAST 1
/* By column; the codec where it gains. */
#define SLUICE_LEVEL_SMALL 2

int32_t sluice_encoder_new(int32_t codec, int32_t level, sluice_encoder **out);
void sluice_encoder_free(sluice_encoder *encoder);

/* Takes a frame of a partition, which is there until it returns; returns 0, or something else to end the call. It must not
 * leave by an exception or longjmp. While the call of sluice_encode or sluice_encode_rows lasts, it must not use
 * the encoder of that call, nor free the encoder or one of the batches, nor change the rows. */
typedef int32_t (*sluice_sink)(void *context, uint32_t partition, const uint8_t *frame, size_t bytes);

/* Encodes all rows of these batches, by partition in ascending order, those of a partition in the order in which they
 * come. `ids[i]` are the partitions of batch `i`; if `ids` is NULL, all rows are in partition 0. A block is the frames of
 * one partition, one behind the other, also those of several calls. More rows in one call make better frames: some
 * thousand rows a partition. With `ids` the encoder keeps memory for copies of rows, at most 64 MiB and
 * eight bytes a partition, until it is freed. A partition of more than 64 MiB takes eight bytes a row while the call
 * lasts. */
int32_t sluice_encode(sluice_encoder *encoder, const sluice_batch *const *batches, size_t n_batches,
                      const uint32_t *const *ids, uint32_t partitions, sluice_sink sink, void *context);

/* Encodes rows that are Spark's UnsafeRows, for what there is no way for by columns (nested types): `n_rows` that lie
 * one behind the other from `rows` on, row `i` in `row_bytes[i]` bytes, a multiple of eight, each of `fields` fields.
 * `ids` are the rows' partitions, or NULL; partitions, sink and frames are as with sluice_encode. The rows are read
 * where they are, and neither they nor `row_bytes` and `ids` change during the call, in which 16 bytes are kept for
 * each row; with `ids` 32, and eight for each partition. */
int32_t sluice_encode_rows(sluice_encoder *encoder, const uint8_t *rows, const uint32_t *row_bytes, size_t n_rows,
                           uint32_t fields, const uint32_t *ids, uint32_t partitions, sluice_sink sink, void *context);

/* Decoders: frames to batches, or to rows. */

typedef struct sluice_decoder sluice_decoder;

int32_t sluice_decoder_new(sluice_decoder **out);
void sluice_decoder_free(sluice_decoder *decoder);

/* Decodes frames from the beginning of a block: as long as they have no more than `most_rows` rows together, but at least
 * one. Writes the batch, which the caller releases, and how many bytes of the block it was in. Where it fails, `out` is
 * released. Strings ("u", "U", "vu") are UTF-8; Spark has some that are not, and where a frame has one in a column of
 * strings, that is SLUICE_UNSUPPORTED: ask for such a column as binary ("z"). */
int32_t sluice_decode(sluice_decoder *decoder, const sluice_schema *schema, const uint8_t *block, size_t bytes,
                      size_t most_rows, struct ArrowArray *out, size_t *read);

typedef struct {
  /* Of the frame, in its block. */
  uint64_t bytes;
  /* Of its rows together. */
  uint64_t row_bytes;
  /* How many rows. */
  uint32_t rows;
  /* Fields of each. */
  uint32_t fields;
} sluice_frame;

/* What the frame that a block begins with has, by its header; all 0 where it fails. */
int32_t sluice_frame_read(const uint8_t *block, size_t bytes, sluice_frame *out);

/* Decodes the frame that a block begins with to UnsafeRows, one behind the other, to `rows`, and how many bytes each
 * has to `row_bytes`: room for `row_bytes` and `rows` of its sluice_frame is needed, less is SLUICE_INVALID. Block,
 * rooms and `out` do not overlap. Where it fails, what is in the rooms is undefined, and `out` is all 0. */
int32_t sluice_decode_rows(sluice_decoder *decoder, const uint8_t *block, size_t bytes, uint8_t *rows,
                           size_t room_bytes, uint32_t *row_bytes, size_t room_rows, sluice_frame *out);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_H */
