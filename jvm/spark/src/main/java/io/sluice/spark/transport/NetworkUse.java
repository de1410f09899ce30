package io.sluice.spark.transport;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * By which of UCX's transports this executor reads other hosts' blocks, for the log, and what is wrong with them where
 * the user has asked for RDMA: without a device, or a UCX that can use it, UCX takes TCP and says nothing.
 */
final class NetworkUse {
  private static final Path DEVICES = Path.of("/sys/class/infiniband");
  private static final String TCP = "tcp";
  /** UCX's transports that no RDMA device is needed for, and the names of groups of them. */
  private static final Set<String> WITHOUT_DEVICE =
      Set.of(TCP, "self", "sm", "shm", "mm", "posix", "sysv", "cma", "knem", "xpmem");

  private final List<String> means;
  private final String allowed;
  private final Path devices;

  /** @param means as {@code NativeTransport.means} says */
  static NetworkUse of(String means) {
    return new NetworkUse(means, System.getenv("UCX_TLS"), DEVICES);
  }

  /**
   * @param allowed the value of {@code UCX_TLS}; null for none
   * @param devices the folder in which the kernel shows RDMA devices
   */
  NetworkUse(String means, String allowed, Path devices) {
    this.means = means == null || means.isEmpty() ? List.of() : Arrays.asList(means.split(","));
    this.allowed = allowed;
    this.devices = devices;
  }

  /** {@code tcp}, {@code rc_mlx5/mlx5_0:1}; TCP's device is another to other hosts than the one that is known. */
  String describe() {
    Set<String> names = new TreeSet<>();
    means.forEach(each -> names.add(transport(each).equals(TCP) ? TCP : each));
    return names.isEmpty() ? "what UCX chooses" : String.join(", ", names);
  }

  private static String transport(String means) {
    return means.split("/")[0];
  }

  /**
   * Empty where an RDMA device is used, and where {@code UCX_TLS} asks for nothing that needs one.
   *
   * @param setting the setting that asks for RDMA, with its value
   */
  Optional<String> missingRdma(String setting) {
    boolean rdma = means.stream().anyMatch(each -> !WITHOUT_DEVICE.contains(transport(each)));
    if (means.isEmpty() || rdma || isUnwanted()) {
      return Optional.empty();
    }
    List<String> there = devicesOfThisHost();
    String cause = there.isEmpty() ? "this host has no RDMA device (" + devices + ")"
        : "UCX does not use this host's RDMA devices (" + String.join(", ", there)
            + "): a port is down, UCX has no module for them (libuct_ib), or UCX_TLS or UCX_NET_DEVICES exclude them";
    return Optional.of(setting + ", but blocks of other hosts are read over " + describe() + ", because " + cause
        + ". Results are the same. Run 'java -jar sluice.jar doctor --mode RDMA' on this host to see what to change;"
        + " without RDMA, spark.sluice.mode=UCX sends fewer bytes. UCX_TLS=tcp,sm says that TCP is wanted");
  }

  private boolean isUnwanted() {
    return allowed != null && !allowed.strip().startsWith("^")
        && Arrays.stream(allowed.split(",")).map(String::strip).allMatch(WITHOUT_DEVICE::contains);
  }

  private List<String> devicesOfThisHost() {
    List<String> names = new ArrayList<>();
    if (Files.isDirectory(devices)) {
      try (DirectoryStream<Path> entries = Files.newDirectoryStream(devices)) {
        entries.forEach(entry -> names.add(entry.getFileName().toString()));
      } catch (IOException e) {
        names.add(e.toString());
      }
    }
    names.sort(null);
    return names;
  }
}
