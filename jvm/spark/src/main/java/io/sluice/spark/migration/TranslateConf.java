package io.sluice.spark.migration;

import io.sluice.spark.SluiceException;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/**
 * {@code java -jar JAR conf --from FILE [--to FILE]}: a {@code spark-defaults.conf} of a predecessor, translated. Needs
 * Spark's jars on the class path.
 */
public final class TranslateConf {
  private static final int FAILED = 2;
  /** Far above any file of settings; what is larger is something else. */
  private static final int MAX_BYTES = 16 << 20;

  private TranslateConf() {}

  public static void main(String[] arguments) {
    System.exit(run(List.of(arguments), System.out, System.err));
  }

  /**
   * Writes the translation to {@code out} or a file, and to {@code err} what was done.
   *
   * @return the exit code: 0, or 2 when nothing was written
   */
  public static int run(List<String> arguments, PrintStream out, PrintStream err) {
    try {
      TranslateOptions options = TranslateOptions.parse(arguments);
      if (options.help()) {
        print(out, TranslateOptions.HELP);
        return 0;
      }
      NewFile target = options.to().map(to -> NewFile.at(to, options.force())).orElse(null);
      Translation translation = translate(options.from());
      write(translation, options.from(), target, out);
      print(err, options.from() + ": " + translation.report().text());
      return 0;
    } catch (SluiceException | IllegalStateException e) {
      print(err, "error: " + e.getMessage().replaceAll("\\s+", " ") + "\n");
      return FAILED;
    }
  }

  private static Translation translate(Path from) {
    byte[] bytes = read(from);
    try {
      return Translation.of(bytes);
    } catch (SluiceException e) {
      throw new SluiceException(from + ", " + e.getMessage(), e);
    }
  }

  private static byte[] read(Path from) {
    if (Files.isDirectory(from)) {
      throw new SluiceException(from + " is a directory, not a file of settings");
    }
    try (InputStream in = Files.newInputStream(from)) {
      byte[] bytes = in.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new SluiceException(from + " is larger than 16 MiB, so it is not a file of settings");
      }
      return bytes;
    } catch (NoSuchFileException e) {
      throw new SluiceException(from + " does not exist", e);
    } catch (AccessDeniedException e) {
      throw new SluiceException(from + " may not be read by this user", e);
    } catch (IOException e) {
      throw new SluiceException(from + " cannot be read: " + e, e);
    }
  }

  private static void write(Translation translation, Path from, NewFile target, PrintStream out) {
    byte[] bytes = translation.text().getBytes(StandardCharsets.UTF_8);
    if (target != null) {
      target.write(bytes, from);
      return;
    }
    out.write(bytes, 0, bytes.length);
    out.flush();
    if (out.checkError()) {
      throw new SluiceException("standard output cannot be written; what is there may be cut short");
    }
  }

  private static void print(PrintStream to, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    to.write(bytes, 0, bytes.length);
    to.flush();
  }
}
