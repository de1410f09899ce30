/*
 * An engine's exchange on a GPU, in C: columns in the GPU's memory are encoded there by partition, the frames are those
 * that the CPU makes of the same columns, and they are decoded to columns in the GPU's memory again. Run by
 * tests/c_program.rs on a simulated GPU; prints what it did.
 *
 *   cc -I include examples/gpu.c -L <folder of libsluice.a> -lsluice -lpthread -ldl -lm
 *   ./a.out <folder with kernels: build/gpu-kernels/jar>
 */
#define _POSIX_C_SOURCE 200809L
#include <sluice.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 2000
#define PARTITIONS 3

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

/* The engine's own side of the GPU: memory and copies, here by the driver's functions. */

typedef uint64_t address;
static int (*init)(unsigned), (*device_get)(int *, int), (*retain)(void **, int), (*push_context)(void *);
static int (*allocate)(address *, size_t), (*release_memory)(address), (*query)(void *);
static int (*copy_to)(address, const void *, size_t, void *), (*copy_from)(void *, address, size_t, void *);

static void *driver_function(void *driver, const char *name) {
  void *function = dlsym(driver, name);
  expect(function != NULL, name);
  return function;
}

static void open_driver(void) {
  const char *named = getenv("SLUICE_CUDA_LIBRARY");
  void *driver = dlopen(named != NULL ? named : "libcuda.so.1", RTLD_NOW), *context = NULL;
  expect(driver != NULL, "there is a driver");
  *(void **)&init = driver_function(driver, "cuInit");
  *(void **)&device_get = driver_function(driver, "cuDeviceGet");
  *(void **)&retain = driver_function(driver, "cuDevicePrimaryCtxRetain");
  *(void **)&push_context = driver_function(driver, "cuCtxPushCurrent_v2");
  *(void **)&allocate = driver_function(driver, "cuMemAlloc_v2");
  *(void **)&release_memory = driver_function(driver, "cuMemFree_v2");
  *(void **)&copy_to = driver_function(driver, "cuMemcpyHtoDAsync_v2");
  *(void **)&copy_from = driver_function(driver, "cuMemcpyDtoHAsync_v2");
  *(void **)&query = driver_function(driver, "cuStreamQuery");
  int device = 0;
  expect(init(0) == 0 && device_get(&device, 0) == 0 && retain(&context, device) == 0 && push_context(context) == 0,
         "the driver has a GPU");
}

/* Waits for the copies of the default stream. */
static void finish(void) {
  const int not_ready = 600;
  int result;
  while ((result = query(NULL)) == not_ready) {
  }
  expect(result == 0, "the GPU has copied");
}

/* Bytes of the host, on the GPU. */
static address copy(const void *bytes, size_t length) {
  address there = 0;
  expect(allocate(&there, length) == 0 && copy_to(there, bytes, length, NULL) == 0, "the GPU has memory");
  finish();
  return there;
}

/* Bytes of the GPU, on the host. */
static void copy_back(void *bytes, const void *there, size_t length) {
  expect(copy_from(bytes, (address)(uintptr_t)there, length, NULL) == 0, "the GPU copies");
  finish();
}

/* The table: row i has the number i * 7, and the text "name <i % 10>". */

static int64_t numbers[ROWS];
static int32_t offsets[ROWS + 1];
static char text[ROWS * 6];
static uint32_t ids[ROWS];

static void make_table(void) {
  for (int i = 0; i < ROWS; i++) {
    numbers[i] = i * 7;
    ids[i] = (uint32_t)(i / 3 % PARTITIONS);
    memcpy(text + offsets[i], "name ", 5);
    text[offsets[i] + 5] = (char)('0' + i % 10);
    offsets[i + 1] = offsets[i] + 6;
  }
}

/* Nothing of it was allocated, so nothing is to be freed. */
static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }

/* Both columns, with the addresses of their buffers; it refers to what it is given. */
struct table {
  const void *of_numbers[2], *of_text[3], *of_batch[1];
  struct ArrowArray columns[2], *children[2], batch;
};

static void describe(struct table *table, const void *number, const void *offset, const void *bytes) {
  memset(table, 0, sizeof *table);
  table->of_numbers[1] = number;
  table->of_text[1] = offset;
  table->of_text[2] = bytes;
  table->columns[0] =
      (struct ArrowArray){.length = ROWS, .n_buffers = 2, .buffers = table->of_numbers, .release = release_array};
  table->columns[1] =
      (struct ArrowArray){.length = ROWS, .n_buffers = 3, .buffers = table->of_text, .release = release_array};
  for (int i = 0; i < 2; i++) table->children[i] = &table->columns[i];
  table->batch = (struct ArrowArray){.length = ROWS,
                                     .n_buffers = 1,
                                     .n_children = 2,
                                     .buffers = table->of_batch,
                                     .children = table->children,
                                     .release = release_array};
}

