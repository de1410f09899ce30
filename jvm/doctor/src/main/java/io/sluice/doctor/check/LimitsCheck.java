package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.LOCKED_MEMORY;
import static io.sluice.doctor.check.Subject.OPEN_FILES;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Namespaces;
import io.sluice.doctor.host.Namespaces.Kind;
import io.sluice.doctor.host.Namespaces.Sharing;
import io.sluice.doctor.host.ProcessStatus;
import io.sluice.doctor.host.Text;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The limits of this process that a shuffle meets. Spark's processes have these only when they are started in the same
 * way.
 */
public final class LimitsCheck implements Check {
  private static final long FEW_FILES = 4096;
  /** RDMA pins the files that are read and the buffers that they are read into, for every executor. */
  private static final long LITTLE_LOCKED = 8 * Amount.GIB;

  @Override
  public Subject subject() {
    return OPEN_FILES;
  }

  @Override
  public List<Finding> look(Host host) {
    Text limits = host.read("/proc/self/limits");
    return List.of(openFiles(limits), lockedMemory(host, limits));
  }

  private static Finding openFiles(Text limits) {
    Optional<String> soft = softLimit(limits, "Max open files");
    if (soft.isEmpty()) {
      return Finding.unknown(OPEN_FILES, limits.known() ? "/proc/self/limits does not say" : limits.reason());
    }
    OptionalLong count = Amount.number(soft.get());
    String text = "at most " + soft.get() + " at once";
    return count.isPresent() && count.getAsLong() < FEW_FILES
        ? Finding.warning(OPEN_FILES, text + ": few for an executor with many map outputs and peers",
            "Raise it for the user that runs Spark: ulimit -n 65536 (systemd: LimitNOFILE=65536)")
        : Finding.ok(OPEN_FILES, text);
  }

  private static Finding lockedMemory(Host host, Text limits) {
    Optional<String> soft = softLimit(limits, "Max locked memory");
    if (soft.isEmpty()) {
      return Finding.unknown(LOCKED_MEMORY, limits.known() ? "/proc/self/limits does not say" : limits.reason());
    }
    OptionalLong bytes = Amount.number(soft.get());
    if (bytes.isEmpty()) {
      return Finding.ok(LOCKED_MEMORY, soft.get());
    }
    String text = "at most " + Amount.text(bytes.getAsLong());
    if (bytes.getAsLong() >= LITTLE_LOCKED) {
      return Finding.ok(LOCKED_MEMORY, text);
    }
    if (ProcessStatus.of(host).has(ProcessStatus.CAP_IPC_LOCK)
        && Namespaces.of(host).of(Kind.USER) == Sharing.MACHINE) {
      return Finding.ok(LOCKED_MEMORY, text + ", which CAP_IPC_LOCK lifts for this user");
    }
    if (host.list("/sys/class/infiniband").isEmpty()) {
      return Finding.note(LOCKED_MEMORY, text + ": only RDMA pins memory, and there is no RDMA device");
    }
    return Finding.warning(LOCKED_MEMORY, text + ": RDMA pins what it reads and will be refused",
        "memlock unlimited in /etc/security/limits.d for Spark's user (systemd: LimitMEMLOCK=infinity; "
            + "Docker: --ulimit memlock=-1)");
  }

  private static Optional<String> softLimit(Text limits, String name) {
    Matcher line = Pattern.compile("^" + name + "\\s+(\\S+)", Pattern.MULTILINE).matcher(limits.or(""));
    return line.find() ? Optional.of(line.group(1)) : Optional.empty();
  }
}
