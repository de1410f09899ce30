package io.sluice.systemtests;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Faults that a committed map output can suffer between its map stage and its readers. */
enum Damage {
  FIRST_BYTE_FLIPPED {
    @Override
    void inflict(Path data, Path index) throws IOException {
      flip(data, 0, 0x5A);
    }
  },
  BYTE_IN_THE_MIDDLE_FLIPPED {
    @Override
    void inflict(Path data, Path index) throws IOException {
      flip(data, Files.size(data) / 2, 0x10);
    }
  },
  LAST_BYTE_FLIPPED {
    @Override
    void inflict(Path data, Path index) throws IOException {
      flip(data, Files.size(data) - 1, 0x01);
    }
  },
  DATA_CUT_IN_HALF {
    @Override
    boolean stockNotices() {
      return false;
    }

    @Override
    void inflict(Path data, Path index) throws IOException {
      cut(data, Files.size(data) / 2);
    }
  },
  DATA_EMPTIED {
    @Override
    boolean stockNotices() {
      return false;
    }

    @Override
    void inflict(Path data, Path index) throws IOException {
      cut(data, 0);
    }
  },
  DATA_DELETED {
    @Override
    void inflict(Path data, Path index) throws IOException {
      Files.delete(data);
    }
  },
  INDEX_ENTRY_TOO_LARGE {
    @Override
    boolean stockNotices() {
      return false;
    }

    @Override
    void inflict(Path data, Path index) throws IOException {
      flip(index, Long.BYTES * 2 + 4, 0x40);
    }
  },
  INDEX_ENTRY_OFF_BY_A_BIT {
    @Override
    boolean stockNotices() {
      return false;
    }

    @Override
    void inflict(Path data, Path index) throws IOException {
      flip(index, Long.BYTES * 2 - 1, 0x04);
    }
  },
  INDEX_CUT_IN_HALF {
    @Override
    void inflict(Path data, Path index) throws IOException {
      cut(index, Files.size(index) / 2);
    }
  },
  INDEX_DELETED {
    @Override
    void inflict(Path data, Path index) throws IOException {
      Files.delete(index);
    }
  };

  /**
   * Whether Spark's own shuffle always detects it. Spark's streams do not store their length: cut at the end of a
   * compressed block, or found by a wrong index, they end early or start late without an error.
   */
  boolean stockNotices() {
    return true;
  }

  /** Whether it changes bytes of the data file. */
  boolean isInTheData() {
    return cutsTheData() || name().endsWith("FLIPPED");
  }

  boolean cutsTheData() {
    return this == DATA_CUT_IN_HALF || this == DATA_EMPTIED;
  }

  abstract void inflict(Path data, Path index) throws IOException;

  private static void flip(Path file, long position, int bits) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      ByteBuffer one = ByteBuffer.allocate(1);
      if (channel.read(one, position) != 1) {
        throw new IOException(file + " has no byte " + position);
      }
      one.put(0, (byte) (one.get(0) ^ bits)).flip();
      channel.write(one, position);
    }
  }

  private static void cut(Path file, long length) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.truncate(length);
    }
  }

  /** Damages one map output of the newest shuffle below {@code localDir}. */
  void inflictBelow(Path localDir) {
    Path data = ShuffleFiles.newestShuffle(localDir).get(0);
    try {
      inflict(data, ShuffleFiles.index(localDir, data));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
