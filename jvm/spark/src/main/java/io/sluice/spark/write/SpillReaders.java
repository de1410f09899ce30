package io.sluice.spark.write;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Has the runs of one map task read for a commit: opens the files that spilled ones are in, each once. */
final class SpillReaders implements AutoCloseable {
  /** Buffers of all spilled runs together, unless there are so many that each has the least. */
  private static final long ALL_BUFFER_BYTES = 8 << 20;
  private static final long LEAST_BUFFER_BYTES = 4 * 1024;
  private static final long MOST_BUFFER_BYTES = 64 * 1024;

  private final Map<File, FileChannel> open = new HashMap<>();

  SpillReaders(List<JavaRun> runs) throws IOException {
    long spilled = Math.max(1, runs.stream().filter(run -> !run.isInMemory()).count());
    int bufferBytes = (int) Math.max(LEAST_BUFFER_BYTES, Math.min(MOST_BUFFER_BYTES, ALL_BUFFER_BYTES / spilled));
    for (JavaRun run : runs) {
      run.startCommit(run.isInMemory() ? null : new SpilledRunReader(run.file(), channel(run.file()), run.fileStart(),
          run.index().bytes(), bufferBytes));
    }
  }

  private FileChannel channel(File file) throws IOException {
    FileChannel known = open.get(file);
    if (known != null) {
      return known;
    }
    try {
      FileChannel fresh = FileChannel.open(file.toPath(), StandardOpenOption.READ);
      open.put(file, fresh);
      return fresh;
    } catch (IOException e) {
      close();
      throw new IOException("spill file " + file + " cannot be opened: " + e.getMessage(), e);
    }
  }

  @Override
  public void close() throws IOException {
    for (FileChannel file : open.values()) {
      file.close();
    }
  }
}
