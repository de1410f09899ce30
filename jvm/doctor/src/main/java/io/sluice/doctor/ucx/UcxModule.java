package io.sluice.doctor.ucx;

import io.sluice.doctor.host.Host;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Transports that UCX loads from files of their own, such as {@code libuct_ib.so.0}; tcp and /dev/shm are built in. */
final class UcxModule {
  private static final Pattern FILE = Pattern.compile("libuct_([a-z0-9_]+)\\.so(?:\\.0)?");

  private UcxModule() {}

  /** Names of the modules beside {@code library}: ib, cma, rdmacm, cuda, … The jar has cma and cuda. */
  static List<String> of(Host host, UcxLibrary library) {
    if (library.source() == UcxLibrary.Source.JAR) {
      return Stream.of("cma", "cuda")
          .filter(module -> host.jarFile(library.modules() + "/libuct_" + module + ".so.0").isPresent()).toList();
    }
    return host.list(library.modules()).stream().map(FILE::matcher).filter(Matcher::matches)
        .map(matcher -> matcher.group(1)).distinct().toList();
  }

  static boolean isRdma(String module) {
    return module.equals("ib") || module.startsWith("ib_");
  }

  static boolean isRdmaTransport(String transport) {
    return transport.startsWith("rc_") || transport.startsWith("dc_") || transport.startsWith("ud_");
  }
}
