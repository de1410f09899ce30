package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.INTERFACE;

import io.sluice.doctor.host.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** Network interfaces that are up and have an address: speed, MTU, addresses. */
public final class InterfacesCheck implements Check {
  private static final String FOLDER = "/sys/class/net/";
  private static final long SLOW_MEGABITS = 10_000;

  @Override
  public Subject subject() {
    return INTERFACE;
  }

  @Override
  public List<Finding> look(Host host) {
    List<Finding> findings = new ArrayList<>();
    host.addresses().forEach((name, addresses) -> {
      if (!name.equals("lo") && !addresses.isEmpty()) {
        findings.add(interfaceFinding(host, name, addresses));
      }
    });
    return findings.isEmpty()
        ? List.of(Finding.note(INTERFACE, "none with an address but loopback: executors on this machine only"))
        : findings;
  }

  private static Finding interfaceFinding(Host host, String name, List<String> addresses) {
    OptionalLong megabits = Amount.number(host.read(FOLDER + name + "/speed").or(""));
    boolean known = megabits.isPresent() && megabits.getAsLong() > 0;
    String text =
        name + ": " + String.join(", ", addresses) + ", MTU " + host.read(FOLDER + name + "/mtu").or("unknown")
            + ", " + (known ? speed(megabits.getAsLong()) : "speed unknown");
    return known && megabits.getAsLong() < SLOW_MEGABITS
        ? Finding.note(INTERFACE, text + ": spark.sluice.codec.level=small may pay on a network this slow")
        : Finding.ok(INTERFACE, text);
  }

  private static String speed(long megabits) {
    return megabits % 1000 == 0 ? megabits / 1000 + " Gb/s" : megabits + " Mb/s";
  }
}
