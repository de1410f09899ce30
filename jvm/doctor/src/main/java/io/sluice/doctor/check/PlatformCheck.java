package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.PLATFORM;

import io.sluice.doctor.host.Host;
import java.util.List;

/** Operating system, kernel and architecture. */
public final class PlatformCheck implements Check {
  private static final List<String> MACHINES = List.of("x86_64", "aarch64");

  @Override
  public Subject subject() {
    return PLATFORM;
  }

  @Override
  public List<Finding> look(Host host) {
    String system = host.property("os.name");
    String architecture = host.property("os.arch").equals("amd64") ? "x86_64" : host.property("os.arch");
    String kernel = system + " " + host.property("os.version") + ", " + architecture;
    String text = distribution(host) + kernel;
    return List.of(system.equals("Linux") && MACHINES.contains(architecture)
        ? Finding.ok(PLATFORM, text)
        : Finding.problem(PLATFORM, text + ": the native library is there for Linux on x86_64 and aarch64 only",
            "Run Spark on Linux, x86_64 or aarch64; elsewhere Sluice writes and reads frames in Java"));
  }

  private static String distribution(Host host) {
    return host.read("/etc/os-release").or("").lines().filter(line -> line.startsWith("PRETTY_NAME=")).findFirst()
        .map(line -> line.substring("PRETTY_NAME=".length()).replace("\"", "") + ", ").orElse("");
  }
}
