package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.Await;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two executors and a driver in this process; messages really are serialized. */
@Timeout(60)
class PeerDiscoveryTest {
  private final PeerRegistry registry = new PeerRegistry(System::nanoTime, 60_000);
  private final AtomicInteger beats = new AtomicInteger();
  private volatile boolean driverIsDeaf;
  private final End one = new End("1");
  private final End two = new End("2");

  private final class End {
    private final Counters counters = new Counters();
    private final FakeBlockTransport transport = new FakeBlockTransport();
    private final TransportService service;
    private final FakeSparkClient sparks = new FakeSparkClient();
    private final String id;
    private PeerDiscovery discovery;

    End(String id) {
      this(id, 0);
    }

    End(String id, long earlyConnections) {
      this.id = id;
      service =
          new TransportService(transport, counters, 1_000_000_000L, earlyConnections, System::nanoTime, () -> 0);
    }

    void start() {
      start(5_000);
    }

    void start(long periodMillis) {
      discovery = PeerDiscovery.start(id, () -> Optional.of(service), PeerDiscoveryTest.this::answer, periodMillis);
    }

    /** Asks for a block of another executor. */
    void fetchFrom(String executor) {
      service.client(sparks)
          .fetchBlocks("host", 1, executor, new String[] {"shuffle_1_2_3"}, new RecordingListener(), null);
    }

    long announced() {
      return counters.get(Counter.TRANSPORT_PEERS_ANNOUNCED);
    }

    void close() {
      if (discovery != null) {
        discovery.close();
      }
      service.close();
    }
  }

  private Object answer(Object message) throws Exception {
    beats.incrementAndGet();
    if (driverIsDeaf) {
      throw new IOException("no answer");
    }
    return overTheWire(registry.heartbeat((PeerHeartbeat) overTheWire(message)).toWire());
  }

  private static Object overTheWire(Object message) throws IOException, ClassNotFoundException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(message);
    }
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      return in.readObject();
    }
  }

  @AfterEach
  void stop() {
    one.close();
    two.close();
  }

  @Test
  void executorsLearnEachOthersAddresses() {
    one.start();
    two.start();
    Await.until("both are connected", () -> one.announced() == 1 && two.announced() == 1);
  }

  @Test
  void withAnEarlyStartExecutorsAreConnectedBeforeAnythingIsWantedOfThem() {
    for (int executor = 100; executor < 150; executor++) {
      registry.heartbeat(new PeerHeartbeat(Integer.toString(executor), new byte[] {1}, 0));
    }
    End early = new End("3", 40);
    try {
      early.start();
      one.start();
      Await.until("as many are connected as may be", () -> early.transport.connects.size() == 40);
      Await.until("the other has learned of them all", () -> one.announced() >= 50);
      assertEquals(0, one.transport.connects.size());
      assertEquals(40, early.transport.connects.size());
    } finally {
      early.close();
    }
  }

  @Test
  void aFetchFromAnUnknownExecutorSendsAHeartbeatAtOnce() {
    one.start(TimeUnit.HOURS.toMillis(1));
    Await.until("the first heartbeat is over", () -> beats.get() >= 1);
    two.start();
    Await.until("the second has found the first", () -> two.announced() == 1);
    one.fetchFrom("2");
    Await.until("the first has found the second", () -> one.announced() == 1);
  }

  @Test
  void lookupsOfExecutorsThatNeverAnnounceAreRateLimited() throws InterruptedException {
    one.start();
    long end = System.nanoTime() + 3_000_000_000L;
    while (System.nanoTime() < end) {
      one.fetchFrom("absent");
      Thread.sleep(5);
    }
    assertTrue(beats.get() <= 6, beats + " heartbeats in three seconds");
  }

  /** It also sends no heartbeat when blocks of other executors are wanted. */
  @Test
  void aClosedTransportSendsNoHeartbeats() throws InterruptedException {
    one.start();
    Await.until("it has announced itself", () -> beats.get() >= 1);
    one.transport.stop();
    Await.until("its service has ended", one.service::hasEnded);
    int before = beats.get();
    long end = System.nanoTime() + 2_000_000_000L;
    while (System.nanoTime() < end) {
      one.fetchFrom("2");
      Thread.sleep(5);
    }
    assertTrue(beats.get() <= before + 1, "heartbeats went on: " + (beats.get() - before));
  }

  @Test
  void aHeartbeatWithoutAnAnswerIsRepeated() {
    driverIsDeaf = true;
    one.start();
    Await.until("it has been asked", () -> beats.get() >= 1);
    driverIsDeaf = false;
    two.start();
    Await.until("the second has announced itself", () -> beats.get() >= 2);
    one.fetchFrom("2");
    Await.until("the first has found the second", () -> one.announced() == 1);
  }

  @Test
  void withoutATransportNoHeartbeatIsSent() throws InterruptedException {
    PeerDiscovery discovery = PeerDiscovery.start("3", Optional::empty, this::answer, 5_000);
    Thread.sleep(100);
    discovery.close();
    assertEquals(0, beats.get());
  }
}
