package io.sluice.spark.migration;

import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;

/**
 * A file that is written as a whole or not at all: beside it, then renamed.
 *
 * @param path where no file is, or one that may be replaced; never a symbolic link
 */
record NewFile(Path path, boolean replaces) {

  /** @throws SluiceException if something is there and may not be replaced */
  static NewFile at(Path path, boolean force) {
    if (Files.isDirectory(path)) {
      throw new SluiceException("--to " + path + " is a directory");
    }
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return new NewFile(path.toAbsolutePath(), false);
    }
    if (!force) {
      throw new SluiceException("--to " + path + " exists already; --force replaces it");
    }
    try {
      return new NewFile(path.toRealPath(), true);
    } catch (IOException e) {
      throw new SluiceException("--to " + path + " cannot be replaced: " + e, e);
    }
  }

  /** With the permissions of {@code like}: a file of settings may have passwords. */
  void write(byte[] bytes, Path like) {
    Path beside = null;
    try {
      // Created for this user only.
      beside = Files.createTempFile(path.getParent(), "." + path.getFileName(), ".tmp");
      fill(beside, bytes);
      Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(like);
      Files.setPosixFilePermissions(beside, permissions);
      moveTo(beside);
      beside = null;
    } catch (IOException | UnsupportedOperationException e) {
      throw new SluiceException("--to " + path + " cannot be written: " + e, e);
    } finally {
      delete(beside);
    }
  }

  private static void fill(Path file, byte[] bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      ByteBuffer rest = ByteBuffer.wrap(bytes);
      while (rest.hasRemaining()) {
        channel.write(rest);
      }
      channel.force(true);
    }
  }

  private void moveTo(Path beside) throws IOException {
    if (!replaces && Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      throw new SluiceException("--to " + path + " exists already, since this command began; --force replaces it");
    }
    Files.move(beside, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  private static void delete(Path file) {
    try {
      if (file != null) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      // It is an unfinished file beside the real one; the error that brought us here is reported.
    }
  }
}
