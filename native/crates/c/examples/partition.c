/*
 * An engine's exchange in C: a batch of two columns is divided into partitions by Spark's hash, encoded, and each
 * partition's block decoded again. Run by tests/c_program.rs, also with sanitizers; prints what it did.
 *
 *   cc -I include examples/partition.c -L <folder of libsluice.a> -lsluice -lpthread -ldl -lm
 */
#include <sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 1000
#define PARTITIONS 4

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

/* The producer's side: what it allocates here, it frees when it is told to. */

static int released = 0;

static void release_column(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_buffers; i++) {
    free((void *)array->buffers[i]);
  }
  free(array->buffers);
  array->release = NULL;
}

static void release_batch(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i]->release != NULL) {
      array->children[i]->release(array->children[i]);
    }
    free(array->children[i]);
  }
  free(array->children);
  free(array->buffers);
  array->release = NULL;
  released++;
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes > 0 ? bytes : 1);
  expect(memory != NULL, "there is memory");
  return memory;
}

static struct ArrowArray *column(int64_t buffers) {
  struct ArrowArray *array = allocate(sizeof *array);
  array->length = ROWS;
  array->n_buffers = buffers;
  array->buffers = allocate((size_t)buffers * sizeof(void *));
  array->release = release_column;
  return array;
}

/* Row i: i * 7, and "name <i % 10>", null for every fifth row. */
static struct ArrowArray make_batch(void) {
  struct ArrowArray *numbers = column(2);
  int64_t *values = allocate(ROWS * sizeof *values);
  for (int64_t i = 0; i < ROWS; i++) values[i] = i * 7;
  numbers->buffers[1] = values;

  struct ArrowArray *names = column(3);
  uint8_t *valid = allocate((ROWS + 7) / 8);
  int32_t *offsets = allocate((ROWS + 1) * sizeof *offsets);
  char *text = allocate(ROWS * 8);
  for (int i = 0; i < ROWS; i++) {
    offsets[i + 1] = offsets[i];
    if (i % 5 == 0) {
      names->null_count++;
      continue;
    }
    valid[i / 8] |= (uint8_t)(1 << (i % 8));
    memcpy(text + offsets[i], "name ", 5);
    text[offsets[i] + 5] = (char)('0' + i % 10);
    offsets[i + 1] += 6;
  }
  names->buffers[0] = valid;
  names->buffers[1] = offsets;
  names->buffers[2] = text;

  struct ArrowArray batch = {.length = ROWS, .n_buffers = 1, .n_children = 2, .release = release_batch};
  batch.buffers = allocate(sizeof(void *));
  batch.children = allocate(2 * sizeof *batch.children);
  batch.children[0] = numbers;
  batch.children[1] = names;
  return batch;
}

