package io.sluice.spark.transport;

import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps an executor and its peers known to each other, through the driver: a daemon thread that sends a heartbeat every
 * few seconds, and at once when a block of an unknown executor is wanted. When the executor's transport has ended, the
 * thread sends no more heartbeats, so the driver's {@link PeerRegistry} removes the executor and no peer waits for it.
 * An error here only makes blocks come by Spark's block transfer; the executor continues.
 */
public final class PeerDiscovery implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PeerDiscovery.class);
  private static final long SHORTEST_MILLIS = 250;

  private final String executorId;
  private final Callable<Optional<TransportService>> transport;
  private final Driver driver;
  private final long periodMillis;
  private final Thread thread;
  private final Semaphore wanted = new Semaphore(0);
  private long sequence;
  private boolean warned;
  private volatile boolean closed;

  /** The way to the driver's half of the plugin. */
  @FunctionalInterface
  public interface Driver {
    /** Sends {@code message} and waits for the answer. */
    Object ask(Object message) throws Exception;
  }

  private PeerDiscovery(
      String executorId, Callable<Optional<TransportService>> transport, Driver driver, long periodMillis) {
    this.executorId = executorId;
    this.transport = transport;
    this.driver = driver;
    this.periodMillis = periodMillis;
    this.thread = new Thread(this::run, "sluice-discovery");
    thread.setDaemon(true);
  }

  /**
   * Starts it.
   *
   * @param transport called once, on the thread made here; may wait until the transport is there
   * @param periodMillis from heartbeat to heartbeat where nothing is wanted, at least 250
   */
  public static PeerDiscovery start(
      String executorId, Callable<Optional<TransportService>> transport, Driver driver, long periodMillis) {
    PeerDiscovery discovery = new PeerDiscovery(executorId, transport, driver, periodMillis);
    discovery.thread.start();
    return discovery;
  }

  private void run() {
    try {
      Optional<TransportService> service = transport.call();
      if (service.isPresent()) {
        service.get().onUnknownPeer(wanted::release);
        beat(service.get());
      }
    } catch (InterruptedException e) {
      LOG.debug("The search for peers was ended");
    } catch (Exception | LinkageError e) {
      LOG.warn("Blocks travel by Spark's block transfer: this executor cannot look for its peers", e);
    }
  }

  /**
   * Sends heartbeats until closed. After a heartbeat that was sent early for an unknown executor and brought no change,
   * the next early one waits twice as long.
   */
  private void beat(TransportService service) throws InterruptedException {
    byte[] address = service.address();
    long pauseMillis = SHORTEST_MILLIS;
    boolean woken = false;
    while (!closed && !service.hasEnded() && address != null) {
      wanted.drainPermits();
      boolean update = exchange(service, address);
      pauseMillis = woken && !update ? Math.min(periodMillis, pauseMillis * 2) : SHORTEST_MILLIS;
      TimeUnit.MILLISECONDS.sleep(pauseMillis);
      woken = rest(service, periodMillis - pauseMillis);
    }
  }

  /**
   * Waits so long; meanwhile connects executors early where that is asked for. Ends, and is true, as soon as a block of
   * an executor is wanted that is unknown.
   */
  private boolean rest(TransportService service, long millis) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (service.connectEarly() && System.nanoTime() - end < 0) {
      if (wanted.tryAcquire(SHORTEST_MILLIS, TimeUnit.MILLISECONDS)) {
        return true;
      }
    }
    return wanted.tryAcquire(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
  }

  /** One heartbeat; whether it brought changes. */
  private boolean exchange(TransportService service, byte[] address) throws InterruptedException {
    try {
      PeerUpdate update = PeerUpdate.ofWire(driver.ask(new PeerHeartbeat(executorId, address, sequence)));
      service.learn(update);
      sequence = update.sequence();
      return !update.isEmpty();
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      if (!warned && !closed) {
        LOG.warn("The driver did not answer this executor's search for peers (said once)", e);
        warned = true;
      }
      return false;
    }
  }

  /** Ends the thread; does not wait for it. */
  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }
}
