/*
 * A small engine in C that uses Sluice for its exchange: select word, count(*), sum(amount) from two tables, group by
 * word. Its scans are streams of Arrow batches; its map tasks write a block for each reduce task; its reduce tasks take
 * batches of their blocks and add up. Run by tests/c_program.rs, also with sanitizers; prints what it did.
 *
 *   cc -I include examples/engine.c -L <folder of libsluice.a> -lsluice -lpthread -ldl -lm
 */
#include <sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS 700
#define BATCHES 6
#define MAP_TASKS 2
#define REDUCE_TASKS 5
#define WORDS 97

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

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes > 0 ? bytes : 1);
  expect(memory != NULL, "there is memory");
  return memory;
}

/* What the query has to give: word "w<number>", or null for number 0. */

struct group {
  int64_t rows, sum;
};

static int word_of(int64_t row) { return (int)(row * 31 % WORDS); }

static int64_t amount_of(int64_t row) { return row * row % 1000 - 500; }

/* The scan: a table whose rows are made as they are asked for. */

struct scan {
  int64_t next_row;
  int batches_left;
  /* Fails when so many batches are left; -1 for never. */
  int fails_at;
};

static int64_t live_batches = 0;

static void release_column(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_buffers; i++) free((void *)array->buffers[i]);
  free(array->buffers);
  array->release = NULL;
}

static void release_batch(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i]->release != NULL) array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  free(array->children);
  free(array->buffers);
  array->release = NULL;
  live_batches--;
}

static struct ArrowArray *column(int64_t buffers) {
  struct ArrowArray *array = allocate(sizeof *array);
  array->length = BATCH_ROWS;
  array->n_buffers = buffers;
  array->buffers = allocate((size_t)buffers * sizeof(void *));
  array->release = release_column;
  return array;
}

static struct ArrowArray make_batch(int64_t first_row) {
  struct ArrowArray *words = column(3), *amounts = column(2);
  uint8_t *valid = allocate((BATCH_ROWS + 7) / 8);
  int32_t *offsets = allocate((BATCH_ROWS + 1) * sizeof *offsets);
  char *text = allocate(BATCH_ROWS * 8);
  int64_t *values = allocate(BATCH_ROWS * sizeof *values);
  for (int i = 0; i < BATCH_ROWS; i++) {
    int word = word_of(first_row + i);
    values[i] = amount_of(first_row + i);
    offsets[i + 1] = offsets[i];
    if (word == 0) {
      words->null_count++;
      continue;
    }
    valid[i / 8] |= (uint8_t)(1 << (i % 8));
    offsets[i + 1] += sprintf(text + offsets[i], "w%d", word);
  }
  words->buffers[0] = valid;
  words->buffers[1] = offsets;
  words->buffers[2] = text;
  amounts->buffers[1] = values;
  struct ArrowArray batch = {.length = BATCH_ROWS, .n_buffers = 1, .n_children = 2, .release = release_batch};
  batch.buffers = allocate(sizeof(void *));
  batch.children = allocate(2 * sizeof *batch.children);
  batch.children[0] = words;
  batch.children[1] = amounts;
  live_batches++;
  return batch;
}

/* The schema is there as long as the program, so that nothing is freed. */
static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static struct ArrowSchema make_schema(void) {
  static struct ArrowSchema word, amount;
  static struct ArrowSchema *children[] = {&word, &amount};
  word = (struct ArrowSchema){.format = "u", .name = "word", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
  amount = (struct ArrowSchema){.format = "l", .name = "amount", .release = release_schema};
  return (struct ArrowSchema){.format = "+s", .n_children = 2, .children = children, .release = release_schema};
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  (void)stream;
  *out = make_schema();
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  struct scan *scan = stream->private_data;
  if (scan->batches_left == scan->fails_at) return 5;
  memset(out, 0, sizeof *out);
  if (scan->batches_left == 0) return 0;
  *out = make_batch(scan->next_row);
  scan->next_row += BATCH_ROWS;
  scan->batches_left--;
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "the disk is gone";
}

static void release_stream(struct ArrowArrayStream *stream) {
  free(stream->private_data);
  stream->release = NULL;
}

static sluice_stream *open_scan(int64_t first_row, int fails_at) {
  struct scan *scan = allocate(sizeof *scan);
  *scan = (struct scan){.next_row = first_row, .batches_left = BATCHES, .fails_at = fails_at};
  struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release_stream, scan};
  sluice_stream *opened = NULL;
  check(sluice_stream_open(&stream, &opened), "sluice_stream_open");
  return opened;
}

/* A map task: all batches of a scan, by the hash of the word, into a block for each reduce task. */

struct block {
  uint8_t *bytes;
  size_t length;
};

static int32_t append(void *context, uint32_t partition, const uint8_t *frame, size_t bytes) {
  struct block *block = (struct block *)context + partition;
  uint8_t *longer = realloc(block->bytes, block->length + bytes);
  if (longer == NULL) return 1;
  memcpy(longer + block->length, frame, bytes);
  block->bytes = longer;
  block->length += bytes;
  return 0;
}

