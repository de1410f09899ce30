package io.sluice.spark.migration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TranslateConfTest {
  @TempDir Path folder;
  private Path from;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @BeforeEach
  void writeSource() throws IOException {
    from =
        Files.writeString(folder.resolve("spark-defaults.conf"), "spark.app.name é\nspark.rapids.shuffle.mode UCX\n");
  }

  private int run(Object... arguments) {
    out.reset();
    err.reset();
    return TranslateConf.run(Arrays.stream(arguments).map(Object::toString).toList(), new PrintStream(out, true),
        new PrintStream(err, true));
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  private void assertRefused(String why, Object... arguments) throws IOException {
    List<Path> before = files();
    assertEquals(2, run(arguments));
    assertTrue(err().startsWith("error: ") && err().contains(why) && err().indexOf('\n') == err().length() - 1, err());
    assertEquals("", out());
    assertEquals(before, files());
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.sorted().toList();
    }
  }

  @Test
  void standardOutputHasTheFileAndStandardErrorTheSummary() {
    assertEquals(0, run("--from", from));
    assertTrue(out().startsWith("spark.app.name é\n# Sluice: becomes spark.sluice.mode. "), out());
    assertTrue(out().endsWith("\n# spark.rapids.shuffle.mode UCX\nspark.sluice.mode  UCX\n"), out());
    assertTrue(err().startsWith(from + ": settings: 1 translated, 0 commented out, 1 left alone"), err());
  }

  @Test
  void aNewFileHasTheSourcesPermissions() throws IOException {
    Files.setPosixFilePermissions(from, PosixFilePermissions.fromString("rw-r-----"));
    Path to = folder.resolve("new.conf");
    assertEquals(0, run("--from=" + from, "--to=" + to), err());
    assertTrue(Files.readString(to).contains("\nspark.sluice.mode  UCX\n"));
    assertEquals("rw-r-----", PosixFilePermissions.toString(Files.getPosixFilePermissions(to)));
    assertEquals("", out());
    assertEquals(2, files().size());
  }

  @Test
  void existingFilesAreReplacedOnlyIfForced() throws IOException {
    String source = Files.readString(from);
    Path other = Files.writeString(folder.resolve("other.conf"), "kept");
    Path link = Files.createSymbolicLink(folder.resolve("link.conf"), other.getFileName());
    assertRefused("exists already; --force replaces it", "--from", from, "--to", from);
    assertRefused("exists already; --force replaces it", "--from", from, "--to", other);
    assertRefused("exists already; --force replaces it", "--from", from, "--to", link);
    assertRefused("is a directory", "--from", from, "--to", folder, "--force");
    assertEquals("kept", Files.readString(other));
    assertEquals(source, Files.readString(from));
    assertEquals(0, run("--from", from, "--to", link, "--force"), err());
    assertTrue(Files.isSymbolicLink(link));
    assertTrue(Files.readString(other).contains("spark.sluice.mode  UCX"));
    assertEquals(0, run("--from", from, "--to", from, "--force"), err());
    assertTrue(Files.readString(from).contains("\n# spark.rapids.shuffle.mode UCX\nspark.sluice.mode  UCX\n"));
  }

  @Test
  void filesThatCannotBeReadAreNamed() throws IOException {
    Path to = folder.resolve("new.conf");
    assertRefused("does not exist", "--from", folder.resolve("none"), "--to", to);
    assertRefused("is a directory", "--from", folder, "--to", to);
    Files.write(from, new byte[] {'a', '\n', 'b', 0, '\n'});
    assertRefused("spark-defaults.conf, line 2 is damaged: it has a NUL byte", "--from", from, "--to", to);
    Files.write(from, new byte[] {'a', '\n', (byte) 0xC3});
    assertRefused("spark-defaults.conf, line 2 is damaged: it has bytes that are not UTF-8", "--from", from, "--to",
        to);
    Files.write(from, new byte[(16 << 20) + 1]);
    assertRefused("larger than 16 MiB", "--from", from, "--to", to);
    Files.writeString(from, "spark.shuffle.rdma.maxBytesInFlight lots");
    assertRefused("line 1: spark.shuffle.rdma.maxBytesInFlight", "--from", from, "--to", to);
  }

  @Test
  void aFileThatMayNotBeReadIsNamed() throws IOException {
    Files.setPosixFilePermissions(from, PosixFilePermissions.fromString("-w-------"));
    assumeFalse(Files.isReadable(from), "this user may read everything");
    assertRefused("may not be read", "--from", from);
  }

  @Test
  void aFolderThatIsNotThereIsNamed() throws IOException {
    assertRefused("cannot be written", "--from", from, "--to", folder.resolve("none").resolve("new.conf"));
  }

  @Test
  void wrongArgumentsAreNamed() throws IOException {
    assertRefused("--from FILE is missing", "--to", "x");
    assertRefused("--from needs a file", "--from");
    assertRefused("--from is given twice", "--from", from, "--from", from);
    assertRefused("unknown argument --form", "--form", from);
    assertEquals(0, run("--help"));
    assertTrue(out().startsWith("usage: ") && out().contains("java -jar JAR conf KEY=VALUE…"), out());
  }
}
