package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.CROSS_MEMORY;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.MemoryTrial;
import io.sluice.doctor.host.Text;
import java.util.List;

/**
 * Whether one executor may read another's memory (cross memory attach, {@code process_vm_readv}), which is how UCX moves
 * large blocks between processes of one machine. The kernel asks the question of ptrace: same user, Yama's scope,
 * capability; a seccomp filter can forbid the call beside that.
 */
public final class CrossMemoryCheck implements Check {
  private static final String SCOPE = "/proc/sys/kernel/yama/ptrace_scope";
  private static final int CAP_SYS_PTRACE = 19;
  private static final String WITHOUT = "Without it UCX copies through /dev/shm";

  @Override
  public Subject subject() {
    return CROSS_MEMORY;
  }

  @Override
  public List<Finding> look(Host host) {
    Text scope = host.read(SCOPE);
    Text status = host.read("/proc/self/status");
    boolean capable = capable(status);
    MemoryTrial trial = host.readMemoryOfChild();
    String text = "tried: " + trial.what() + yama(scope) + (capable ? "; has CAP_SYS_PTRACE" : "") + seccomp(status);
    if (trial.result() == MemoryTrial.Result.REFUSED) {
      return List.of(Finding.warning(CROSS_MEMORY, text + ". " + WITHOUT,
          "Docker: --cap-add=SYS_PTRACE; else sysctl kernel.yama.ptrace_scope=0, same user for all executors"));
    }
    if (scope.or("0").equals("3") || scope.or("0").equals("2") && !capable) {
      return List.of(Finding.warning(CROSS_MEMORY, text + ": executors may not read each other. " + WITHOUT,
          "sysctl -w kernel.yama.ptrace_scope=1" + (scope.value().equals("3") ? " (3 stays until the next boot)" : "")));
    }
    return List.of(trial.result() == MemoryTrial.Result.PERMITTED ? Finding.ok(CROSS_MEMORY, text)
        : Finding.unknown(CROSS_MEMORY, text));
  }

  private static String yama(Text scope) {
    if (!scope.known()) {
      return "; no Yama";
    }
    return "; ptrace_scope " + scope.value() + (scope.value().equals("1") ? " (UCX asks for the permission itself)" : "");
  }

  private static boolean capable(Text status) {
    String mask = field(status, "CapEff");
    try {
      return (Long.parseUnsignedLong(mask, 16) >>> CAP_SYS_PTRACE & 1) == 1;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private static String seccomp(Text status) {
    return field(status, "Seccomp").equals("2") ? "; a seccomp filter is on, which this trial does not meet" : "";
  }

  private static String field(Text status, String name) {
    return status.or("").lines().filter(line -> line.startsWith(name + ":")).findFirst()
        .map(line -> line.substring(name.length() + 1).strip()).orElse("");
  }
}
