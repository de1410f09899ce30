package io.sluice.doctor.ucx;

/**
 * A {@code libucp.so.0} that was found.
 *
 * @param path the file, symbolic links followed
 * @param source who finds it there
 */
public record UcxLibrary(String path, Source source) {
  /** In the order in which the transport looks. */
  public enum Source {
    /** The path that the user gave: {@code spark.sluice.ucx.library}. */
    CONFIGURED,
    /** {@code LD_LIBRARY_PATH}, the loader's cache or its own folders. */
    LOADER,
    /** A folder that people install to and the loader does not know. */
    USUAL_FOLDER
  }

  public String folder() {
    int slash = path.lastIndexOf('/');
    return slash <= 0 ? "/" : path.substring(0, slash);
  }

  /** Where UCX looks for its modules: transports that are not part of the library itself. */
  public String modules() {
    return folder() + "/ucx";
  }
}
