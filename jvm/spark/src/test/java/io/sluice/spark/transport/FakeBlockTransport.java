package io.sluice.spark.transport;

import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeTransport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.spark.unsafe.Platform;

/** A transport in this process: the test completes fetched blocks, in any order and with any outcome. */
final class FakeBlockTransport implements BlockTransport {
  private static final long[] WAKE = {};

  /** A request as it arrived. */
  record Fetch(long request, long peer, long[] blocks) {
    int size() {
      return blocks.length / NativeTransport.BLOCK_LONGS;
    }
  }

  /** A published output. */
  record Published(String dataFile, String indexFile, long[] offsets) {}

  private final LinkedBlockingQueue<Fetch> fetches = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<long[]> completions = new LinkedBlockingQueue<>();
  private final AtomicLong requests = new AtomicLong();
  private final Set<Long> leases = ConcurrentHashMap.newKeySet();
  final Set<Long> failedPeers = ConcurrentHashMap.newKeySet();
  final List<String> misuses = new CopyOnWriteArrayList<>();
  final List<Long> connects = new CopyOnWriteArrayList<>();
  final List<Long> disconnects = new CopyOnWriteArrayList<>();
  final Map<String, Published> published = new ConcurrentHashMap<>();
  final List<String> renewed = new CopyOnWriteArrayList<>();
  final AtomicLong cmaBytes = new AtomicLong();
  volatile Consumer<Fetch> onFetch = fetches::add;
  volatile int publishResult;
  volatile int connectResult;
  volatile boolean connecting;
  volatile boolean stopped;

  /** The next request that the test has not handled yet. */
  Fetch nextFetch() throws InterruptedException {
    Fetch fetch = fetches.poll(10, TimeUnit.SECONDS);
    if (fetch == null) {
      throw new AssertionError("no fetch was started");
    }
    return fetch;
  }

  boolean hasFetches() {
    return !fetches.isEmpty();
  }

  void deliver(Fetch fetch, int index, byte[] data) {
    long address = 0;
    if (data.length > 0) {
      address = Platform.allocateMemory(data.length);
      leases.add(address);
      Platform.copyMemory(data, Platform.BYTE_ARRAY_OFFSET, null, address, data.length);
    }
    completions.add(new long[] {fetch.request(), index, 0, address, data.length});
  }

  void fail(Fetch fetch, int index, int status) {
    completions.add(new long[] {fetch.request(), index, status, 0, 0});
  }

  /** As the native side does it: the peer stays failed until it is connected again. */
  void failPeer(Fetch fetch, int status) {
    failedPeers.add(fetch.peer());
    for (int i = 0; i < fetch.size(); i++) {
      fail(fetch, i, status);
    }
  }

  int leases() {
    return leases.size();
  }

  @Override
  public String describe() {
    return "fake";
  }

  @Override
  public byte[] address() {
    return new byte[] {7};
  }

  @Override
  public int publish(int shuffleId, long mapId, String dataFile, String indexFile, long[] offsets) {
    published.put(shuffleId + "/" + mapId, new Published(dataFile, indexFile, offsets));
    return publishResult;
  }

  @Override
  public int renew(int shuffleId, long mapId) {
    String output = shuffleId + "/" + mapId;
    renewed.add(output);
    return published.containsKey(output) ? 1 : 0;
  }

  @Override
  public int withdrawShuffle(int shuffleId) {
    int before = published.size();
    published.keySet().removeIf(key -> key.startsWith(shuffleId + "/"));
    return before - published.size();
  }

  @Override
  public int connect(long peer, byte[] address) {
    connects.add(peer);
    failedPeers.remove(peer);
    return connectResult;
  }

  @Override
  public int disconnect(long peer) {
    disconnects.add(peer);
    return 0;
  }

  @Override
  public long fetch(long peer, long[] blocks) {
    if (stopped) {
      return NativeCore.STALE_HANDLE;
    }
    if (failedPeers.contains(peer)) {
      return NativeTransport.PEER;
    }
    Fetch fetch = new Fetch(requests.incrementAndGet(), peer, blocks);
    onFetch.accept(fetch);
    return fetch.request();
  }

  @Override
  public int poll(long[] room, int timeoutMillis) {
    try {
      long[] first = completions.poll(timeoutMillis, TimeUnit.MILLISECONDS);
      if (stopped) {
        drop(first);
        return NativeCore.STALE_HANDLE;
      }
      if (first == null) {
        return 0;
      }
      List<long[]> all = new ArrayList<>(List.of(first));
      completions.drainTo(all, room.length / NativeTransport.COMPLETION_LONGS - 1);
      // Another thread may be stopping this.
      all.remove(WAKE);
      for (int i = 0; i < all.size(); i++) {
        System.arraycopy(all.get(i), 0, room, i * NativeTransport.COMPLETION_LONGS, NativeTransport.COMPLETION_LONGS);
      }
      return all.size();
    } catch (InterruptedException e) {
      return NativeCore.STALE_HANDLE;
    }
  }

  @Override
  public void release(long address) {
    if (leases.remove(address)) {
      Platform.freeMemory(address);
    } else {
      misuses.add("release of " + address + ", which is not leased");
    }
  }

  @Override
  public long cmaBytes() {
    return cmaBytes.get();
  }

  /** A connection is ready unless the test says that it is still connecting, or has failed it. */
  @Override
  public int peerState(long peer) {
    if (failedPeers.contains(peer)) {
      return NativeTransport.PEER;
    }
    return connecting ? 0 : NativeTransport.PEER_READY;
  }

  @Override
  public String peerError(long peer) {
    return "peer " + peer + " went away";
  }

  @Override
  public String lastError() {
    return "refused by the fake";
  }

  /** Completions that were not polled are freed here, as by the native side. */
  @Override
  public void stop() {
    stopped = true;
    for (long[] lost = completions.poll(); lost != null; lost = completions.poll()) {
      drop(lost);
    }
    completions.add(WAKE);
  }

  private void drop(long[] completion) {
    if (completion != null && completion != WAKE && completion[3] != 0) {
      release(completion[3]);
    }
  }
}
