package io.sluice.doctor.host;

/** This process's rights, from {@code /proc/self/status}. */
public final class ProcessStatus {
  /** Lifts the limit of locked memory. */
  public static final int CAP_IPC_LOCK = 14;
  /** Lifts the kernel's rules on which process may read another's memory. */
  public static final int CAP_SYS_PTRACE = 19;

  private final Text status;

  private ProcessStatus(Text status) {
    this.status = status;
  }

  public static ProcessStatus of(Host host) {
    return new ProcessStatus(host.read("/proc/self/status"));
  }

  /** Whether the capability is effective; in a user namespace of its own that is not the machine's word. */
  public boolean has(int capability) {
    try {
      return (Long.parseUnsignedLong(field("CapEff"), 16) >>> capability & 1) == 1;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  /** Whether a seccomp filter looks at system calls. */
  public boolean filtered() {
    return field("Seccomp").equals("2");
  }

  private String field(String name) {
    return status.or("").lines().filter(line -> line.startsWith(name + ":")).findFirst()
        .map(line -> line.substring(name.length() + 1).strip()).orElse("");
  }
}
