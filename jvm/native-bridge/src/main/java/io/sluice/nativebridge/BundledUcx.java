package io.sluice.nativebridge;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The UCX that came with the jar, unpacked for as long as a transport takes to load it. It is searched last: it
 * supports shared memory, CMA and TCP, but no RDMA devices. Not thread-safe.
 */
public final class BundledUcx implements AutoCloseable {
  /** UCX looks for its modules in a folder of this name beside its libraries. */
  private static final String MODULES = "ucx";

  private static final List<String> FILES =
      List.of("libucm.so.0", "libucs.so.0", "libuct.so.0", "libucp.so.0", MODULES + "/libuct_cma.so.0");

  /**
   * For the memory of GPUs. UCX loads whatever module is there, and this one opens CUDA's driver at once, so it is
   * there only for executors that use a GPU. Without a driver UCX leaves it out and says nothing.
   */
  private static final String CUDA = MODULES + "/libuct_cuda.so.0";

  private static final List<String> ALL = Stream.concat(FILES.stream(), Stream.of(CUDA)).toList();

  private final Path folder;

  private BundledUcx(Path folder) {
    this.folder = folder;
  }

  /**
   * Unpacks the libraries for the memory of hosts.
   *
   * @throws IOException as for {@link #unpack(boolean)}
   */
  public static BundledUcx unpack() throws IOException {
    return unpack(false);
  }

  /**
   * Unpacks the libraries to a new temporary folder, or nothing if the jar was built without them. The folder's name is
   * random and only its owner can enter it, so nobody else can put another library there before it is loaded.
   *
   * @param deviceMemory whether UCX is to read the memory of GPUs, too
   * @throws IOException when the folder cannot be written; nothing is left in it
   */
  public static BundledUcx unpack(boolean deviceMemory) throws IOException {
    String resources = "/io/sluice/native/" + Platform.current().name() + "/ucx/";
    if (BundledUcx.class.getResource(resources + FILES.get(0)) == null) {
      return new BundledUcx(null);
    }
    BundledUcx unpacked = new BundledUcx(Files.createTempDirectory("sluice-ucx-"));
    try {
      Files.createDirectory(unpacked.folder.resolve(MODULES));
      for (String file : deviceMemory ? ALL : FILES) {
        try (InputStream library = BundledUcx.class.getResourceAsStream(resources + file)) {
          Files.copy(library, unpacked.folder.resolve(file));
        }
      }
      return unpacked;
    } catch (IOException | RuntimeException e) {
      unpacked.close();
      throw e;
    }
  }

  /** The folder, as {@link NativeTransport#start} takes it: empty when there is none. */
  public String folder() {
    return folder == null ? "" : folder.toString();
  }

  /** Deletes the files; libraries that were loaded from them stay loaded. */
  @Override
  public void close() throws IOException {
    if (folder == null) {
      return;
    }
    for (String file : ALL) {
      Files.deleteIfExists(folder.resolve(file));
    }
    Files.deleteIfExists(folder.resolve(MODULES));
    Files.deleteIfExists(folder);
  }
}
