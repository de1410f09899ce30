package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.VERBS;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.LoaderCache;
import java.util.List;
import java.util.Optional;

/**
 * Where there are RDMA devices: the library that UCX's RDMA module needs. Without it UCX leaves RDMA out and says
 * nothing.
 */
public final class VerbsCheck implements Check {
  private static final String LIBRARY = "libibverbs.so.1";
  private static final String PROVIDERS = "/etc/libibverbs.d";
  private static final String INSTALL =
      "Debian, Ubuntu: apt-get install libibverbs1 librdmacm1 ibverbs-providers; "
          + "Red Hat: dnf install libibverbs librdmacm";

  @Override
  public Subject subject() {
    return VERBS;
  }

  @Override
  public List<Finding> look(Host host) {
    List<String> devices = host.list("/sys/class/infiniband");
    if (devices.isEmpty()) {
      return List.of();
    }
    Optional<String> library = LoaderCache.find(host, LIBRARY);
    if (library.isEmpty()) {
      return List.of(Finding.warning(VERBS, "no " + LIBRARY + ": UCX silently leaves RDMA out", INSTALL));
    }
    List<String> providers = host.list(PROVIDERS).stream().map(name -> name.replace(".driver", "")).toList();
    // Devices are named after their driver: mlx5_0; not those that an administrator renamed.
    boolean mlx5 = devices.stream().anyMatch(device -> device.startsWith("mlx5_"));
    return List.of(mlx5 && !providers.contains("mlx5")
        ? Finding.warning(VERBS, library.get() + ", but no driver for mlx5 in " + PROVIDERS, INSTALL)
        : Finding.ok(VERBS, library.get() + (providers.isEmpty() ? "" : ", drivers: " + String.join(", ", providers))));
  }
}
