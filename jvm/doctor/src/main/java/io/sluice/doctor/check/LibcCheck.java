package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.LIBC;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Text;
import java.util.List;

/** Which C library this process uses: the native library needs glibc. */
public final class LibcCheck implements Check {
  @Override
  public Subject subject() {
    return LIBC;
  }

  @Override
  public List<Finding> look(Host host) {
    Text maps = host.read("/proc/self/maps");
    if (maps.or("").contains("/ld-musl-")) {
      return List.of(Finding.problem(LIBC, "musl; the native library is built for glibc",
          "Use an image with glibc, such as Debian, Ubuntu or Red Hat instead of Alpine"));
    }
    Text version = host.run("getconf", "GNU_LIBC_VERSION");
    if (version.known()) {
      return List.of(Finding.ok(LIBC, version.value()));
    }
    return List.of(maps.or("").contains("libc.so.6") ? Finding.ok(LIBC, "glibc")
        : Finding.unknown(LIBC, maps.known() ? version.reason() : maps.reason()));
  }
}