/* Nothing in it was allocated, so nothing is to be freed. */
static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static sluice_schema *make_schema(const char *second) {
  struct ArrowSchema id = {.format = "l", .name = "id", .release = release_schema};
  struct ArrowSchema name = {.format = second, .name = "name", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
  struct ArrowSchema *children[] = {&id, &name};
  struct ArrowSchema batch = {.format = "+s", .n_children = 2, .children = children, .release = release_schema};
  sluice_schema *schema = NULL;
  check(sluice_schema_new(&batch, &schema), "sluice_schema_new");
  batch.release(&batch);
  return schema;
}

/* The blocks of all partitions. */
struct blocks {
  uint8_t *bytes[PARTITIONS];
  size_t length[PARTITIONS];
  int frames;
};

static int32_t append(void *context, uint32_t partition, const uint8_t *frame, size_t bytes) {
  struct blocks *blocks = context;
  uint8_t *longer = realloc(blocks->bytes[partition], blocks->length[partition] + bytes);
  if (longer == NULL) return 1;
  memcpy(longer + blocks->length[partition], frame, bytes);
  blocks->bytes[partition] = longer;
  blocks->length[partition] += bytes;
  blocks->frames++;
  return 0;
}

static int32_t refuse(void *context, uint32_t partition, const uint8_t *frame, size_t bytes) {
  (void)context, (void)partition, (void)frame, (void)bytes;
  return 42;
}

/* Every row of the block is one that was sent to this partition; returns how many there are. */
static int64_t read_block(sluice_decoder *decoder, const sluice_schema *schema, const struct blocks *blocks,
                          uint32_t partition, const uint32_t *ids) {
  int64_t rows = 0;
  for (size_t at = 0; at < blocks->length[partition];) {
    struct ArrowArray batch;
    size_t read = 0;
    check(sluice_decode(decoder, schema, blocks->bytes[partition] + at, blocks->length[partition] - at, 100, &batch, &read),
          "sluice_decode");
    const int64_t *numbers = batch.children[0]->buffers[1];
    const uint8_t *valid = batch.children[1]->buffers[0];
    const int32_t *offsets = batch.children[1]->buffers[1];
    const char *text = batch.children[1]->buffers[2];
    for (int64_t i = 0; i < batch.length; i++) {
      int64_t row = numbers[i] / 7;
      expect(numbers[i] % 7 == 0 && row < ROWS && ids[row] == partition, "a row is in its partition");
      int is_null = valid != NULL && !(valid[i / 8] >> (i % 8) & 1);
      expect(is_null == (row % 5 == 0), "nulls are null");
      if (!is_null) {
        expect(offsets[i + 1] - offsets[i] == 6 && memcmp(text + offsets[i], "name ", 5) == 0 &&
                   text[offsets[i] + 5] == '0' + row % 10,
               "names are the same");
      }
    }
    rows += batch.length;
    batch.release(&batch);
    expect(batch.release == NULL && read > 0, "a batch was read and released");
    at += read;
  }
  return rows;
}

static void check_errors(const sluice_schema *schema, sluice_encoder *encoder, const sluice_batch *batch) {
  sluice_batch *none = NULL;
  sluice_schema *other = make_schema("z");
  struct ArrowArray bad = make_batch();
  bad.children[1]->n_buffers = 2;
  int before = released;
  free((void *)bad.children[1]->buffers[2]);
  expect(sluice_batch_import(schema, &bad, &none) == SLUICE_INVALID && none == NULL, "2 buffers are too few for text");
  expect(strstr(sluice_last_error(), "column 1 ('name'): 2 buffers") != NULL, "the message says what and where");
  expect(released == before + 1 && bad.release == NULL, "what was refused was released");
  expect(sluice_batch_import(schema, &bad, &none) == SLUICE_INVALID, "a released array is refused");
  expect(sluice_batch_import(NULL, NULL, NULL) == SLUICE_INVALID, "null pointers are refused");
  expect(sluice_encode(encoder, &batch, 1, NULL, 1, refuse, NULL) == SLUICE_SINK, "a sink can refuse");
  expect(strcmp(sluice_last_error(), "the sink returned 42") == 0, "and its answer is reported");
  uint32_t column = 9, ids[ROWS];
  expect(sluice_partition_hash(batch, &column, 1, 4, ids) == SLUICE_INVALID, "there is no column 9");
  struct ArrowArray array;
  size_t read = 1;
  sluice_decoder *decoder = NULL;
  check(sluice_decoder_new(&decoder), "sluice_decoder_new");
  int32_t result = sluice_decode(decoder, other, (const uint8_t *)"SLF1 no frame", 13, 1, &array, &read);
  expect(result == SLUICE_CORRUPT && array.release == NULL && read == 0, "what is no frame is corrupt");
  sluice_decoder_free(decoder);
  sluice_schema_free(other);
  sluice_batch_free(NULL);
}

int main(void) {
  expect(sluice_abi_version() == SLUICE_ABI_VERSION, "header and library are of one version");
  sluice_schema *schema = make_schema("u");
  struct ArrowArray array = make_batch();
  sluice_batch *batch = NULL;
  check(sluice_batch_import(schema, &array, &batch), "sluice_batch_import");
  expect(array.release == NULL && sluice_batch_rows(batch) == ROWS, "the batch was taken over");

  uint32_t ids[ROWS];
  const uint32_t column = 0;
  check(sluice_partition_hash(batch, &column, 1, PARTITIONS, ids), "sluice_partition_hash");
  sluice_encoder *encoder = NULL;
  check(sluice_encoder_new(SLUICE_CODEC_LZ4, SLUICE_LEVEL_FAST, &encoder), "sluice_encoder_new");
  struct blocks blocks = {0};
  const sluice_batch *batches[] = {batch};
  const uint32_t *all_ids[] = {ids};
  check(sluice_encode(encoder, batches, 1, all_ids, PARTITIONS, append, &blocks), "sluice_encode");

  sluice_decoder *decoder = NULL;
  check(sluice_decoder_new(&decoder), "sluice_decoder_new");
  int64_t rows = 0;
  size_t bytes = 0;
  for (uint32_t partition = 0; partition < PARTITIONS; partition++) {
    rows += read_block(decoder, schema, &blocks, partition, ids);
    bytes += blocks.length[partition];
  }
  expect(rows == ROWS, "every row came back");
  check_errors(schema, encoder, batch);
  for (uint32_t partition = 0; partition < PARTITIONS; partition++) free(blocks.bytes[partition]);
  sluice_decoder_free(decoder);
  sluice_encoder_free(encoder);
  expect(released == 1, "the batch is still there");
  sluice_batch_free(batch);
  expect(released == 2, "the batch was released once");
  sluice_schema_free(schema);
  printf("%d rows, %d frames, %zu bytes, library %s\n", ROWS, blocks.frames, bytes, sluice_version());
  return 0;
}
