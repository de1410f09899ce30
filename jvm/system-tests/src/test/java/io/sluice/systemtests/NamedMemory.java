package io.sluice.systemtests;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The memory that this process shares by a name: files that it has mapped, memory files, and shared memory of POSIX
 * ({@code /dev/shm}) and System V. Java's own files are left out.
 */
final class NamedMemory {
  /** A range of addresses that may be read, "s" for shared, and its name. */
  private static final Pattern SHARED = Pattern.compile("([0-9a-f]+)-([0-9a-f]+) r..s \\S+ \\S+ \\d+ +(\\S.*)");
  private static final int HEXADECIMAL = 16;

  private NamedMemory() {}

  /** The names, each with whether the text is in its mapped bytes. */
  static Map<String, Boolean> with(String text) throws IOException {
    Map<String, Boolean> names = new TreeMap<>();
    try (RandomAccessFile memory = new RandomAccessFile("/proc/self/mem", "r")) {
      for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
        Matcher range = SHARED.matcher(line);
        if (range.matches() && !range.group(3).startsWith(System.getProperty("java.home"))) {
          long start = Long.parseLong(range.group(1), HEXADECIMAL);
          long end = Long.parseLong(range.group(2), HEXADECIMAL);
          String bytes = read(memory, start, new byte[Math.toIntExact(end - start)]);
          names.merge(range.group(3), bytes.contains(text), Boolean::logicalOr);
        }
      }
    }
    return names;
  }

  /** What is there: a mapping may be longer than its file, and may end while it is looked at. */
  private static String read(RandomAccessFile memory, long start, byte[] bytes) throws IOException {
    memory.seek(start);
    int length = 0;
    try {
      for (int more = 0; more >= 0 && length < bytes.length; length += Math.max(more, 0)) {
        more = memory.read(bytes, length, bytes.length - length);
      }
    } catch (IOException e) {
      // No bytes behind these.
    }
    return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
  }
}
