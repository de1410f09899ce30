package io.sluice.bench.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A program for {@link RoomTest}: reads a block file again and again and says how it went. */
final class RoomReads {

  private RoomReads() {}

  /**
   * One read.
   *
   * @param clockMs the wall clock then
   * @param sinceStartMs by a clock that nothing steps
   */
  record Read(boolean good, long tookUs, long clockMs, long sinceStartMs) {

    String line() {
      return good + " " + tookUs + " " + clockMs + " " + sinceStartMs;
    }

    static Read parse(String line) {
      String[] parts = line.split(" ");
      return new Read(Boolean.parseBoolean(parts[0]), Long.parseLong(parts[1]), Long.parseLong(parts[2]),
          Long.parseLong(parts[3]));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Path file = Files.createDirectories(Path.of("local/blockmgr-1")).resolve("shuffle_1_2_0.data");
    Files.write(file, new byte[100]);
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
      System.out.println(
          new Read(good, (now - before) / 1_000, System.currentTimeMillis(), (now - start) / 1_000_000).line());
      Thread.sleep(1);
    }
  }
}
