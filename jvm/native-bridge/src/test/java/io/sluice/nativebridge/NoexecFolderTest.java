package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM whose java.io.tmpdir is a file system mounted noexec, in a mount namespace of its own. */
class NoexecFolderTest {
  private static final long LIMIT_SECONDS = 60;

  @TempDir private Path folder;

  /** What the JVM under test runs: prints what came of loading. */
  static final class Load {
    private Load() {}

    public static void main(String[] arguments) {
      System.out.println(NativeLibrary.load(arguments.length == 0 ? "" : arguments[0]));
    }
  }

  private static Path library() {
    Path library = Path.of(System.getProperty(NativeLibrary.PROPERTY, "absent"));
    assumeTrue(Files.exists(library), "no native library at " + library);
    return library.toAbsolutePath();
  }

  /** The shell's answer in a new mount namespace in which {@code folder} is a tmpfs mounted noexec. */
  private String withNoexec(String command) throws IOException, InterruptedException {
    Path answer = Files.createTempFile("noexec-answer", ".txt");
    try {
      Process process = new ProcessBuilder(List.of("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
          "mount -t tmpfs -o noexec tmpfs " + folder + " && " + command)).redirectErrorStream(true)
          .redirectOutput(answer.toFile()).start();
      assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "the JVM does not end");
      return new String(Files.readAllBytes(answer), StandardCharsets.UTF_8);
    } finally {
      Files.delete(answer);
    }
  }

  private void assumeMountable() throws InterruptedException {
    try {
      assumeTrue(withNoexec("echo mounted").contains("mounted"), "this machine permits no mount namespaces");
    } catch (IOException e) {
      assumeTrue(false, "no unshare: " + e);
    }
  }

  private String load(String options, String argument) throws IOException, InterruptedException {
    String classes = NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation().getPath() + ":"
        + NoexecFolderTest.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    return withNoexec(System.getProperty("java.home") + "/bin/java " + options + " -cp " + classes + " "
        + Load.class.getName().replace("$", "\\$") + " " + argument);
  }

  @Test
  void aGivenLibraryIsLoadedWhereItIs() throws Exception {
    Path library = library();
    assumeMountable();
    String answer = load("-Djava.io.tmpdir=" + folder, library.toString());
    assertTrue(answer.contains("Status[available=true"), answer);
  }

  @Test
  void aCopyThatMayNotRunNamesTheFolderAndWhatToDo() throws Exception {
    Path library = library();
    assumeMountable();
    String answer = load("-Djava.io.tmpdir=" + folder + " -D" + NativeLibrary.PROPERTY + "=" + library, "");
    assertTrue(answer.contains("available=false") && answer.contains("java.io.tmpdir = " + folder)
        && answer.contains("spark.sluice.native.library"), answer);
  }

  @Test
  void aFolderThatCannotBeWrittenIsNamed() throws Exception {
    Path library = library();
    assumeMountable();
    Path absent = folder.resolve("absent");
    String answer = load("-Djava.io.tmpdir=" + absent + " -D" + NativeLibrary.PROPERTY + "=" + library, "");
    assertTrue(answer.contains("java.io.tmpdir = " + absent + " cannot be written"), answer);
  }

  @Test
  void aGivenLibraryOnSuchAFolderIsNamed() throws Exception {
    Path library = library();
    assumeMountable();
    assertEquals(-1, folder.toString().indexOf(' '));
    String answer = withNoexec("cp " + library + " " + folder + "/given.so && " + command(folder.resolve("given.so")));
    assertTrue(answer.contains("available=false") && answer.contains("The file system of " + folder), answer);
  }

  private static String command(Path given) {
    String classes = NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation().getPath() + ":"
        + NoexecFolderTest.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    return System.getProperty("java.home") + "/bin/java -cp " + classes + " "
        + Load.class.getName().replace("$", "\\$") + " " + given;
  }
}