static sluice_schema *make_schema(const char *second) {
  struct ArrowSchema id = {.format = "l", .name = "id", .release = release_schema};
  struct ArrowSchema name = {.format = second, .name = "name", .release = release_schema};
  struct ArrowSchema *children[] = {&id, &name};
  struct ArrowSchema batch = {.format = "+s", .n_children = 2, .children = children, .release = release_schema};
  sluice_schema *schema = NULL;
  check(sluice_schema_new(&batch, &schema), "sluice_schema_new");
  return schema;
}

/* Frames of the CPU, compared with those that came from the GPU. */
struct expected {
  const uint8_t *bytes;
  size_t length, done;
};

static int32_t compare(void *context, uint32_t partition, const uint8_t *frame, size_t bytes) {
  struct expected *expected = context;
  (void)partition;
  if (bytes > expected->length - expected->done) return 1;
  if (memcmp(expected->bytes + expected->done, frame, bytes) != 0) return 2;
  expected->done += bytes;
  return 0;
}

static void compare_with_cpu(const sluice_schema *schema, const uint8_t *bytes, size_t length) {
  struct table table;
  describe(&table, numbers, offsets, text);
  sluice_batch *batch = NULL;
  sluice_encoder *encoder = NULL;
  check(sluice_batch_import(schema, &table.batch, &batch), "sluice_batch_import");
  check(sluice_encoder_new(SLUICE_CODEC_NONE, SLUICE_LEVEL_FAST, &encoder), "sluice_encoder_new");
  const sluice_batch *const batches[] = {batch};
  const uint32_t *const of_rows[] = {ids};
  struct expected expected = {bytes, length, 0};
  check(sluice_encode(encoder, batches, 1, of_rows, PARTITIONS, compare, &expected), "the CPU makes the same frames");
  expect(expected.done == length, "the CPU makes as many");
  sluice_encoder_free(encoder);
  sluice_batch_free(batch);
}

/* The rows of a batch that the GPU has decoded are those of a partition, in their order. */
static int64_t compare_columns(struct ArrowDeviceArray *got) {
  static int64_t back[ROWS];
  static char names[ROWS * 6];
  int64_t rows = got->array.length, i = 0;
  expect(got->device_type == ARROW_DEVICE_CUDA && got->sync_event == NULL && rows <= ROWS, "a batch on a GPU");
  copy_back(back, got->array.children[0]->buffers[1], (size_t)rows * 8);
  copy_back(names, got->array.children[1]->buffers[2], (size_t)rows * 6);
  uint32_t partition = ids[back[0] / 7];
  for (int row = 0; row < ROWS; row++) {
    if (ids[row] != partition) continue;
    expect(back[i] == numbers[row] && memcmp(names + 6 * i, text + offsets[row], 6) == 0, "rows come back");
    i++;
  }
  expect(i == rows, "all rows of the partition, and no others");
  got->array.release(&got->array);
  return rows;
}

