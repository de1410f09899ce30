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
 * producer's release once. Schemas, and arrays in a GPU's memory, are read during the call and stay the caller's.
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

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;

#define ARROW_DEVICE_CUDA 2
#define ARROW_DEVICE_CUDA_MANAGED 13

struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id;
  ArrowDeviceType device_type;
  void *sync_event;
  int64_t reserved[3];
};

#endif /* ARROW_C_DEVICE_DATA_INTERFACE */

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
/* The GPU did not do it: it has not the memory, or there is no way for it there, or a check failed. Nothing was put out.
 * The CPU can do it from the same input, or says what is wrong with it. */
#define SLUICE_DECLINED 8
/* The same, and the GPU is lost: it declines everything from now on. */
#define SLUICE_GPU_LOST 9

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

/* GPUs of NVIDIA's: columns in their memory to frames there, and back, by Arrow's C Device Data Interface. The driver
 * (libcuda.so.1) is looked for by sluice_gpu_open, so programs need none to start. Any threads may use a GPU at once; each
 * has its thread's default stream, and a call returns when its work there has ended. */

typedef struct sluice_gpu sluice_gpu;

/* Opens a GPU, loads Sluice's kernels and tests them, which may take seconds. `device` is a number as nvidia-smi counts or
 * a UUID, NULL if the process sees one GPU only; `kernels` is the folder with the kernels (io/sluice/native/gpu of the
 * jar, build/gpu-kernels/jar of a build). No more than `memory` bytes of the GPU's memory are taken, at least 256 MiB, in
 * pieces of up to 1 GiB, and given back when the GPU is freed. A wait for Sluice's own work that lasts longer than
 * `timeout_ms` means that the GPU is lost. Where there is no GPU, or no kernels for it, that is SLUICE_DECLINED. */
int32_t sluice_gpu_open(const char *device, const char *kernels, uint64_t memory, uint32_t timeout_ms,
                        sluice_gpu **out);
/* When nobody has frames or arrays of it any more. */
void sluice_gpu_free(sluice_gpu *gpu);

typedef struct {
  /* Where it begins in the GPU's memory; not aligned. */
  const uint8_t *address;
  uint64_t bytes;
  /* Whose rows it has. */
  uint32_t partition;
  /* How many. */
  uint32_t rows;
} sluice_gpu_frame;

/* Frames in the GPU's memory, one behind the other, by partition in ascending order. */

typedef struct sluice_gpu_frames sluice_gpu_frames;

/* Encodes a batch by partition: the frames that sluice_encode makes of the same rows. `array` has the columns of `schema`
 * in the GPU's memory; its sync_event, and what the thread's default stream has to do, are waited for first: not in time
 * is SLUICE_DECLINED. `ids` is the address in the GPU's memory of each row's partition, written before the call or before
 * sync_event; if it is NULL, `partitions` is 1. Buffers are as long as Arrow says, values of up to 8 bytes aligned to their
 * length; other addresses than those of the GPU's memory lose the GPU. Where a column has a mask, the mask says which
 * values are null, and not null_count; a batch with a mask of its own is SLUICE_UNSUPPORTED, unless its null_count is 0.
 * There are LZ4 and no codec; where another one would have to look at long values, that is SLUICE_DECLINED, and so are
 * rows of more than 64 KiB. Dictionaries and views are SLUICE_UNSUPPORTED. */
int32_t sluice_gpu_encode(const sluice_gpu *gpu, const sluice_schema *schema, const struct ArrowDeviceArray *array,
                          const uint32_t *ids, uint32_t partitions, int32_t codec, int32_t level,
                          sluice_gpu_frames **out);
uint64_t sluice_gpu_frames_count(const sluice_gpu_frames *frames);
/* Frame `i` from 0 on. */
int32_t sluice_gpu_frames_get(const sluice_gpu_frames *frames, uint64_t i, sluice_gpu_frame *out);
/* Of all frames. */
uint64_t sluice_gpu_frames_bytes(const sluice_gpu_frames *frames);
/* Copies all frames to the host's memory, where there is room for as many bytes as they have. */
int32_t sluice_gpu_frames_copy(const sluice_gpu *gpu, const sluice_gpu_frames *frames, uint8_t *target, size_t bytes);
void sluice_gpu_frames_free(sluice_gpu_frames *frames);

/* Decodes whole frames to one batch of the schema's columns in the GPU's memory. The frames lie in the host's memory, or
 * in the GPU's if `on_gpu` is not 0, and are there when the call begins; each begins at `frames[i]` and has
 * `frame_bytes[i]` bytes (those of sluice_frame). Writes the batch, which the caller releases, in any thread, when its own
 * work with it has ended; its buffers are ready, and sync_event is NULL. Where it fails, `out` is released. Frames that
 * were compressed by a codec, or that have more than 1 MiB of rows, are SLUICE_DECLINED; schemas with dictionaries or views
 * are SLUICE_UNSUPPORTED. */
int32_t sluice_gpu_decode(const sluice_gpu *gpu, const sluice_schema *schema, const uint8_t *const *frames,
                          const size_t *frame_bytes, size_t n_frames, int32_t on_gpu, struct ArrowDeviceArray *out);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_H */
