package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.Await;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.util.TransportConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Every block is reported to the listener once, as received one-sidedly or by Spark's client, and no memory stays
 * leased.
 */
@Timeout(60)
class OneSidedBlockClientTest {
  private static final long DELAY_NANOS = 30_000_000_000L;
  private static final String[] THREE = {"shuffle_4_10_0", "shuffle_4_11_0", "shuffle_4_12_3_7"};

  private final FakeBlockTransport transport = new FakeBlockTransport();
  private final FakeSparkClient sparks = new FakeSparkClient();
  private final RecordingListener listener = new RecordingListener();
  private final Counters counters = new Counters();
  private final AtomicLong clock = new AtomicLong();
  private TransportService service;
  private BlockStoreClient client;

  @BeforeEach
  void start() {
    service = new TransportService(transport, counters, DELAY_NANOS, 0, clock::get, () -> 0);
    service.learn(new PeerUpdate(1, Map.of("5", new byte[] {1}), List.of()));
    client = service.client(sparks);
  }

  @AfterEach
  void nothingIsLeft() {
    listener.releaseAll();
    service.close();
    assertEquals(0, transport.leases(), "leases");
    assertEquals(List.of(), transport.misuses);
    assertFalse(sparks.closed);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private void fetch(String... ids) {
    client.fetchBlocks("host", 7337, "5", ids, listener, null);
  }

  private void awaitReported(int count) {
    Await.until("the listener has heard of " + count + " blocks", () -> listener.told() >= count);
  }

  @Test
  void blocksArriveInAnyOrder() throws InterruptedException {
    fetch(THREE);
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    assertArrayEquals(new long[] {4, 10, 0, 1, 4, 11, 0, 1, 4, 12, 3, 7}, fetch.blocks());
    transport.cmaBytes.set(3);
    transport.deliver(fetch, 2, bytes("two"));
    transport.cmaBytes.set(7);
    transport.deliver(fetch, 0, bytes("zero"));
    transport.deliver(fetch, 1, bytes("one"));
    awaitReported(3);
    assertArrayEquals(bytes("zero"), listener.of(THREE[0]).bytes());
    assertArrayEquals(bytes("one"), listener.of(THREE[1]).bytes());
    assertArrayEquals(bytes("two"), listener.of(THREE[2]).bytes());
    assertEquals(List.of(), sparks.requests);
    Await.until("blocks are counted", () -> counters.get(Counter.TRANSPORT_BYTES) == 10);
    assertEquals(3, counters.get(Counter.TRANSPORT_BLOCKS));
    Await.until("bytes read by CMA are counted", () -> counters.get(Counter.TRANSPORT_CMA_BYTES) == 7);
    assertEquals(3, transport.leases(), "a block that the listener holds was freed");
  }

  @Test
  void completionsMayComeBeforeTheFetchReturns() {
    transport.onFetch = fetch -> {
      transport.deliver(fetch, 0, bytes("early"));
      try {
        Thread.sleep(50);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    };
    fetch("shuffle_4_10_0");
    awaitReported(1);
    assertArrayEquals(bytes("early"), listener.of("shuffle_4_10_0").bytes());
  }

  @Test
  void emptyBlocksNeedNoMemory() throws InterruptedException {
    fetch("shuffle_4_10_0");
    transport.deliver(transport.nextFetch(), 0, new byte[0]);
    awaitReported(1);
    assertEquals(0, listener.of("shuffle_4_10_0").bytes().length);
  }

  @Test
  void buffersThatAListenerDoesNotRetainAreFreed() throws InterruptedException {
    listener.closed = true;
    fetch(THREE);
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    for (int i = 0; i < 3; i++) {
      transport.deliver(fetch, i, bytes("x"));
    }
    awaitReported(3);
    Await.until("the memory is given back", () -> transport.leases() == 0);
  }

  @Test
  void anExceptionOfAListenerDoesNotAffectOtherBlocks() throws InterruptedException {
    listener.throwingOn = THREE[0];
    fetch(THREE);
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    transport.deliver(fetch, 0, bytes("a"));
    transport.deliver(fetch, 1, bytes("b"));
    transport.fail(fetch, 2, NativeTransport.NOT_FOUND);
    awaitReported(3);
    assertArrayEquals(FakeSparkClient.content(THREE[2]), listener.of(THREE[2]).bytes());
  }

  @Test
  void blocksThatABusyPeerDoesNotMapComeByNettyAndAreCounted() throws InterruptedException {
    fetch(THREE);
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    transport.deliver(fetch, 0, bytes("a"));
    transport.fail(fetch, 1, NativeTransport.BUSY);
    transport.fail(fetch, 2, NativeTransport.BUSY);
    awaitReported(3);
    assertArrayEquals(FakeSparkClient.content(THREE[2]), listener.of(THREE[2]).bytes());
    assertEquals(2, counters.get(Counter.TRANSPORT_NETTY_PEER_BUSY));
    assertEquals(0, counters.get(Counter.TRANSPORT_PEER_FAILURES), "the peer is well");
  }

  @Test
  void missingBlocksAreFetchedFromSparkInOneCall() throws InterruptedException {
    fetch("shuffle_4_1_0", "shuffle_4_2_0", "shuffle_4_3_0", "shuffle_4_4_0");
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    transport.fail(fetch, 3, NativeTransport.NOT_FOUND);
    transport.fail(fetch, 1, NativeCore.NO_MEMORY);
    transport.fail(fetch, 2, NativeCore.IO);
    Await.until("blocks are counted", () -> counters.get(Counter.TRANSPORT_NETTY_OTHER) == 1);
    assertEquals(0, sparks.requests.size(), "asked before the last block was settled");
    transport.deliver(fetch, 0, bytes("here"));
    awaitReported(4);
    assertEquals(1, sparks.requests.size());
    FakeSparkClient.Request request = sparks.requests.get(0);
    assertEquals(List.of("shuffle_4_4_0", "shuffle_4_2_0", "shuffle_4_3_0"), request.ids());
    assertSame(listener, request.listener());
    assertEquals("host", request.host());
    assertEquals(7337, request.port());
    assertEquals("5", request.executorId());
    assertTrue(request.thread().startsWith("sluice-transport-netty-"), request.thread());
    assertArrayEquals(bytes("here"), listener.of("shuffle_4_1_0").bytes());
    assertArrayEquals(FakeSparkClient.content("shuffle_4_2_0"), listener.of("shuffle_4_2_0").bytes());
    assertEquals(1, counters.get(Counter.TRANSPORT_NETTY_NOT_FOUND));
    assertEquals(1, counters.get(Counter.TRANSPORT_NETTY_NO_MEMORY));
    assertEquals(0, counters.get(Counter.TRANSPORT_PEER_FAILURES), "a missing block is not the peer's failure");
  }

  /** The other blocks of the fetch may take long: they wait for memory, or their executor is slow. */
  @Test
  void missingBlocksDoNotWaitLongForTheOthers() throws InterruptedException {
    fetch("shuffle_4_1_0", "shuffle_4_2_0", "shuffle_4_3_0");
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    transport.fail(fetch, 1, NativeCore.NO_MEMORY);
    Await.until("the block is counted", () -> counters.get(Counter.TRANSPORT_NETTY_NO_MEMORY) == 1);
    assertEquals(0, sparks.requests.size(), "another may be missed in a moment");
    clock.addAndGet(MissedBlocks.DELAY_MILLIS * 1_000_000);
    awaitReported(1);
    assertArrayEquals(FakeSparkClient.content("shuffle_4_2_0"), listener.of("shuffle_4_2_0").bytes());
    transport.fail(fetch, 2, NativeCore.NO_MEMORY);
    clock.addAndGet(MissedBlocks.DELAY_MILLIS * 1_000_000);
    transport.deliver(fetch, 0, bytes("at last"));
    awaitReported(3);
    assertArrayEquals(bytes("at last"), listener.of("shuffle_4_1_0").bytes());
    assertEquals(List.of("shuffle_4_2_0", "shuffle_4_3_0"), sparks.asked());
  }

  @Test
  void aFailureIsReportedOnlyWhenSparksClientFailsToo() throws InterruptedException {
    sparks.failing = true;
    fetch(THREE);
    transport.failPeer(transport.nextFetch(), NativeTransport.PEER);
    awaitReported(3);
    for (String id : THREE) {
      assertInstanceOf(IOException.class, listener.of(id).failure());
    }
  }

  @Test
  void anExceptionOfSparksClientFailsItsBlocks() throws InterruptedException {
    sparks.throwing = new IllegalStateException("closed");
    fetch(THREE);
    transport.failPeer(transport.nextFetch(), NativeTransport.PEER);
    awaitReported(3);
    for (String id : THREE) {
      assertSame(sparks.throwing, listener.of(id).failure());
    }
  }

  @Test
  void blocksOfAnUnknownExecutorComeByNettyAndItIsLookedUp() {
    AtomicInteger looked = new AtomicInteger();
    service.onUnknownPeer(looked::incrementAndGet);
    client.fetchBlocks("host", 1, "6", THREE, listener, null);
    assertEquals(1, looked.get());
    assertEquals(3, listener.told());
    assertEquals(3, counters.get(Counter.TRANSPORT_NETTY_UNKNOWN_PEER));
    assertEquals(Thread.currentThread().getName(), sparks.requests.get(0).thread());
    assertFalse(transport.hasFetches());
  }

  @Test
  void fetchToDiskAndOtherBlocksComeByNetty() {
    DownloadFileManager files = new DownloadFileManager() {
      @Override
      public DownloadFile createTempFile(TransportConf conf) {
        throw new UnsupportedOperationException();
      }

      @Override
      public boolean registerTempFileToClean(DownloadFile file) {
        return false;
      }
    };
    client.fetchBlocks("host", 1, "5", THREE, listener, files);
    assertSame(files, sparks.requests.get(0).files());
    assertEquals(3, counters.get(Counter.TRANSPORT_NETTY_TO_DISK));
    fetch("shuffle_4_10_0", "rdd_1_2");
    assertEquals(List.of("shuffle_4_10_0", "rdd_1_2"), sparks.requests.get(1).ids());
    fetch("shuffleChunk_4_0_1_2");
    assertEquals(3, counters.get(Counter.TRANSPORT_NETTY_OTHER));
    assertFalse(transport.hasFetches());
  }

  @Test
  void aFailedPeerIsConnectedAgainAfterTheRetryDelay() throws InterruptedException {
    fetch(THREE);
    transport.failPeer(transport.nextFetch(), NativeTransport.TIMEOUT);
    awaitReported(3);
    assertEquals(3, counters.get(Counter.TRANSPORT_NETTY_TIMEOUT));
    assertEquals(1, counters.get(Counter.TRANSPORT_PEER_FAILURES), "one episode is one failure");

    clock.addAndGet(DELAY_NANOS - 1);
    fetch("shuffle_4_20_0");
    assertEquals(1, counters.get(Counter.TRANSPORT_NETTY_PEER_FAILED));
    assertFalse(transport.hasFetches());

    clock.addAndGet(1);
    fetch("shuffle_4_21_0");
    assertArrayEquals(FakeSparkClient.content("shuffle_4_21_0"), listener.of("shuffle_4_21_0").bytes());
    assertEquals(2, counters.get(Counter.TRANSPORT_NETTY_PEER_FAILED), "a probe was waited for");

    fetch("shuffle_4_22_0");
    transport.deliver(transport.nextFetch(), 0, bytes("again"));
    awaitReported(6);
    assertArrayEquals(bytes("again"), listener.of("shuffle_4_22_0").bytes());
    assertEquals(List.of(0L, 0L), transport.connects);
    assertEquals(2, counters.get(Counter.TRANSPORT_PEERS_CONNECTED));
  }

  @Test
  void lateFailuresOfAnEarlierConnectionDoNotFailTheNextOne() throws InterruptedException {
    fetch("shuffle_4_1_0");
    fetch("shuffle_4_2_0");
    FakeBlockTransport.Fetch first = transport.nextFetch();
    FakeBlockTransport.Fetch late = transport.nextFetch();
    transport.fail(first, 0, NativeTransport.PEER);
    awaitReported(1);
    clock.addAndGet(DELAY_NANOS);
    fetch("shuffle_4_3_0");
    fetch("shuffle_4_4_0");
    FakeBlockTransport.Fetch next = transport.nextFetch();
    transport.fail(late, 0, NativeTransport.PEER);
    awaitReported(3);
    assertEquals(1, counters.get(Counter.TRANSPORT_PEER_FAILURES));
    transport.deliver(next, 0, bytes("fine"));
    awaitReported(4);
    fetch("shuffle_4_5_0");
    transport.deliver(transport.nextFetch(), 0, bytes("fine too"));
    awaitReported(5);
  }

  @Test
  void blocksOfARefusedFetchComeByNettyAtOnce() throws InterruptedException {
    fetch("shuffle_4_9_0");
    transport.deliver(transport.nextFetch(), 0, bytes("fine"));
    awaitReported(1);
    transport.failedPeers.add(0L);
    fetch(THREE);
    assertEquals(4, listener.told());
    assertEquals(Thread.currentThread().getName(), sparks.requests.get(0).thread());
    assertEquals(3, counters.get(Counter.TRANSPORT_NETTY_PEER_FAILED));
    assertEquals(1, counters.get(Counter.TRANSPORT_PEER_FAILURES));
  }

  @Test
  void aRemovedExecutorIsForgottenWithoutAFailure() throws InterruptedException {
    fetch(THREE);
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    service.learn(new PeerUpdate(2, Map.of(), List.of("5")));
    assertEquals(List.of(0L), transport.disconnects);
    transport.failPeer(fetch, NativeTransport.PEER);
    awaitReported(3);
    assertEquals(0, counters.get(Counter.TRANSPORT_PEER_FAILURES));
    fetch("shuffle_4_9_9");
    assertEquals(1, counters.get(Counter.TRANSPORT_NETTY_UNKNOWN_PEER));
  }

  @Test
  void blocksInFlightAtCloseComeByNetty() throws InterruptedException {
    fetch(THREE);
    FakeBlockTransport.Fetch fetch = transport.nextFetch();
    transport.deliver(fetch, 1, bytes("in time"));
    awaitReported(1);
    service.close();
    awaitReported(3);
    assertArrayEquals(bytes("in time"), listener.of(THREE[1]).bytes());
    assertArrayEquals(FakeSparkClient.content(THREE[0]), listener.of(THREE[0]).bytes());
    assertArrayEquals(FakeSparkClient.content(THREE[2]), listener.of(THREE[2]).bytes());
    assertEquals(1, sparks.requests.size());
    fetch("shuffle_4_20_0");
    assertArrayEquals(FakeSparkClient.content("shuffle_4_20_0"), listener.of("shuffle_4_20_0").bytes());
  }

  @Test
  void closeReturnsThoughAListenerBlocks() throws InterruptedException {
    CountDownLatch stuck = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    client.fetchBlocks("host", 1, "5", new String[] {"shuffle_1_1_1"}, new BlockFetchingListener() {
      @Override
      public void onBlockFetchSuccess(String id, ManagedBuffer data) {
        stuck.countDown();
        try {
          released.await();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }

      @Override
      public void onBlockFetchFailure(String id, Throwable failure) {
        throw new AssertionError("told twice");
      }
    }, null);
    transport.deliver(transport.nextFetch(), 0, bytes("slow"));
    stuck.await();
    fetch(THREE);
    transport.nextFetch();
    service.close();
    awaitReported(3);
    assertEquals(1, sparks.requests.size());
    released.countDown();
    Await.until("the memory is given back", () -> transport.leases() == 0);
  }

  @Test
  void completionsOfUnknownBlocksAreFreed() {
    transport.deliver(new FakeBlockTransport.Fetch(99, 0, new long[4]), 0, bytes("whose?"));
    Await.until("the memory is given back", () -> transport.leases() == 0);
    assertEquals(0, listener.told());
  }
}
