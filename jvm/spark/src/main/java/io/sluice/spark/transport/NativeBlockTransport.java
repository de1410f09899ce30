package io.sluice.spark.transport;

import io.sluice.nativebridge.BundledUcx;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.nativebridge.TransportStatistics;
import io.sluice.spark.conf.TransportSettings;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The native core's transport. */
final class NativeBlockTransport implements BlockTransport {
  private static final Logger LOG = LoggerFactory.getLogger(NativeBlockTransport.class);

  private final long handle;

  private NativeBlockTransport(long handle) {
    this.handle = handle;
  }

  /**
   * Opens UCX and starts the native progress thread.
   *
   * @param secret the secret that peers must prove to know; empty: none
   * @param receiveLimitBytes how much may have been received and not been released
   * @param directories where map outputs will be
   * @throws NativeException when there is no usable UCX
   * @throws LinkageError when the native library has no transport
   */
  static NativeBlockTransport open(
      TransportSettings settings, byte[] secret, long receiveLimitBytes, String... directories) {
    try (BundledUcx bundled = BundledUcx.unpack()) {
      return start(settings, bundled.folder(), secret, receiveLimitBytes, directories);
    } catch (IOException e) {
      LOG.warn("The jar's UCX cannot be unpacked to {}: {}", System.getProperty("java.io.tmpdir"), e.toString());
      return start(settings, "", secret, receiveLimitBytes, directories);
    }
  }

  private static NativeBlockTransport start(
      TransportSettings settings, String bundled, byte[] secret, long receiveLimitBytes, String... directories) {
    NativeBlockTransport transport = new NativeBlockTransport(NativeException.check(NativeTransport.start(
        settings.ucxLibrary(), bundled, secret, settings.timeoutMillis(), receiveLimitBytes,
        settings.maxMappedBytes(), settings.maxMappedRegions(), settings.maxConnections(), directories)));
    String warnings = NativeTransport.warnings(transport.handle);
    if (warnings != null && !warnings.isEmpty()) {
      LOG.warn("The one-sided transport is limited on this machine: {}", warnings);
    }
    String registrations = NativeTransport.registrations(transport.handle);
    if (registrations != null && !registrations.isEmpty()) {
      LOG.info("If UCX uses an RDMA device, map outputs are registered with it from: {}", registrations);
    }
    return transport;
  }

  @Override
  public String describe() {
    return NativeTransport.describe(handle);
  }

  /** As {@link NativeTransport#means}. */
  String means() {
    return NativeTransport.means(handle);
  }

  @Override
  public byte[] address() {
    return NativeTransport.address(handle);
  }

  @Override
  public int publish(int shuffleId, long mapId, String dataFile, String indexFile, long[] offsets) {
    return NativeTransport.publish(handle, shuffleId, mapId, dataFile, indexFile, offsets);
  }

  @Override
  public int renew(int shuffleId, long mapId) {
    return NativeTransport.renew(handle, shuffleId, mapId);
  }

  @Override
  public int withdrawShuffle(int shuffleId) {
    return NativeTransport.withdrawShuffle(handle, shuffleId);
  }

  @Override
  public int connect(long peer, byte[] address) {
    return NativeTransport.connect(handle, peer, address);
  }

  @Override
  public int disconnect(long peer) {
    return NativeTransport.disconnect(handle, peer);
  }

  @Override
  public long fetch(long peer, long[] blocks) {
    return NativeTransport.fetch(handle, peer, blocks);
  }

  @Override
  public int poll(long[] completions, int timeoutMillis) {
    return NativeTransport.poll(handle, completions, timeoutMillis);
  }

  @Override
  public void release(long address) {
    NativeException.check(NativeTransport.release(address));
  }

  @Override
  public long cmaBytes() {
    return NativeTransport.cmaBytes(handle);
  }

  @Override
  public TransportStatistics statistics() {
    return NativeTransport.statistics(handle);
  }

  @Override
  public int peerState(long peer) {
    return NativeTransport.peerState(handle, peer);
  }

  @Override
  public String peerError(long peer) {
    return NativeTransport.peerError(handle, peer);
  }

  @Override
  public String lastError() {
    return NativeCore.lastErrorMessage();
  }

  @Override
  public void stop() {
    NativeTransport.stop(handle);
  }
}
