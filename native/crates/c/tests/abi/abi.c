/*
 * The ABI of SLUICE_ABI_VERSION 1, as a program that was compiled against it relies on: each function with its
 * parameters, each number, and where the members of structs are. Compiled by tests/abi.rs, as C and as C++. What is
 * added to the header is added here; what is here is never changed while the version is 1.
 */
#include <sluice.h>

#include <stddef.h>

#ifdef __cplusplus
#define CHECK(condition) static_assert(condition, #condition)
#else
#define CHECK(condition) _Static_assert(condition, #condition)
#endif

#define FUNCTION(result, name, parameters) \
  extern result(*const abi_##name) parameters; \
  result(*const abi_##name) parameters = name

FUNCTION(uint32_t, sluice_abi_version, (void));
FUNCTION(const char *, sluice_version, (void));
FUNCTION(const char *, sluice_last_error, (void));
FUNCTION(int32_t, sluice_schema_new, (const struct ArrowSchema *, sluice_schema **));
FUNCTION(void, sluice_schema_free, (sluice_schema *));
FUNCTION(int32_t, sluice_batch_import, (const sluice_schema *, struct ArrowArray *, sluice_batch **));
FUNCTION(uint64_t, sluice_batch_rows, (const sluice_batch *));
FUNCTION(void, sluice_batch_free, (sluice_batch *));
FUNCTION(int32_t, sluice_stream_open, (struct ArrowArrayStream *, sluice_stream **));
FUNCTION(int32_t, sluice_stream_next, (sluice_stream *, sluice_batch **));
FUNCTION(void, sluice_stream_free, (sluice_stream *));
FUNCTION(int32_t, sluice_partition_hash, (const sluice_batch *, const uint32_t *, size_t, uint32_t, uint32_t *));
FUNCTION(int32_t, sluice_partition_range,
         (const sluice_batch *, const sluice_sort_key *, size_t, const sluice_batch *, uint32_t *));
FUNCTION(int32_t, sluice_partition_round_robin, (const sluice_batch *, int32_t, uint32_t, uint32_t *));
FUNCTION(int32_t, sluice_encoder_new, (int32_t, int32_t, sluice_encoder **));
FUNCTION(void, sluice_encoder_free, (sluice_encoder *));
FUNCTION(int32_t, sluice_encode,
         (sluice_encoder *, const sluice_batch *const *, size_t, const uint32_t *const *, uint32_t, sluice_sink,
          void *));
FUNCTION(int32_t, sluice_encode_rows,
         (sluice_encoder *, const uint8_t *, const uint32_t *, size_t, uint32_t, const uint32_t *, uint32_t,
          sluice_sink, void *));
FUNCTION(int32_t, sluice_decoder_new, (sluice_decoder **));
FUNCTION(void, sluice_decoder_free, (sluice_decoder *));
FUNCTION(int32_t, sluice_decode,
         (sluice_decoder *, const sluice_schema *, const uint8_t *, size_t, size_t, struct ArrowArray *, size_t *));
FUNCTION(int32_t, sluice_frame_read, (const uint8_t *, size_t, sluice_frame *));
FUNCTION(int32_t, sluice_decode_rows,
         (sluice_decoder *, const uint8_t *, size_t, uint8_t *, size_t, uint32_t *, size_t, sluice_frame *));

FUNCTION(int32_t, sluice_gpu_open, (const char *, const char *, uint64_t, uint32_t, sluice_gpu **));
FUNCTION(void, sluice_gpu_free, (sluice_gpu *));
FUNCTION(int32_t, sluice_gpu_encode,
         (const sluice_gpu *, const sluice_schema *, const struct ArrowDeviceArray *, const uint32_t *, uint32_t,
          int32_t, int32_t, sluice_gpu_frames **));
FUNCTION(uint64_t, sluice_gpu_frames_count, (const sluice_gpu_frames *));
FUNCTION(int32_t, sluice_gpu_frames_get, (const sluice_gpu_frames *, uint64_t, sluice_gpu_frame *));
FUNCTION(uint64_t, sluice_gpu_frames_bytes, (const sluice_gpu_frames *));
FUNCTION(int32_t, sluice_gpu_frames_copy, (const sluice_gpu *, const sluice_gpu_frames *, uint8_t *, size_t));
FUNCTION(void, sluice_gpu_frames_free, (sluice_gpu_frames *));
FUNCTION(int32_t, sluice_gpu_decode,
         (const sluice_gpu *, const sluice_schema *, const uint8_t *const *, const size_t *, size_t, int32_t,
          struct ArrowDeviceArray *));

extern int32_t (*const abi_sink)(void *, uint32_t, const uint8_t *, size_t);
int32_t (*const abi_sink)(void *, uint32_t, const uint8_t *, size_t) = (sluice_sink)0;

CHECK(SLUICE_ABI_VERSION == 1);
CHECK(SLUICE_OK == 0 && SLUICE_INVALID == 1 && SLUICE_UNSUPPORTED == 2 && SLUICE_PRODUCER == 3);
CHECK(SLUICE_CORRUPT == 4 && SLUICE_NO_MEMORY == 5 && SLUICE_SINK == 6 && SLUICE_DEFECT == 7);
CHECK(SLUICE_DECLINED == 8 && SLUICE_GPU_LOST == 9);
CHECK(ARROW_DEVICE_CUDA == 2 && ARROW_DEVICE_CUDA_MANAGED == 13);
CHECK(SLUICE_CODEC_NONE == 0 && SLUICE_CODEC_LZ4 == 1 && SLUICE_CODEC_ZSTD == 2 && SLUICE_CODEC_SNAPPY == 3);
CHECK(SLUICE_LEVEL_PLAIN == 0 && SLUICE_LEVEL_FAST == 1 && SLUICE_LEVEL_SMALL == 2);

CHECK(sizeof(sluice_sort_key) == 8 && offsetof(sluice_sort_key, column) == 0);
CHECK(offsetof(sluice_sort_key, descending) == 4 && offsetof(sluice_sort_key, nulls_first) == 5);
CHECK(offsetof(sluice_sort_key, reserved) == 6);
CHECK(sizeof(sluice_frame) == 24 && offsetof(sluice_frame, bytes) == 0 && offsetof(sluice_frame, row_bytes) == 8);
CHECK(offsetof(sluice_frame, rows) == 16 && offsetof(sluice_frame, fields) == 20);
CHECK(sizeof(struct ArrowSchema) == 72 && offsetof(struct ArrowSchema, release) == 56);
CHECK(sizeof(struct ArrowArray) == 80 && offsetof(struct ArrowArray, release) == 64);
CHECK(sizeof(sluice_gpu_frame) == 24 && offsetof(sluice_gpu_frame, address) == 0);
CHECK(offsetof(sluice_gpu_frame, bytes) == 8 && offsetof(sluice_gpu_frame, partition) == 16);
CHECK(offsetof(sluice_gpu_frame, rows) == 20);
CHECK(sizeof(struct ArrowDeviceArray) == 128 && offsetof(struct ArrowDeviceArray, device_id) == 80);
CHECK(offsetof(struct ArrowDeviceArray, device_type) == 88 && offsetof(struct ArrowDeviceArray, sync_event) == 96);
CHECK(sizeof(struct ArrowArrayStream) == 40 && offsetof(struct ArrowArrayStream, release) == 24);
