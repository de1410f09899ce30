package io.sluice.advisor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TerminalTest {
  @TempDir private Path folder;

  @Test
  void linkOfTheDescriptorTells() throws IOException {
    Map<String, Boolean> files = Map.of("/dev/pts/3", true, "/dev/tty1", true, "/dev/console", true, "/dev/null", false,
        "pipe:[12345]", false, "/tmp/log", false, "socket:[1]", false);
    for (Map.Entry<String, Boolean> file : files.entrySet()) {
      Path link = folder.resolve("fd");
      Files.createSymbolicLink(link, Paths.get(file.getKey()));
      assertEquals(file.getValue(), Terminal.is(null, link), file::getKey);
      Files.delete(link);
    }
    assertFalse(Terminal.is(null, folder.resolve("none")));
  }

  @Test
  void whoStartedTheProgramKnowsBetter() throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("fd"), Paths.get("/dev/pts/0"));
    assertFalse(Terminal.is("0", link));
    assertTrue(Terminal.is("1", folder.resolve("none")));
  }
}
