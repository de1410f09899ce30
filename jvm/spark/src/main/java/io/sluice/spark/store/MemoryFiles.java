package io.sluice.spark.store;

import io.sluice.nativebridge.MemoryFile;
import io.sluice.nativebridge.NativeException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;

/** Creates memory files: {@code MemoryFile::create}, except in tests. */
public interface MemoryFiles {
  /**
   * A new, empty file.
   *
   * @throws NativeException when the system provides none
   */
  MemoryFile create(String name);

  /**
   * Writes a memory file by its path and reads it back.
   *
   * @return why that does not work in this process; empty if it does
   */
  static String selfTest(MemoryFiles files) {
    byte[] written = {1, 2, 3};
    try (MemoryFile file = files.create("sluice-self-test")) {
      Files.write(file.path(), written);
      file.seal();
      return Arrays.equals(written, Files.readAllBytes(file.path())) ? "" : file.path() + " is another file";
    } catch (IOException | NativeException | LinkageError e) {
      return e.toString();
    }
  }
}
