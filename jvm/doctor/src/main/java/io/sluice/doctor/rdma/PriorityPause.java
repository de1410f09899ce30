package io.sluice.doctor.rdma;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Text;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Priority flow control (PFC) of a network interface: for which priorities its card sends pauses, and obeys them.
 *
 * @param priorities those that it is on for, ascending
 */
record PriorityPause(List<Integer> priorities) {

  /** Of {@code dcb pfc show} (iproute2): {@code prio-pfc 0:off 1:off … 3:on …}. */
  private static final Pattern DCB = Pattern.compile("\\bprio-pfc((?:\\s+\\d:(?:on|off))+)");
  private static final Pattern DCB_ON = Pattern.compile("(\\d):on");
  /** Of {@code mlnx_qos} (mlnx-tools): below a line of priorities, 0 or 1 for each of the eight. */
  private static final Pattern MLNX_QOS =
      Pattern.compile("PFC configuration:\\s+priority[\\s\\d]+enabled((?:\\s+[01])+)");

  /** As {@code dcb} says, or {@code mlnx_qos} where that is not there or the driver does not answer it. */
  static Optional<PriorityPause> of(Host host, String networkInterface) {
    Text dcb = host.run("dcb", "pfc", "show", "dev", networkInterface);
    Matcher shown = DCB.matcher(dcb.or(""));
    if (shown.find()) {
      return Optional.of(new PriorityPause(DCB_ON.matcher(shown.group(1)).results()
          .map(on -> Integer.valueOf(on.group(1))).sorted().toList()));
    }
    Matcher table = MLNX_QOS.matcher(host.run("mlnx_qos", "-i", networkInterface).or(""));
    return table.find() ? Optional.of(ofFlags(table.group(1).strip().split("\\s+"))) : Optional.empty();
  }

  private static PriorityPause ofFlags(String[] flags) {
    return new PriorityPause(
        IntStream.range(0, flags.length).filter(each -> flags[each].equals("1")).boxed().toList());
  }
}
