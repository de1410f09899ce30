package io.sluice.bench.soak;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A program for {@link RoomTest}: reads and maps a block file again and again, by a thread with the name of one of
 * Sluice's, and says how it went.
 */
final class RoomReads {

  private RoomReads() {}

  /**
   * One read.
   *
   * @param good whether the file was read
   * @param mapped whether it was mapped
   * @param clockMs the wall clock then
   * @param sinceStartMs by a clock that nothing steps
   */
  record Read(boolean good, boolean mapped, long tookUs, long clockMs, long sinceStartMs) {

    String line() {
      return good + " " + mapped + " " + tookUs + " " + clockMs + " " + sinceStartMs;
    }

    static Read parse(String line) {
      String[] parts = line.split(" ");
      return new Read(Boolean.parseBoolean(parts[0]), Boolean.parseBoolean(parts[1]), Long.parseLong(parts[2]),
          Long.parseLong(parts[3]), Long.parseLong(parts[4]));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Path file = Files.createDirectories(Path.of("local/blockmgr-1")).resolve("shuffle_1_2_0.data");
    Files.write(file, new byte[100]);
    Thread.currentThread().setName("sluice-reads");
    long start = System.nanoTime();
    while (!System.out.checkError()) {
      long before = System.nanoTime();
      boolean good = true;
      try {
        Files.readAllBytes(file);
      } catch (IOException e) {
        good = false;
      }
      long now = System.nanoTime();
      boolean mapped = mapped(file);
      System.out.println(
          new Read(good, mapped, (now - before) / 1_000, System.currentTimeMillis(), (now - start) / 1_000_000).line());
      Thread.sleep(1);
    }
  }

  private static boolean mapped(Path file) {
    try (FileChannel channel = FileChannel.open(file)) {
      return channel.map(FileChannel.MapMode.READ_ONLY, 0, 100).get(0) == 0;
    } catch (IOException e) {
      return false;
    }
  }
}
