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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a host shows of a RoCE port's place in the network: whether the card sorts packets by DSCP, for which priorities
 * it pauses, whether it reacts to congestion marks, with which DSCP it sends congestion notices and RoCE itself, and
 * whether packets were lost. Compared with the plan of docs/deployment/roce-switches.md. Switches cannot be seen.
 */
public final class RoceQualityCheck implements Check {
  /** The priority that the guides give to RoCE. */
  private static final int PRIORITY = 3;
  /** The DSCP that they give to RoCE, and to congestion notices. */
  private static final int DSCP = 26;
  private static final int NOTICE_DSCP = 48;
  /** A traffic class is a DSCP and two bits of ECN. */
  private static final int ECN_BITS = 2;
  private static final Pattern TRAFFIC_CLASS = Pattern.compile("Global tclass=(\\d+)");
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
      pauses(host, name, seen, amiss);
      congestion(host, name, seen, amiss);
      notices(host, name, seen, amiss);
    }
    trafficClass(host, port, seen, amiss);
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
    return amiss.stream().map(RoceQualityCheck::remedy).distinct().toList();
  }

  private static String remedy(String amiss) {
    if (amiss.contains(" trusts ")) {
      return "mlnx_qos -i INTERFACE --trust dscp";
    } else if (amiss.contains(" PFC ")) {
      return "dcb pfc set dev INTERFACE prio-pfc all:off 3:on, or all:off where the network is to be lossy";
    } else if (amiss.startsWith("ECN ")) {
      return "echo 1 to the interface's ecn/roce_np/enable/3 and roce_rp/enable/3";
    } else if (amiss.contains(" sends notices ")) {
      return "echo 48 to the interface's ecn/roce_np/cnp_dscp, or let the switches give priority to its DSCP";
    } else if (amiss.startsWith("traffic class ")) {
      return "echo 106 to the device's tc/1/traffic_class, or let the switches map its DSCP";
    }
    return "look at drop and pause counters of cards and switches while a shuffle runs";
  }

  private static void trust(Host host, String name, List<String> seen, List<String> amiss) {
    Text trust = host.read("/sys/class/net/" + name + "/qos/trust");
    if (trust.known()) {
      (trust.value().equals("dscp") ? seen : amiss).add(name + " trusts " + trust.value());
    }
  }

  /** Without PFC a network is lossy, which may be meant; a card that pauses other priorities than RoCE's loses RoCE. */
  private static void pauses(Host host, String name, List<String> seen, List<String> amiss) {
    PriorityPause.of(host, name).map(PriorityPause::priorities).ifPresent(on -> {
      if (on.isEmpty()) {
        seen.add(name + " has PFC off (lossy; switches must have it off too)");
      } else {
        String priorities = on.stream().map(String::valueOf).collect(Collectors.joining(", "));
        (on.contains(PRIORITY) ? seen : amiss).add(name + " has PFC on for " + priorities);
      }
    });
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

  private static void notices(Host host, String name, List<String> seen, List<String> amiss) {
    OptionalLong dscp = Amount.number(host.read("/sys/class/net/" + name + "/ecn/roce_np/cnp_dscp").or(""));
    dscp.ifPresent(
        value -> (value == NOTICE_DSCP ? seen : amiss).add(name + " sends notices of congestion with DSCP " + value));
  }

  /** What the driver (MLNX_OFED's) puts into every packet of RoCE, if it was told to; else programs choose. */
  private static void trafficClass(Host host, RdmaPort port, List<String> seen, List<String> amiss) {
    Text file = host.read("/sys/class/infiniband/" + port.device() + "/tc/" + port.port() + "/traffic_class");
    Matcher global = TRAFFIC_CLASS.matcher(file.or(""));
    if (global.find()) {
      int dscp = Integer.parseInt(global.group(1)) >> ECN_BITS;
      (dscp == DSCP ? seen : amiss).add("traffic class " + global.group(1) + " (DSCP " + dscp + ") for all of RoCE");
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
