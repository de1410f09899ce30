package io.sluice.bench.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.catalogue.Catalogue;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpaceTest {

  private static final long MIB = 1024 * 1024;

  @TempDir private Path folder;

  @Test
  void whatDoesNotFitIsRefusedWithBothNumbers() {
    Space.check("tables", 5 * MIB, folder, 5 * MIB);
    assertEquals("tables need about 6,000 MiB, and " + folder + " has 5 MiB",
        assertThrows(EngineFailure.class, () -> Space.check("tables", 6_000 * MIB, folder, 5 * MIB)).getMessage());
  }

  @Test
  void aFolderThatIsNotThereYetIsOnTheDiskOfTheOneAboveIt() {
    Space.check("tables", 1, folder.resolve("a/b"));
    assertTrue(assertThrows(EngineFailure.class, () -> Space.check("tables", Long.MAX_VALUE, folder.resolve("a/b")))
        .getMessage().startsWith("tables need about 8,796,093,022,207 MiB, and "));
  }

  @Test
  void workloadsThatSpillNeedTwiceAsMuchAndThoseWithoutAShuffleNothing() {
    assertEquals(10_440_000_000L, Catalogue.find("sort").fileBytes(200_000_000));
    assertEquals(20_880_000_000L, Catalogue.find("sort-spilling").fileBytes(200_000_000));
    assertEquals(24_000_000_000L, Catalogue.find("spill-wide-rdd").fileBytes(200_000_000));
    assertEquals(0, Catalogue.find("generate").fileBytes(200_000_000));
  }
}
