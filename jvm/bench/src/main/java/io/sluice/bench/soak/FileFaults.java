package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Faults of files, folders and disks. */
final class FileFaults {

  /** The magic of a frame without its version, sealed or not. */
  private static final String FRAMES_BEGIN = "SLF";
  private static final String SPILL = "temp_shuffle_";
  private static final String OUTPUT = "shuffle_";
  private static final String BLOCKS = "blockmgr-";
  private static final int CHUNK = 1 << 20;
  private static final int BYTE = 0xff;

  private FileFaults() {}

  private interface Change {
    void apply(RandomAccessFile file, long length) throws IOException;
  }

  static boolean flipOutput(Target target, Dice dice) {
    return flip(target, dice, file -> isData(file) && isFrames(file));
  }

  static boolean flipSpill(Target target, Dice dice) {
    return flip(target, dice, file -> name(file).startsWith(SPILL) && isFrames(file));
  }

  static boolean flipChecksums(Target target, Dice dice) {
    return flip(target, dice, file -> name(file).startsWith(OUTPUT) && name(file).contains(".checksum."));
  }

  /**
   * A whole byte, not a bit: an index has no checksum, and an offset in which one bit has changed could be another one
   * of the same index.
   */
  static boolean flipIndex(Target target, Dice dice) {
    return change(target, dice, FileFaults::isIndex, (access, length) -> invert(access, dice.seed() % length, BYTE));
  }

  static boolean cutOutput(Target target, Dice dice) {
    return cut(target, dice, FileFaults::isData);
  }

  static boolean cutIndex(Target target, Dice dice) {
    return cut(target, dice, FileFaults::isIndex);
  }

  static boolean deleteOne(Target target, Dice dice) {
    return dice.some(1, files(target, file -> name(file).startsWith(OUTPUT))).stream().anyMatch(FileFaults::delete);
  }

  static boolean deleteThoseOfAnExecutor(Target target, Dice dice) {
    List<Path> files = files(target, file -> name(file).startsWith(OUTPUT));
    boolean deleted = false;
    for (Path one : dice.some(1, files)) {
      Path folder = one.getParent().getParent();
      for (Path file : files) {
        deleted |= file.startsWith(folder) && delete(file);
      }
    }
    return deleted;
  }

  static boolean deleteFolders(Target target, Dice dice) {
    List<Path> folders = dice.some(1, blockFolders(target));
    folders.forEach(FileFaults::deleteAll);
    return !folders.isEmpty();
  }

  /** The bits of a folder hold for root too, because a {@link Room} takes from it the right to ignore them. */
  static boolean forbidFolders(Target target, Dice dice) throws InterruptedException {
    boolean forbidden = false;
    for (Path folder : dice.some(1, blockFolders(target))) {
      try {
        Set<PosixFilePermission> before = Files.getPosixFilePermissions(folder);
        try {
          Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("---------"));
          forbidden = true;
          Thread.sleep(dice.between(100, 2_000));
        } finally {
          Files.setPosixFilePermissions(folder, before);
        }
      } catch (IOException e) {
        // The application has removed it a moment ago.
        return forbidden;
      }
    }
    return forbidden;
  }

  static boolean fillDisk(Target target, Dice dice) throws InterruptedException {
    return fill(Room.disk(target), dice);
  }

  static boolean fillSharedMemory(Target target, Dice dice) throws InterruptedException {
    return fill(Room.sharedMemory(target), dice);
  }

  /** Files of block managers whose whole names are of the form {@code pattern}. */
  static List<Path> named(Target target, Pattern pattern) {
    return files(target, file -> pattern.matcher(name(file)).matches());
  }

  /** Whether it was there and is gone. */
  static boolean delete(Path file) {
    try {
      return Files.deleteIfExists(file);
    } catch (IOException e) {
      // It is its owner's to remove it, then.
      return false;
    }
  }

  /** Writes into {@code folder} until nothing fits any more, waits, and gives the space back. */
  private static boolean fill(Path folder, Dice dice) throws InterruptedException {
    Path filler = folder.resolve("filler");
    boolean full = false;
    try {
      try (OutputStream out = Files.newOutputStream(filler)) {
        byte[] chunk = new byte[CHUNK];
        while (true) {
          out.write(chunk);
        }
      } catch (IOException e) {
        // Full, as it is to be, or gone with its application.
        full = Files.exists(filler);
        Thread.sleep(dice.between(100, 2_000));
      }
    } finally {
      delete(filler);
    }
    return full;
  }

  private static boolean flip(Target target, Dice dice, Predicate<Path> which) {
    return change(target, dice, which,
        (access, length) -> invert(access, dice.seed() % length, 1 << dice.between(0, 7)));
  }

  private static void invert(RandomAccessFile access, long at, int bits) throws IOException {
    access.seek(at);
    int value = access.read();
    access.seek(at);
    access.write(value ^ bits);
  }

  private static boolean cut(Target target, Dice dice, Predicate<Path> which) {
    return change(target, dice, which, (access, length) -> access.setLength(dice.seed() % length));
  }

  /** Whether a file was changed. */
  private static boolean change(Target target, Dice dice, Predicate<Path> which, Change change) {
    for (Path one : dice.some(1, files(target, which))) {
      try (RandomAccessFile file = new RandomAccessFile(one.toFile(), "rw")) {
        if (file.length() > 0) {
          change.apply(file, file.length());
          return true;
        }
      } catch (IOException e) {
        // Its owner has removed it a moment ago, so there is nothing to damage.
        return false;
      }
    }
    return false;
  }

  /** Files of Spark's block managers, shuffles and spills. */
  private static List<Path> files(Target target, Predicate<Path> which) {
    return walk(target.folder(),
        path -> path.toString().contains("/" + BLOCKS) && Files.isRegularFile(path) && which.test(path));
  }

  private static List<Path> blockFolders(Target target) {
    return walk(target.folder(), path -> name(path).startsWith(BLOCKS) && Files.isDirectory(path));
  }

  static void deleteAll(Path folder) {
    walk(folder, path -> true).stream().sorted(Comparator.reverseOrder()).forEach(FileFaults::delete);
  }

  private static List<Path> walk(Path folder, Predicate<Path> which) {
    try (Stream<Path> paths = Files.walk(folder)) {
      return paths.filter(which).sorted(Comparator.naturalOrder()).toList();
    } catch (IOException | UncheckedIOException e) {
      // Folders come and go while they are listed.
      return List.of();
    }
  }

  private static String name(Path file) {
    return file.getFileName().toString();
  }

  private static boolean isIndex(Path file) {
    return name(file).startsWith(OUTPUT) && name(file).endsWith(".index");
  }

  private static boolean isData(Path file) {
    return name(file).startsWith(OUTPUT) && name(file).endsWith(".data");
  }

  /**
   * Whether that is a map output or a spill in Sluice's format, whose checksums find every change. Spark's files do not
   * begin like that, nor do spills of Spark's sorts and outputs of shuffles in Spark's format.
   */
  private static boolean isFrames(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      return new String(in.readNBytes(FRAMES_BEGIN.length()), StandardCharsets.US_ASCII).equals(FRAMES_BEGIN);
    } catch (IOException e) {
      // Its owner has removed it a moment ago.
      return false;
    }
  }
}
