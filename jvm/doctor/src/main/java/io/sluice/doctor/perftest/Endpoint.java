package io.sluice.doctor.perftest;

import io.sluice.nativebridge.BundledUcx;
import io.sluice.nativebridge.NativeCore;
import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.nativebridge.NativeTransport;
import java.io.IOException;
import java.io.RandomAccessFile;

/** One process's transport. Used by one thread. */
final class Endpoint implements AutoCloseable {
  static final long TIMEOUT_MILLIS = 10_000;
  private static final long RECEIVE_LIMIT_BYTES = 256L << 20;
  private static final long MAPPED_LIMIT_BYTES = 256L << 20;
  private static final long MAPPED_REGIONS = 1_024;
  private static final long CONNECTIONS = 64;
  private static final int SHUFFLE = 1;
  private static final long MAP = 1;
  private static final long PEER = 0;

  private final long handle;

  private Endpoint(long handle) {
    this.handle = handle;
  }

  /** @throws NativeException when there is no native library or no usable UCX here */
  static Endpoint start(String ucxLibrary) throws IOException {
    NativeLibrary.Status library = NativeLibrary.load("");
    if (!library.available()) {
      throw new IOException("Sluice's native library cannot be used: " + library.detail());
    }
    try (BundledUcx bundled = BundledUcx.unpack()) {
      return new Endpoint(NativeException.check(NativeTransport.start(ucxLibrary, bundled.folder(), new byte[0],
          TIMEOUT_MILLIS, RECEIVE_LIMIT_BYTES, MAPPED_LIMIT_BYTES, MAPPED_REGIONS, CONNECTIONS,
          System.getProperty("java.io.tmpdir"))));
    }
  }

  String describe() {
    return NativeTransport.describe(handle);
  }

  byte[] address() {
    return NativeTransport.address(handle);
  }

  void publish(BlockFile file) {
    NativeException.check(NativeTransport.publish(handle, SHUFFLE, MAP, file.path(), "", BlockFile.offsets()));
  }

  /** Connects to the process with this address, and waits until it can be read. */
  void connect(byte[] address) throws IOException, InterruptedException {
    NativeException.check(NativeTransport.connect(handle, PEER, address));
    long deadline = System.nanoTime() + TIMEOUT_MILLIS * 1_000_000;
    int state = NativeTransport.peerState(handle, PEER);
    while (state != NativeTransport.PEER_READY) {
      if (state < 0) {
        throw new IOException(NativeTransport.peerError(handle, PEER));
      }
      if (System.nanoTime() > deadline) {
        throw new IOException("the connection's self-test has not ended in " + TIMEOUT_MILLIS / 1000 + " s");
      }
      Thread.sleep(1);
      state = NativeTransport.peerState(handle, PEER);
    }
  }

  /** Asks for a block, to be {@linkplain #await awaited}. */
  void fetch(int block) throws IOException {
    long[] one = {SHUFFLE, MAP, block, block + 1};
    if (NativeTransport.fetch(handle, PEER, one) < 0) {
      throw new IOException("the other process cannot be asked: " + NativeTransport.peerError(handle, PEER));
    }
  }

  /**
   * Waits for one block that was asked for.
   *
   * @param into its bytes; null to drop them
   */
  void await(byte[] into) throws IOException {
    long[] completion = new long[NativeTransport.COMPLETION_LONGS];
    int delivered = NativeTransport.poll(handle, completion, (int) TIMEOUT_MILLIS);
    if (delivered <= 0) {
      throw new IOException(delivered == 0 ? "no block has come in " + TIMEOUT_MILLIS / 1000 + " s"
          : NativeCore.lastErrorMessage());
    }
    if (completion[2] != 0) {
      throw new IOException("a block could not be read one-sidedly (reason " + completion[2] + "): "
          + NativeTransport.peerError(handle, PEER));
    }
    try {
      if (completion[4] != BlockFile.BLOCK_BYTES) {
        throw new IOException("a block has " + completion[4] + " bytes, not " + BlockFile.BLOCK_BYTES);
      }
      if (into != null) {
        copy(completion[3], into);
      }
    } finally {
      NativeException.check(NativeTransport.release(completion[3]));
    }
  }

  /** Bytes of this process's own memory, which the kernel gives to the process itself as a file. */
  private static void copy(long address, byte[] into) throws IOException {
    try (RandomAccessFile memory = new RandomAccessFile("/proc/self/mem", "r")) {
      memory.seek(address);
      memory.readFully(into);
    }
  }

  /** Bytes that came by a system call from a process of this machine. */
  long cmaBytes() {
    return NativeTransport.cmaBytes(handle);
  }

  @Override
  public void close() {
    NativeTransport.stop(handle);
  }
}
