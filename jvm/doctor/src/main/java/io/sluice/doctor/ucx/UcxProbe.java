package io.sluice.doctor.ucx;

import io.sluice.doctor.host.Host;
import java.util.List;
import java.util.Optional;

/**
 * A way to learn about a UCX library that was found. Probes are asked in order until one answers; the native transport,
 * which opens the library itself, becomes the first of them.
 */
public interface UcxProbe {
  /** The properties of this library that the probe found; empty if it found none. */
  Optional<Answer> ask(Host host, UcxLibrary library);

  /**
   * @param version as UCX writes it
   * @param transports those that work here, such as {@code tcp}, {@code rc_mlx5}; empty when the probe does not know
   * @param how where the answer comes from, for people
   */
  record Answer(UcxVersion version, List<String> transports, String how) {}

  /** The ways there are now, best first. */
  static List<UcxProbe> all() {
    return List.of(new UcxInfoProbe(), new PackageConfigProbe(), new LibraryTextProbe());
  }
}
