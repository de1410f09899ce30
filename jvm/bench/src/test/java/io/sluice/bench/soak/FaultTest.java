package io.sluice.bench.soak;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FaultTest {

  @TempDir private Path folder;

  private Fault.Target target(ProcessHandle... executors) {
    return new Fault.Target() {
      @Override
      public List<ProcessHandle> executors() {
        return List.of(executors);
      }

      @Override
      public Path folder() {
        return folder;
      }
    };
  }

  private Path file(String name, String content) throws Exception {
    Path file = Files.createDirectories(folder.resolve("blockmgr-1/0a")).resolve(name);
    return Files.writeString(file, content, StandardCharsets.ISO_8859_1);
  }

  @Test
  void bitsAreInvertedInFramesOnly() throws Exception {
    String frames = "SLF1" + "x".repeat(1_000);
    List<Path> others = new ArrayList<>();
    for (String name : List.of("temp_local_1", "rdd_1_2", "broadcast_1_piece0", "shuffle_1_2_0.index")) {
      others.add(file(name, frames));
    }
    others.add(file("shuffle_9_2_0.data", "LZ4Block" + frames));
    others.add(file("temp_shuffle_2", "LZ4Block" + frames));
    others.add(file("shuffle_9_3_0.data", ""));
    List<byte[]> before = new ArrayList<>();
    for (Path other : others) {
      before.add(Files.readAllBytes(other));
    }
    Dice dice = new Dice(1);
    int[] changed = new int[2];
    for (int round = 0; round < 40; round++) {
      Path output = file("shuffle_1_2_0.data", frames);
      Path spill = file("temp_shuffle_1", "SLF2" + frames);
      byte[] outputBytes = Files.readAllBytes(output);
      byte[] spillBytes = Files.readAllBytes(spill);
      Fault.BIT_FLIPPED.inject(target(), dice);
      changed[0] += Arrays.equals(outputBytes, Files.readAllBytes(output)) ? 0 : 1;
      changed[1] += Arrays.equals(spillBytes, Files.readAllBytes(spill)) ? 0 : 1;
    }
    assertEquals(40, changed[0] + changed[1]);
    assertTrue(changed[0] > 0 && changed[1] > 0, Arrays.toString(changed));
    for (int i = 0; i < others.size(); i++) {
      assertArrayEquals(before.get(i), Files.readAllBytes(others.get(i)), others.get(i).toString());
    }
  }

  @Test
  void theLimitOfOpenFilesIsWhatItWas() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/prlimit")), "no prlimit");
    Process executor = new ProcessBuilder("bash", "-c", "ulimit -Sn 500; ulimit -Hn 600; echo; exec sleep 60").start();
    try {
      executor.getInputStream().read();
      Thread observed = new Thread(() -> {
        try {
          Fault.DESCRIPTORS_EXHAUSTED.inject(target(executor.toHandle()), new Dice(1));
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      });
      observed.start();
      boolean lowered = false;
      while (observed.isAlive()) {
        lowered |= !Fault.softFileLimit(executor.pid()).equals(Optional.of("500"));
        Thread.sleep(5);
      }
      assertTrue(lowered, "it was lower for a moment");
      assertEquals(Optional.of("500"), Fault.softFileLimit(executor.pid()));
    } finally {
      executor.destroyForcibly().waitFor();
    }
    assertFalse(Fault.softFileLimit(executor.pid()).isPresent());
  }
}
