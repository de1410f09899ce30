package io.sluice.advisor;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is open as a descriptor says whether it is a terminal, unless the caller has said so. */
class TerminalTest {
  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({"/dev/pts/3,true", "/dev/tty1,true", "/dev/console,true", "pipe:[123],false", "/dev/null,false",
    "/tmp/a.log,false"})
  void theDescriptorTells(String open, boolean terminal) throws IOException {
    Path descriptor = Files.createSymbolicLink(folder.resolve("2"), Path.of(open));
    assertTrue(Terminal.is(null, descriptor) == terminal, open);
    assertTrue(Terminal.is("1", descriptor));
    assertFalse(Terminal.is("0", descriptor));
  }

  @Test
  void withoutADescriptorThereIsNone() {
    assertFalse(Terminal.is(null, folder.resolve("missing")));
  }
}