static void check_errors(sluice_gpu *gpu, const sluice_schema *schema, struct ArrowDeviceArray *array, address there) {
  const uint32_t *partitions = (const uint32_t *)(uintptr_t)there;
  sluice_gpu_frames *none = NULL;
  array->device_type = 1;
  expect(sluice_gpu_encode(gpu, schema, array, partitions, PARTITIONS, 0, 1, &none) == SLUICE_UNSUPPORTED, "the host's");
  array->device_type = ARROW_DEVICE_CUDA;
  array->device_id = 5;
  expect(sluice_gpu_encode(gpu, schema, array, partitions, PARTITIONS, 0, 1, &none) == SLUICE_INVALID, "another GPU's");
  array->device_id = 0;
  expect(sluice_gpu_encode(gpu, schema, array, partitions, 1, 0, 1, &none) == SLUICE_DECLINED, "ids beyond 1 partition");
  expect(none == NULL && strstr(sluice_last_error(), "a row's partition") != NULL, "the message says what");
  expect(array->array.release != NULL, "the array stays the caller's");
  expect(sluice_gpu_encode(gpu, schema, array, NULL, PARTITIONS, 0, 1, &none) == SLUICE_INVALID, "3 partitions, no ids");
  expect(sluice_gpu_encode(gpu, schema, array, partitions, 0, 0, 1, &none) == SLUICE_INVALID, "no partitions");
  const uint32_t *between = (const uint32_t *)(uintptr_t)(there + 2);
  expect(sluice_gpu_encode(gpu, schema, array, between, PARTITIONS, 0, 1, &none) == SLUICE_INVALID, "ids not aligned");
  const uint8_t *frame = (const uint8_t *)"no frame at all, and neither one";
  size_t bytes = 32;
  struct ArrowDeviceArray out;
  expect(sluice_gpu_decode(gpu, schema, &frame, &bytes, 1, 0, &out) == SLUICE_DECLINED, "what is no frame");
  expect(out.array.release == NULL, "nothing was written");
  const uint8_t *nowhere = NULL;
  expect(sluice_gpu_decode(gpu, schema, &nowhere, &bytes, 1, 1, &out) == SLUICE_INVALID, "a frame that is not there");
  sluice_schema *of_views = make_schema("vu");
  expect(sluice_gpu_decode(gpu, of_views, &frame, &bytes, 1, 0, &out) == SLUICE_UNSUPPORTED, "no views");
  sluice_schema_free(of_views);
  expect(sluice_gpu_decode(NULL, schema, &frame, &bytes, 1, 0, &out) == SLUICE_INVALID, "no GPU");
  sluice_gpu *other = NULL;
  expect(sluice_gpu_open("77", ".", 1 << 30, 1000, &other) == SLUICE_DECLINED && other == NULL, "no such GPU");
  expect(sluice_gpu_open(NULL, ".", 1 << 20, 1000, &other) == SLUICE_INVALID, "too little memory");
}

int main(int count, char **arguments) {
  expect(count == 2, "the folder with kernels is given");
  sluice_gpu *gpu = NULL;
  if (sluice_gpu_open(NULL, arguments[1], 1 << 30, 600000, &gpu) != SLUICE_OK) {
    printf("no GPU: %s\n", sluice_last_error());
    return 0;
  }
  open_driver();
  make_table();
  address of_ids = copy(ids, sizeof ids), of_numbers = copy(numbers, sizeof numbers);
  address of_offsets = copy(offsets, sizeof offsets), of_text = copy(text, sizeof text);
  struct table table;
  describe(&table, (void *)(uintptr_t)of_numbers, (void *)(uintptr_t)of_offsets, (void *)(uintptr_t)of_text);
  struct ArrowDeviceArray array = {.array = table.batch, .device_type = ARROW_DEVICE_CUDA};
  sluice_schema *schema = make_schema("u");

  sluice_gpu_frames *frames = NULL;
  check(sluice_gpu_encode(gpu, schema, &array, (const uint32_t *)(uintptr_t)of_ids, PARTITIONS, SLUICE_CODEC_NONE,
                          SLUICE_LEVEL_FAST, &frames),
        "sluice_gpu_encode");
  size_t length = sluice_gpu_frames_bytes(frames);
  uint8_t *bytes = malloc(length);
  expect(bytes != NULL, "there is memory");
  check(sluice_gpu_frames_copy(gpu, frames, bytes, length), "sluice_gpu_frames_copy");
  expect(sluice_gpu_frames_copy(gpu, frames, bytes, length - 1) == SLUICE_INVALID, "too little room is refused");
  compare_with_cpu(schema, bytes, length);
  free(bytes);

  int64_t rows = 0;
  uint64_t all = sluice_gpu_frames_count(frames);
  sluice_gpu_frame frame;
  for (uint64_t i = 0; i < all; i++) {
    struct ArrowDeviceArray got;
    check(sluice_gpu_frames_get(frames, i, &frame), "sluice_gpu_frames_get");
    size_t frame_bytes = frame.bytes;
    check(sluice_gpu_decode(gpu, schema, &frame.address, &frame_bytes, 1, 1, &got), "sluice_gpu_decode");
    expect(got.array.length == frame.rows, "a frame's rows");
    rows += compare_columns(&got);
  }
  expect(sluice_gpu_frames_get(frames, all, &frame) == SLUICE_INVALID, "there are no more frames");
  check_errors(gpu, schema, &array, of_ids);

  printf("%d rows, %d frames, on a GPU as on the CPU\n", (int)rows, (int)all);
  sluice_gpu_frames_free(frames);
  sluice_schema_free(schema);
  sluice_gpu_free(gpu);
  address all_memory[] = {of_ids, of_numbers, of_offsets, of_text};
  for (int i = 0; i < 4; i++) release_memory(all_memory[i]);
  return 0;
}
