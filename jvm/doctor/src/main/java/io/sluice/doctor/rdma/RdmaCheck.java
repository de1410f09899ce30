package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.RDMA_FILES;
import static io.sluice.doctor.check.Subject.RDMA_PORT;

import io.sluice.doctor.check.Amount;
import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The ports of RDMA devices, and whether processes here may open the devices. */
public final class RdmaCheck implements Check {
  private static final String FILES = "/dev/infiniband";
  private static final Pattern ACTIVE_MTU = Pattern.compile("active_mtu:\\s+(\\d+)");

  @Override
  public Subject subject() {
    return RDMA_PORT;
  }

  @Override
  public List<Finding> look(Host host) {
    List<RdmaPort> ports = RdmaPort.all(host);
    if (ports.isEmpty()) {
      return List.of(Finding.note(RDMA_PORT,
          "no RDMA device (/sys/class/infiniband is not there or empty): between machines UCX uses TCP"));
    }
    List<Finding> findings = new ArrayList<>();
    Map<String, List<String>> addresses = host.addresses();
    ports.forEach(port -> findings.add(port(host, port, addresses)));
    findings.add(files(host));
    return findings;
  }

  private static Finding port(Host host, RdmaPort port, Map<String, List<String>> addresses) {
    String text = port.name() + " " + port.state() + ", " + linkLayer(port) + ", "
        + port.rate() + ", active MTU " + activeMtu(host, port).orElse("unknown") + ", firmware " + port.firmware()
        + ", "
        + networks(port, addresses);
    if (port.iwarp()) {
      return Finding.warning(RDMA_PORT, text + ": UCX cannot use iWARP",
          "Switch the card to RoCE, where it has that mode");
    }
    if (!port.active()) {
      return Finding.warning(RDMA_PORT, text, remedy(port));
    }
    return port.ethernet() ? rocePort(port, text, addresses) : Finding.ok(RDMA_PORT, text);
  }

  private static Finding rocePort(RdmaPort port, String text, Map<String, List<String>> addresses) {
    if (port.interfaces().isEmpty()) {
      return Finding.warning(RDMA_PORT, text + ": RoCE needs the port's network interface in this network namespace",
          "In a container: --network=host, or move the interface into the container");
    }
    if (!port.gidTypes().isEmpty() && !port.gidTypes().contains("RoCE v2")) {
      return Finding.warning(RDMA_PORT, text + ": no RoCE v2 address, only " + String.join(", ", port.gidTypes()),
          "Give " + interfaceName(port) + " an IP address, and set the device's RoCE mode to v2 (cma_roce_mode -d "
              + port.device() + " -p " + port.port() + " -m 2)");
    }
    if (noAddress(port, addresses)) {
      return Finding.warning(RDMA_PORT, text + ": RoCE needs an IP address on the interface, and it has none",
          "ip addr add ADDRESS/PREFIX dev " + interfaceName(port));
    }
    return Finding.ok(RDMA_PORT, text);
  }

  private static String linkLayer(RdmaPort port) {
    return port.iwarp() ? "Ethernet (iWARP)" : port.ethernet() ? "Ethernet (RoCE)" : port.linkLayer();
  }

  private static String remedy(RdmaPort port) {
    if (port.ethernet()) {
      return "ip link set " + interfaceName(port) + " up; then look at cable and switch port";
    }
    return port.state().equals("INIT")
        ? "The fabric has no subnet manager: start opensm on one node, or the switch's own"
        : "Look at cable and switch port (ibstat " + port.device() + " " + port.port() + ")";
  }

  private static String interfaceName(RdmaPort port) {
    return port.interfaces().isEmpty() ? "INTERFACE" : port.interfaces().get(0);
  }

  private static boolean noAddress(RdmaPort port, Map<String, List<String>> addresses) {
    return port.interfaces().stream().allMatch(name -> addresses.getOrDefault(name, List.of()).isEmpty());
  }

  private static String networks(RdmaPort port, Map<String, List<String>> addresses) {
    return port.interfaces().isEmpty() ? "no network interface" : port.interfaces().stream()
        .map(name -> name + " (" + String.join(", ", addresses.getOrDefault(name, List.of("no address"))) + ")")
        .collect(Collectors.joining(", "));
  }

  /** The kernel shows it to verbs only; without {@code ibv_devinfo}, RoCE's follows from the interface's MTU. */
  private static Optional<String> activeMtu(Host host, RdmaPort port) {
    Matcher shown = ACTIVE_MTU.matcher(host.run("ibv_devinfo", "-d", port.device(), "-i", port.port()).or(""));
    if (shown.find()) {
      return Optional.of(shown.group(1));
    }
    if (!port.ethernet() || port.interfaces().isEmpty()) {
      return Optional.empty();
    }
    return Amount.number(host.read("/sys/class/net/" + interfaceName(port) + "/mtu").or("")).stream()
        .mapToObj(mtu -> roceMtu(mtu) + " (by " + interfaceName(port) + "'s MTU of " + mtu + ")").findFirst();
  }

  /** The largest InfiniBand MTU that leaves room for RoCE's headers in a packet of {@code mtu} bytes. */
  static int roceMtu(long mtu) {
    int headers = 96;
    int best = 256;
    for (int candidate = 512; candidate <= 4096 && candidate + headers <= mtu; candidate *= 2) {
      best = candidate;
    }
    return best;
  }

  private static Finding files(Host host) {
    boolean verbs = host.list(FILES).stream().anyMatch(name -> name.startsWith("uverbs"));
    return verbs ? Finding.ok(RDMA_FILES, FILES + " has " + String.join(", ", host.list(FILES)))
        : Finding.warning(RDMA_FILES, "no " + FILES + "/uverbs*: programs here cannot open the RDMA devices",
            "In a container: --device=/dev/infiniband (Docker), an RDMA device plugin (Kubernetes); "
                + "else: modprobe ib_uverbs");
  }
}
