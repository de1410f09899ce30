package io.sluice.systemtests;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What this process holds for shuffles outside the Java heap and of the machine, by {@code /proc}.
 *
 * @param descriptors all open file descriptors
 * @param shuffleDescriptors of those, the ones of map outputs in memory
 * @param mappedBytes bytes of map outputs that are mapped
 * @param pinnedKib memory that is pinned or locked, in KiB
 */
record Held(int descriptors, int shuffleDescriptors, long mappedBytes, long pinnedKib) implements Serializable {

  static Held here() throws IOException {
    int descriptors = 0;
    int ofShuffles = 0;
    try (DirectoryStream<Path> links = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path link : links) {
        descriptors++;
        ofShuffles += isMapOutput(target(link)) ? 1 : 0;
      }
    }
    long mapped = 0;
    for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
      mapped += isMapOutput(line) ? length(line) : 0;
    }
    long pinned = 0;
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      pinned += line.startsWith("VmPin:") || line.startsWith("VmLck:") ? Long.parseLong(line.split("\\s+")[1]) : 0;
    }
    return new Held(descriptors, ofShuffles, mapped, pinned);
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException e) {
      // Closed meanwhile.
      return "";
    }
  }

  /** A memory file of Sluice's, or a data file of Spark's. */
  private static boolean isMapOutput(String name) {
    return name.contains("sluice-shuffle_") || name.matches(".*/shuffle_\\d+_\\d+_0\\.data.*");
  }

  private static long length(String line) {
    String[] range = line.split(" ")[0].split("-");
    return Long.parseUnsignedLong(range[1], 16) - Long.parseUnsignedLong(range[0], 16);
  }

  /** What this and another process hold together. */
  Held and(Held other) {
    return new Held(descriptors + other.descriptors, shuffleDescriptors + other.shuffleDescriptors,
        mappedBytes + other.mappedBytes, pinnedKib + other.pinnedKib);
  }

  /** Whether it holds nothing of any map output. */
  boolean nothingOfShuffles() {
    return shuffleDescriptors == 0 && mappedBytes == 0;
  }
}
