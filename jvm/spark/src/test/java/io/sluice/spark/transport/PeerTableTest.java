package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import io.sluice.spark.metrics.PeerReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The states of one peer, in virtual time. */
class PeerTableTest {
  private static final long DELAY_NANOS = 30_000_000_000L;
  private static final long PEER = 0;

  private final FakeBlockTransport transport = new FakeBlockTransport();
  private final Counters counters = new Counters();
  /** Near the end of {@link Long}, as {@link System#nanoTime} may be. */
  private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - DELAY_NANOS);
  private double spread;
  private final PeerTable peers = new PeerTable(transport, counters, DELAY_NANOS, clock::get, () -> spread);

  @BeforeEach
  void learn() {
    peers.learn("5", new byte[] {1});
  }

  /** The peer fails its connection: a fetch notices it, or the caller that checks the probe. */
  private void fail() {
    PeerTable.Link link = peers.link("5");
    transport.failedPeers.add(PEER);
    if (link == null) {
      assertNull(peers.link("5"));
    } else {
      peers.failed(link);
    }
  }

  /** No connection is opened until {@code delayNanos} have passed, then a probe is. */
  private void assertRestsFor(long delayNanos) {
    int connects = transport.connects.size();
    clock.addAndGet(delayNanos - 1);
    assertNull(peers.link("5"));
    assertEquals(connects, transport.connects.size(), "it was tried too early");
    clock.addAndGet(1);
    assertNull(peers.link("5"), "a probe is not waited for");
    assertEquals(connects + 1, transport.connects.size(), "it was not tried");
  }

  /** An outage that all peers share does not have all of them connected again at the same moment. */
  @Test
  void delaysAreSpreadOut() {
    assertNotNull(peers.link("5"));
    spread = 1;
    fail();
    assertRestsFor(DELAY_NANOS + DELAY_NANOS / 2);
    spread = 0.5;
    fail();
    assertRestsFor(DELAY_NANOS + DELAY_NANOS / 4);
  }

  @Test
  void theFirstFetchConnectsAndTheAnnouncementDoesNot() {
    for (int executor = 6; executor < 1000; executor++) {
      peers.learn(Integer.toString(executor), new byte[] {1});
    }
    assertEquals(List.of(), transport.connects);
    assertEquals(995, counters.get(Counter.TRANSPORT_PEERS_ANNOUNCED));
    assertEquals(0, counters.get(Counter.TRANSPORT_PEERS_CONNECTED));
    assertNotNull(peers.link("5"));
    assertNotNull(peers.link("5"), "and the second one finds it connected");
    assertEquals(List.of(PEER), transport.connects);
  }

  /** From a place on that differs between executors, some at a time, each once, and no more than the limit. */
  @Test
  void executorsAreConnectedEarlyWhereThatIsAskedFor() {
    for (int executor = 6; executor < 105; executor++) {
      peers.learn(Integer.toString(executor), new byte[] {1});
    }
    spread = 0.999;
    assertTrue(peers.connectSome(16, 50));
    assertEquals(16, transport.connects.size());
    spread = 0;
    assertTrue(peers.connectSome(16, 50));
    assertTrue(peers.connectSome(16, 50));
    assertFalse(peers.connectSome(16, 50), "two are left until the limit");
    assertFalse(peers.connectSome(16, 50));
    assertEquals(50, transport.connects.size());
    assertEquals(50, Set.copyOf(transport.connects).size());
    assertFalse(peers.connectSome(200, 1000));
    assertEquals(100, Set.copyOf(transport.connects).size());
    assertNotNull(peers.link("104"));
    assertEquals(100, transport.connects.size(), "a fetch finds it connected");
    assertEquals(100, counters.get(Counter.TRANSPORT_PEERS_CONNECTED));
  }

  @Test
  void anExecutorThatHasFailedIsNotConnectedEarly() {
    assertNotNull(peers.link("5"));
    fail();
    assertFalse(peers.connectSome(16, 50));
    assertEquals(1, transport.connects.size());
  }

  @Test
  void theDriverIsToldHowManyPeersAreInWhichState() {
    peers.learn("6", new byte[] {1});
    peers.learn("7", new byte[] {1});
    assertNotNull(peers.link("6"));
    assertNotNull(peers.link("5"));
    fail();
    assertEquals(new PeerReport(3, 1, 1, new ArrayList<>(List.of("5"))), peers.report(10));
    assertEquals(List.of(), peers.report(0).failedIds());
  }

  @Test
  void aFirstConnectionThatCannotBeOpenedIsAFailure() {
    transport.connectResult = NativeTransport.UNAVAILABLE;
    assertNull(peers.link("5"));
    assertEquals(1, counters.get(Counter.TRANSPORT_PEER_FAILURES));
    transport.connectResult = 0;
    assertRestsFor(DELAY_NANOS);
    assertNotNull(peers.link("5"));
  }

  @Test
  void theFirstConnectionIsUsedBeforeItIsEstablished() {
    transport.connecting = true;
    assertNotNull(peers.link("5"));
    assertEquals(1, counters.get(Counter.TRANSPORT_PEERS_CONNECTED));
  }

  @Test
  void aReconnectionIsUsedOnlyWhenItIsEstablished() {
    PeerTable.Link first = peers.link("5");
    fail();
    transport.connecting = true;
    assertRestsFor(DELAY_NANOS);
    clock.addAndGet(100 * DELAY_NANOS);
    assertNull(peers.link("5"));
    assertEquals(2, transport.connects.size(), "a probe under way was begun again");
    transport.connecting = false;
    PeerTable.Link second = peers.link("5");
    assertNotNull(second);
    assertNotEquals(first.episode(), second.episode());
    assertEquals(1, counters.get(Counter.TRANSPORT_PEER_FAILURES));
  }

  @Test
  void lateFailuresOfAnEarlierConnectionDoNotEndAReconnection() {
    PeerTable.Link first = peers.link("5");
    fail();
    assertRestsFor(DELAY_NANOS);
    peers.failed(first);
    assertNotNull(peers.link("5"));
    peers.failed(first);
    assertNotNull(peers.link("5"));
    assertEquals(1, counters.get(Counter.TRANSPORT_PEER_FAILURES));
  }

  @Test
  void theRetryDelayDoublesUpToSixteenTimes() {
    transport.connecting = true;
    for (long times : new long[] {1, 2, 4, 8, 16, 16, 16}) {
      fail();
      assertRestsFor(times * DELAY_NANOS);
    }
    assertEquals(7, counters.get(Counter.TRANSPORT_PEER_FAILURES));
  }

  @Test
  void theRetryDelayIsResetByAnEstablishedConnection() {
    fail();
    assertRestsFor(DELAY_NANOS);
    fail();
    transport.connecting = true;
    assertRestsFor(DELAY_NANOS);
    fail();
    assertRestsFor(2 * DELAY_NANOS);
    transport.connecting = false;
    fail();
    assertRestsFor(DELAY_NANOS);
  }

  @Test
  void aReconnectionThatCannotBeOpenedIsAFailure() {
    fail();
    transport.connectResult = NativeTransport.UNAVAILABLE;
    assertRestsFor(DELAY_NANOS);
    assertEquals(2, counters.get(Counter.TRANSPORT_PEER_FAILURES));
    assertRestsFor(2 * DELAY_NANOS);
  }

  @Test
  void anExecutorWithANewAddressIsANewPeer() {
    fail();
    assertNull(peers.link("5"));
    peers.learn("5", new byte[] {1});
    assertNull(peers.link("5"), "it said nothing new");
    peers.learn("5", new byte[] {2});
    assertNotNull(peers.link("5"));
  }
}
