package io.sluice.doctor.ucx;

import io.sluice.doctor.host.Host;
import java.util.List;
import java.util.Optional;

/** Reads {@code pkgconfig/ucx.pc} beside the library, which development packages and wheels bring. */
final class PackageConfigProbe implements UcxProbe {
  @Override
  public Optional<Answer> ask(Host host, UcxLibrary library) {
    return host.read(library.folder() + "/pkgconfig/ucx.pc").or("").lines()
        .filter(line -> line.startsWith("Version:")).findFirst()
        .flatMap(line -> UcxVersion.parse(line.substring("Version:".length())))
        .map(version -> new Answer(version, List.of(), "ucx.pc"));
  }
}
