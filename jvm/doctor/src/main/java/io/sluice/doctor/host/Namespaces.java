package io.sluice.doctor.host;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which namespaces this process shares with the machine. The machine's own (initial) ones have fixed numbers in the
 * kernel ({@code PROC_IPC_INIT_INO} and so on), which is more than {@code /proc/1} can tell:
 * in a container it is the container's first process, and often it cannot be read. The network's has a fixed number in
 * recent kernels only, and is else compared with that of process 1 where process 1 is the machine's.
 */
public final class Namespaces {
  /** The namespaces that executors in several containers of a machine must share to read each other's memory. */
  public static final String SHARE_ADVICE = "--pid=host (Docker), hostPID (Kubernetes), and one user namespace";

  public enum Kind {
    IPC("IPC", 0xEFFFFFFFL),
    PID("PID", 0xEFFFFFFCL),
    USER("user", 0xEFFFFFFDL),
    NETWORK("network", 0xEFFFFFF9L);

    private final String title;
    private final long initial;

    Kind(String title, long initial) {
      this.title = title;
      this.initial = initial;
    }

    public String title() {
      return title;
    }

    private String file() {
      return this == NETWORK ? "net" : title.toLowerCase(Locale.ROOT);
    }
  }

  /** Whether a namespace is the machine's. */
  public enum Sharing { MACHINE, OWN, UNKNOWN }

  private static final Pattern NUMBER = Pattern.compile(".*\\[(\\d+)]");

  private final Map<Kind, Sharing> sharing = new EnumMap<>(Kind.class);

  private Namespaces() {}

  public static Namespaces of(Host host) {
    Namespaces namespaces = new Namespaces();
    for (Kind kind : Kind.values()) {
      namespaces.sharing.put(kind, namespaces.look(host, kind));
    }
    return namespaces;
  }

  public Sharing of(Kind kind) {
    return sharing.get(kind);
  }

  private Sharing look(Host host, Kind kind) {
    long own = number(host.link("/proc/self/ns/" + kind.file()));
    if (own < 0) {
      return Sharing.UNKNOWN;
    }
    if (own == kind.initial) {
      return Sharing.MACHINE;
    }
    if (kind != Kind.NETWORK) {
      return Sharing.OWN;
    }
    long first = number(host.link("/proc/1/ns/net"));
    if (first < 0 || sharing.get(Kind.PID) != Sharing.MACHINE) {
      return Sharing.UNKNOWN;
    }
    return own == first ? Sharing.MACHINE : Sharing.OWN;
  }

  private static long number(Text link) {
    Matcher matcher = NUMBER.matcher(link.or(""));
    return matcher.matches() ? Long.parseLong(matcher.group(1)) : -1;
  }
}
