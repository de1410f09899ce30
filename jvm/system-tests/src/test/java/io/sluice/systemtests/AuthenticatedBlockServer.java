package io.sluice.systemtests;

import io.sluice.nativebridge.BundledUcx;
import io.sluice.nativebridge.NativeException;
import io.sluice.nativebridge.NativeLibrary;
import io.sluice.nativebridge.NativeTransport;
import io.sluice.spark.transport.TransportSecret;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;

/**
 * A process with one map output of one block, which only peers that know its secret may read. Arguments: the data file,
 * the secret. Ends when it reads a line of input.
 */
final class AuthenticatedBlockServer {
  static final String ADDRESS = "address ";
  private static final long TIMEOUT_MILLIS = 20_000;

  private AuthenticatedBlockServer() {}

  public static void main(String[] arguments) throws Exception {
    Path data = Path.of(arguments[0]);
    NativeLibrary.Status library = NativeLibrary.load("");
    if (!library.available()) {
      throw new IllegalStateException(library.detail());
    }
    try (BundledUcx bundled = BundledUcx.unpack()) {
      byte[] secret = TransportSecret.of(arguments[1]);
      long transport = NativeException.check(NativeTransport.start(
          "", bundled.folder(), secret, TIMEOUT_MILLIS, 1L << 30, 2L << 30, 16_384, 1024));
      long[] offsets = {0, Files.size(data)};
      NativeException.check(NativeTransport.publish(transport, 0, 0, data.toString(), "", offsets));
      System.out.println(ADDRESS + Base64.getEncoder().encodeToString(NativeTransport.address(transport)));
      System.in.read();
      NativeTransport.stop(transport);
    }
  }
}