static void run_map_task(int64_t first_row, struct block *blocks) {
  sluice_stream *scan = open_scan(first_row, -1);
  sluice_batch *batches[BATCHES + 1];
  uint32_t *ids[BATCHES];
  size_t count = 0;
  const uint32_t word = 0;
  for (;;) {
    check(sluice_stream_next(scan, &batches[count]), "sluice_stream_next");
    if (batches[count] == NULL) break;
    expect(count < BATCHES, "the scan ends");
    ids[count] = allocate(sluice_batch_rows(batches[count]) * sizeof *ids[count]);
    check(sluice_partition_hash(batches[count], &word, 1, REDUCE_TASKS, ids[count]), "sluice_partition_hash");
    count++;
  }
  sluice_encoder *encoder = NULL;
  check(sluice_encoder_new(SLUICE_CODEC_LZ4, SLUICE_LEVEL_FAST, &encoder), "sluice_encoder_new");
  check(sluice_encode(encoder, (const sluice_batch *const *)batches, count, (const uint32_t *const *)ids, REDUCE_TASKS,
                      append, blocks),
        "sluice_encode");
  sluice_encoder_free(encoder);
  for (size_t i = 0; i < count; i++) {
    sluice_batch_free(batches[i]);
    free(ids[i]);
  }
  sluice_stream_free(scan);
}

/* A reduce task: its block of one map task, batch by batch, into the groups. */

static void read_block(sluice_decoder *decoder, const sluice_schema *schema, const struct block *block,
                       struct group *groups) {
  for (size_t at = 0; at < block->length;) {
    struct ArrowArray batch;
    size_t read = 0;
    check(sluice_decode(decoder, schema, block->bytes + at, block->length - at, 1000, &batch, &read), "sluice_decode");
    const uint8_t *valid = batch.children[0]->buffers[0];
    const int32_t *offsets = batch.children[0]->buffers[1];
    const char *text = batch.children[0]->buffers[2];
    const int64_t *amounts = batch.children[1]->buffers[1];
    for (int64_t i = 0; i < batch.length; i++) {
      int word = 0;
      if (valid == NULL || valid[i / 8] >> (i % 8) & 1) {
        expect(text[offsets[i]] == 'w', "a word begins as it should");
        for (int32_t c = offsets[i] + 1; c < offsets[i + 1]; c++) word = word * 10 + text[c] - '0';
      }
      expect(word < WORDS, "a word is one of the table");
      groups[word].rows++;
      groups[word].sum += amounts[i];
    }
    batch.release(&batch);
    at += read;
  }
}

static void check_failing_scan(void) {
  sluice_stream *scan = open_scan(0, BATCHES - 2);
  sluice_batch *batch = NULL;
  for (int i = 0; i < 2; i++) {
    check(sluice_stream_next(scan, &batch), "sluice_stream_next");
    sluice_batch_free(batch);
  }
  expect(sluice_stream_next(scan, &batch) == SLUICE_PRODUCER && batch == NULL, "a scan can fail");
  expect(strstr(sluice_last_error(), "the disk is gone") != NULL, "and its message is reported");
  sluice_stream_free(scan);
}

int main(void) {
  expect(sluice_abi_version() == SLUICE_ABI_VERSION, "header and library are of one version");
  struct block blocks[MAP_TASKS][REDUCE_TASKS] = {0};
  for (int task = 0; task < MAP_TASKS; task++) run_map_task((int64_t)task * BATCHES * BATCH_ROWS, blocks[task]);
  expect(live_batches == 0, "every batch was released");

  struct ArrowSchema arrow_schema = make_schema();
  sluice_schema *schema = NULL;
  check(sluice_schema_new(&arrow_schema, &schema), "sluice_schema_new");
  sluice_decoder *decoder = NULL;
  check(sluice_decoder_new(&decoder), "sluice_decoder_new");
  struct group expected[WORDS] = {0}, found[WORDS] = {0};
  const int64_t rows = (int64_t)MAP_TASKS * BATCHES * BATCH_ROWS;
  for (int64_t row = 0; row < rows; row++) {
    expected[word_of(row)].rows++;
    expected[word_of(row)].sum += amount_of(row);
  }
  for (int partition = 0; partition < REDUCE_TASKS; partition++) {
    struct group groups[WORDS] = {0};
    for (int task = 0; task < MAP_TASKS; task++) {
      read_block(decoder, schema, &blocks[task][partition], groups);
      free(blocks[task][partition].bytes);
    }
    for (int word = 0; word < WORDS; word++) {
      if (groups[word].rows == 0) continue;
      expect(found[word].rows == 0, "a word is in one partition");
      found[word] = groups[word];
    }
  }
  expect(memcmp(expected, found, sizeof found) == 0, "the groups are those of the table");
  sluice_decoder_free(decoder);
  sluice_schema_free(schema);
  check_failing_scan();
  expect(live_batches == 0, "every batch was released");
  printf("%lld rows, %d words, library %s\n", (long long)rows, WORDS, sluice_version());
  return 0;
}
