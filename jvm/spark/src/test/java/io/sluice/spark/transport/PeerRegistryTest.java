package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.SluiceException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

class PeerRegistryTest {
  private final AtomicLong clock = new AtomicLong(-5);
  private final PeerRegistry registry = new PeerRegistry(clock::get, 60_000);

  private PeerUpdate beat(String executor, long since) {
    return registry.heartbeat(new PeerHeartbeat(executor, new byte[] {Byte.parseByte(executor)}, since));
  }

  @Test
  void everyExecutorIsAnnouncedOnceToEveryOther() {
    assertTrue(beat("1", 0).isEmpty());
    PeerUpdate second = beat("2", 0);
    assertEquals(Set.of("1"), second.announced().keySet());
    assertArrayEquals(new byte[] {1}, second.announced().get("1"));
    PeerUpdate first = beat("1", 1);
    assertEquals(Set.of("2"), first.announced().keySet());
    assertTrue(beat("1", first.sequence()).isEmpty());
    assertTrue(beat("2", second.sequence()).isEmpty(), "its own entry is no change");
  }

  @Test
  void changesAreRepeatedUntilTheExecutorConfirmsThem() {
    beat("1", 0);
    long before = beat("1", 0).sequence();
    beat("2", 0);
    assertEquals(Set.of("2"), beat("1", before).announced().keySet());
    assertEquals(Set.of("2"), beat("1", before).announced().keySet());
  }

  @Test
  void aRemovedExecutorIsNotAnnouncedAgainByALateHeartbeat() {
    beat("1", 0);
    long sequence = beat("2", 0).sequence();
    registry.remove("1");
    PeerUpdate update = beat("2", sequence);
    assertEquals(List.of("1"), update.gone());
    assertTrue(update.announced().isEmpty());
    assertTrue(beat("2", update.sequence()).isEmpty());
    beat("1", 0);
    assertTrue(beat("2", update.sequence()).isEmpty(), "a late heartbeat brought it back");
    assertTrue(beat("3", 0).gone().isEmpty(), "who never knew it need not forget it");
  }

  @Test
  void removingAnUnknownExecutorChangesNothing() {
    registry.remove("7");
    assertEquals(0, beat("8", 0).announced().size());
    assertTrue(beat("8", 1).isEmpty());
  }

  @Test
  void anExecutorWithoutHeartbeatsIsWithdrawnUntilItsNextHeartbeat() {
    beat("1", 0);
    long sequence = beat("2", 0).sequence();
    clock.addAndGet(60_000_000_000L);
    assertTrue(beat("2", sequence).isEmpty());
    clock.addAndGet(1);
    PeerUpdate silent = beat("2", sequence);
    assertEquals(List.of("1"), silent.gone());
    beat("1", sequence);
    PeerUpdate back = beat("2", silent.sequence());
    assertEquals(Set.of("1"), back.announced().keySet());
    assertTrue(back.gone().isEmpty());
  }

  @Test
  void aChangedAddressIsAnnounced() {
    beat("1", 0);
    long sequence = beat("2", 0).sequence();
    registry.heartbeat(new PeerHeartbeat("1", new byte[] {9}, sequence));
    assertArrayEquals(new byte[] {9}, beat("2", sequence).announced().get("1"));
  }

  @Test
  void newsAreEqualAfterSerialization() {
    PeerUpdate update = new PeerUpdate(12, Map.of("1", new byte[] {3}), List.of("2"));
    PeerUpdate read = PeerUpdate.ofWire(update.toWire());
    assertEquals(12, read.sequence());
    assertArrayEquals(new byte[] {3}, read.announced().get("1"));
    assertEquals(List.of("2"), read.gone());
    Assertions.assertThrows(SluiceException.class, () -> PeerUpdate.ofWire(null));
  }
}
