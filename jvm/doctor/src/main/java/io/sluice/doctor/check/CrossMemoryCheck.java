package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.CROSS_MEMORY;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.MemoryTrial;
import io.sluice.doctor.host.ProcessStatus;
import io.sluice.doctor.host.Text;
import java.util.List;

/**
 * Whether one executor may read another's memory (cross memory attach, {@code process_vm_readv}), which is how blocks
 * are read one-sidedly between processes of one machine. The kernel asks the question of ptrace: same user, Yama's
 * scope, capability; a seccomp filter can forbid the call beside that.
 */
public final class CrossMemoryCheck implements Check {
  private static final String SCOPE = "/proc/sys/kernel/yama/ptrace_scope";
  private static final String WITHOUT = "Without it executors of this machine read each other over TCP";

  @Override
  public Subject subject() {
    return CROSS_MEMORY;
  }

  @Override
  public List<Finding> look(Host host) {
    Text scope = host.read(SCOPE);
    ProcessStatus status = ProcessStatus.of(host);
    boolean capable = status.has(ProcessStatus.CAP_SYS_PTRACE);
    MemoryTrial trial = host.readMemoryOfChild();
    String text = "tried: " + trial.what() + yama(scope) + (capable ? "; has CAP_SYS_PTRACE" : "")
        + (status.filtered() ? "; a seccomp filter is on, which this trial does not meet" : "");
    if (trial.result() == MemoryTrial.Result.REFUSED) {
      return List.of(Finding.warning(CROSS_MEMORY, text + ". " + WITHOUT,
          "Docker: --cap-add=SYS_PTRACE; else sysctl kernel.yama.ptrace_scope=0, same user for all executors"));
    }
    if (scope.or("0").equals("3") || scope.or("0").equals("2") && !capable) {
      return List.of(Finding.warning(CROSS_MEMORY, text + ": executors may not read each other. " + WITHOUT,
          "sysctl -w kernel.yama.ptrace_scope=1"
              + (scope.value().equals("3") ? " (3 stays until the next boot)" : "")));
    }
    return List.of(trial.result() == MemoryTrial.Result.PERMITTED ? Finding.ok(CROSS_MEMORY, text)
        : Finding.unknown(CROSS_MEMORY, text));
  }

  private static String yama(Text scope) {
    if (!scope.known()) {
      return "; no Yama";
    }
    return "; ptrace_scope " + scope.value()
        + (scope.value().equals("1") ? " (UCX asks for the permission itself)" : "");
  }
}
