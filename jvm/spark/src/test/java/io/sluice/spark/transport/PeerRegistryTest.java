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
  private final PeerRegistry registry = new PeerRegistry(clock::get);

  private PeerNews beat(String executor, long since) {
    return registry.heartbeat(new PeerHeartbeat(executor, new byte[] {Byte.parseByte(executor)}, since));
  }

  @Test
  void executorsLearnOfEachOtherAndOnlyOnce() {
    assertTrue(beat("1", 0).isEmpty());
    PeerNews second = beat("2", 0);
    assertEquals(Set.of("1"), second.announced().keySet());
    assertArrayEquals(new byte[] {1}, second.announced().get("1"));
    PeerNews first = beat("1", 1);
    assertEquals(Set.of("2"), first.announced().keySet());
    assertTrue(beat("1", first.sequence()).isEmpty());
    assertTrue(beat("2", second.sequence()).isEmpty(), "its own entry is no news");
  }

  @Test
  void anAnswerThatWasLostIsGivenAgain() {
    beat("1", 0);
    long before = beat("1", 0).sequence();
    beat("2", 0);
    assertEquals(Set.of("2"), beat("1", before).announced().keySet());
    assertEquals(Set.of("2"), beat("1", before).announced().keySet());
  }

  @Test
  void whoIsRemovedIsGoneForGood() {
    beat("1", 0);
    long sequence = beat("2", 0).sequence();
    registry.remove("1");
    PeerNews news = beat("2", sequence);
    assertEquals(List.of("1"), news.gone());
    assertTrue(news.announced().isEmpty());
    assertTrue(beat("2", news.sequence()).isEmpty());
    beat("1", 0);
    assertTrue(beat("2", news.sequence()).isEmpty(), "a late heartbeat brought it back");
    assertTrue(beat("3", 0).gone().isEmpty(), "who never knew it need not forget it");
  }

  @Test
  void removalOfWhomNobodyKnowsIsNoNews() {
    registry.remove("7");
    assertEquals(0, beat("8", 0).announced().size());
    assertTrue(beat("8", 1).isEmpty());
  }

  @Test
  void whoIsSilentIsGoneUntilItSpeaksAgain() {
    beat("1", 0);
    long sequence = beat("2", 0).sequence();
    clock.addAndGet(PeerRegistry.SILENCE_NANOS);
    assertTrue(beat("2", sequence).isEmpty());
    clock.addAndGet(1);
    PeerNews silent = beat("2", sequence);
    assertEquals(List.of("1"), silent.gone());
    beat("1", sequence);
    PeerNews back = beat("2", silent.sequence());
    assertEquals(Set.of("1"), back.announced().keySet());
    assertTrue(back.gone().isEmpty());
  }

  @Test
  void anotherAddressIsNews() {
    beat("1", 0);
    long sequence = beat("2", 0).sequence();
    registry.heartbeat(new PeerHeartbeat("1", new byte[] {9}, sequence));
    assertArrayEquals(new byte[] {9}, beat("2", sequence).announced().get("1"));
  }

  @Test
  void newsSurviveTheWire() {
    PeerNews news = new PeerNews(12, Map.of("1", new byte[] {3}), List.of("2"));
    PeerNews read = PeerNews.ofWire(news.toWire());
    assertEquals(12, read.sequence());
    assertArrayEquals(new byte[] {3}, read.announced().get("1"));
    assertEquals(List.of("2"), read.gone());
    Assertions.assertThrows(SluiceException.class, () -> PeerNews.ofWire(null));
  }
}
