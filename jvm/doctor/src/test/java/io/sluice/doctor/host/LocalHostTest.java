package io.sluice.doctor.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On the real machine: files that every Linux has are read, and no method throws or hangs. */
class LocalHostTest {
  @TempDir private Path folder;
  private final LocalHost host = new LocalHost();

  @Test
  void filesAndFoldersAreRead() {
    assertTrue(host.read("/proc/self/status").value().contains("CapEff"));
    assertEquals("there is no /proc/nothing", host.read("/proc/nothing").reason());
    assertFalse(host.read("/proc").known());
    assertTrue(host.list("/proc/self").contains("ns"));
    assertEquals(List.of(), host.list("/nothing"));
    assertTrue(host.link("/proc/self/ns/pid").value().startsWith("pid:["));
    assertFalse(host.link("/proc/self/status").known());
  }

  @Test
  void programsRunWithATimeout() {
    assertEquals("yes", host.run("echo", "yes").value());
    assertTrue(host.run("no-such-program-at-all").reason().contains("is not there"));
    assertTrue(host.run("false").reason().contains("exit code 1"));
    Text late = ExternalCommand.run(Duration.ofMillis(50), "sleep", "60");
    assertTrue(late.reason().contains("did not answer"), late::toString);
  }

  @Test
  void theWriteTestLeavesNoFile() {
    assertEquals(Optional.empty(), host.writeObstacle(folder.toString()));
    assertEquals(List.of(), host.list(folder.toString()));
    assertTrue(host.writeObstacle("/proc").isPresent());
    assertTrue(host.space(folder.toString()).orElseThrow().totalBytes() > 0);
    assertEquals(Optional.empty(), host.space("/nothing/at/all"));
  }

  @Test
  void readingAChildsMemoryIsTried() {
    MemoryTrial trial = host.readMemoryOfChild();
    assertNotNull(trial.result());
    assertFalse(trial.what().isBlank());
  }

  @Test
  void mountsAreFoundByTheLongestPrefix() {
    FakeHost fake = new FakeHost(folder).with("/proc/self/mounts",
        "a / ext4 rw 0 0\nb /data xfs rw,noexec 0 0\nc /data/my\\040disk zfs rw 0 0\nbroken\nd /data btrfs rw 0 0\n");
    Mounts mounts = Mounts.of(fake);
    assertEquals("btrfs", mounts.holding("/data/x").orElseThrow().type());
    assertEquals("ext4", mounts.holding("/database").orElseThrow().type());
    assertEquals("zfs", mounts.holding("/data/my disk/y").orElseThrow().type());
    assertFalse(mounts.holding("/data").orElseThrow().has("noexec"));
  }
}
