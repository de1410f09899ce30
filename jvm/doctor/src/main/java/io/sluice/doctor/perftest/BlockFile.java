package io.sluice.doctor.perftest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The file that is read: blocks of equal length, each with words that no other place has. Deleted when it is closed.
 */
final class BlockFile implements AutoCloseable {
  static final int BLOCK_BYTES = 1 << 20;
  static final int BLOCKS = 32;

  private final Path path;

  private BlockFile(Path path) {
    this.path = path;
  }

  static BlockFile make() throws IOException {
    BlockFile file = new BlockFile(Files.createTempFile("sluice-perftest-", ".data"));
    try (FileChannel channel = FileChannel.open(file.path, StandardOpenOption.WRITE)) {
      for (int block = 0; block < BLOCKS; block++) {
        ByteBuffer bytes = ByteBuffer.wrap(content(block));
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
      }
      return file;
    } catch (IOException | RuntimeException e) {
      file.close();
      throw e;
    }
  }

  /** The bytes of a block. */
  static byte[] content(int block) {
    ByteBuffer bytes = ByteBuffer.allocate(BLOCK_BYTES);
    for (long word = (long) block * (BLOCK_BYTES / Long.BYTES); bytes.hasRemaining(); word++) {
      // Multiplication by an odd number: different words everywhere, and no zeros in long runs.
      bytes.putLong((word + 1) * 0x9E3779B97F4A7C15L);
    }
    return bytes.array();
  }

  /** Where each block begins, and where the last ends. */
  static long[] offsets() {
    long[] offsets = new long[BLOCKS + 1];
    for (int block = 0; block <= BLOCKS; block++) {
      offsets[block] = (long) block * BLOCK_BYTES;
    }
    return offsets;
  }

  String path() {
    return path.toString();
  }

  @Override
  public void close() throws IOException {
    Files.deleteIfExists(path);
  }
}
