package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.TCP;

import io.sluice.doctor.host.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** The few TCP settings that hold a shuffle back, which sends from many executors to one at once. */
public final class TcpCheck implements Check {
  /** The buffer that one connection needs to fill 25 Gb/s at a round trip of 1 ms. */
  private static final long SMALL_WINDOW = 3 * Amount.MIB;
  private static final long SHORT_BACKLOG = 512;

  @Override
  public Subject subject() {
    return TCP;
  }

  @Override
  public List<Finding> look(Host host) {
    List<Finding> findings = new ArrayList<>();
    window(host, findings, "tcp_rmem", "4096 131072 16777216");
    window(host, findings, "tcp_wmem", "4096 65536 16777216");
    OptionalLong backlog = Amount.number(host.read("/proc/sys/net/core/somaxconn").or(""));
    if (backlog.isPresent() && backlog.getAsLong() < SHORT_BACKLOG) {
      findings.add(Finding.warning(TCP, "net.core.somaxconn is " + backlog.getAsLong()
          + ": connections are lost when many executors connect at once", "sysctl -w net.core.somaxconn=4096"));
    }
    return findings.isEmpty() ? List.of(Finding.ok(TCP, known(host) ? "socket buffers and backlog are large enough"
        : "settings are not shown here; nothing to say")) : findings;
  }

  private static void window(Host host, List<Finding> findings, String name, String better) {
    String[] sizes = host.read("/proc/sys/net/ipv4/" + name).or("").split("\\s+");
    OptionalLong most = Amount.number(sizes[sizes.length - 1]);
    if (most.isPresent() && most.getAsLong() < SMALL_WINDOW) {
      findings.add(new Finding(TCP, Verdict.NOTE, "net.ipv4." + name + " ends at " + Amount.text(most.getAsLong())
          + ": one connection cannot fill a fast network", "sysctl -w net.ipv4." + name + "=\"" + better + "\""));
    }
  }

  private static boolean known(Host host) {
    return host.read("/proc/sys/net/ipv4/tcp_rmem").known();
  }
}
