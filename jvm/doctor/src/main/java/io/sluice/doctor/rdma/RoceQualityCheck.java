package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.ROCE;

import io.sluice.doctor.check.Amount;
import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a host shows of a RoCE port's place in the network: whether the card sorts packets by DSCP and reacts to
 * congestion marks on the usual priority, and whether packets were lost. Switches, and the card's PFC, cannot be seen
 * in files.
 */
public final class RoceQualityCheck implements Check {
  /** The priority that the guides give to RoCE. */
  private static final String PRIORITY = "3";
  /** Counters that stay at 0, or near it, where the network loses nothing. */
  private static final List<String> LOSSES = List.of("out_of_sequence", "packet_seq_err", "local_ack_timeout_err");

  @Override
  public Subject subject() {
    return ROCE;
  }

  @Override
  public List<Finding> look(Host host) {
    return RdmaPort.all(host).stream().filter(port -> port.ethernet() && port.active() && !port.iwarp())
        .map(port -> port(host, port)).toList();
  }

  private static Finding port(Host host, RdmaPort port) {
    List<String> seen = new ArrayList<>();
    List<String> amiss = new ArrayList<>();
    for (String name : port.interfaces()) {
      trust(host, name, seen, amiss);
      congestion(host, name, seen, amiss);
    }
    losses(host, port, seen, amiss);
    String text = port.name() + ": " + String.join(", ", Stream.concat(seen.stream(), amiss.stream()).toList());
    if (seen.isEmpty() && amiss.isEmpty()) {
      return Finding.note(ROCE, port.name() + ": its driver shows neither trust mode nor congestion control; see "
          + "mlnx_qos or dcb, and docs/deployment/roce-switches.md");
    }
    return amiss.isEmpty() ? Finding.ok(ROCE, text)
        : Finding.warning(ROCE, text, "See docs/deployment/roce-switches.md: " + String.join("; ", remedies(amiss)));
  }

  private static List<String> remedies(List<String> amiss) {
    return amiss.stream().map(what -> what.contains("trusts") ? "mlnx_qos -i INTERFACE --trust dscp"
        : what.contains("ECN") ? "echo 1 to the interface's ecn/roce_np/enable/3 and roce_rp/enable/3"
            : "look at drop and pause counters of cards and switches while a shuffle runs")
        .distinct().collect(Collectors.toList());
  }

  private static void trust(Host host, String name, List<String> seen, List<String> amiss) {
    Text trust = host.read("/sys/class/net/" + name + "/qos/trust");
    if (trust.known()) {
      (trust.value().equals("dscp") ? seen : amiss).add(name + " trusts " + trust.value());
    }
  }

  /** Notification point (it tells the sender of marks) and reaction point (it slows down). */
  private static void congestion(Host host, String name, List<String> seen, List<String> amiss) {
    for (String point : List.of("roce_np", "roce_rp")) {
      Text enabled = host.read("/sys/class/net/" + name + "/ecn/" + point + "/enable/" + PRIORITY);
      if (enabled.known()) {
        boolean on = enabled.value().equals("1");
        (on ? seen : amiss).add("ECN " + point + " on priority " + PRIORITY + (on ? " on" : " off"));
      }
    }
  }

  private static void losses(Host host, RdmaPort port, List<String> seen, List<String> amiss) {
    String folder = "/sys/class/infiniband/" + port.device() + "/ports/" + port.port() + "/hw_counters/";
    boolean known = false;
    for (String counter : LOSSES) {
      OptionalLong count = Amount.number(host.read(folder + counter).or(""));
      known |= count.isPresent();
      if (count.isPresent() && count.getAsLong() > 0) {
        amiss.add(counter + " " + count.getAsLong());
      }
    }
    if (known && amiss.stream().noneMatch(what -> LOSSES.stream().anyMatch(what::startsWith))) {
      seen.add("no packet lost since the driver was loaded");
    }
  }
}
