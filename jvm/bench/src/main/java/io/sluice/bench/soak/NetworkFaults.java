package io.sluice.bench.soak;

import io.sluice.bench.soak.Fault.Target;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Faults of the link and the connections in a {@link Room}. */
final class NetworkFaults {

  private static final String LINK = "lo";
  /** The local ports in what ss prints of sockets that listen. */
  private static final String PORTS = "sed -E 's/^([^ ]+ +){3}[^ ]*:([0-9]+) .*/\\2/' | sort -u";
  private static final double ALL = 4_294_967_296.0;

  private NetworkFaults() {}

  static boolean linkDown(Target target, Dice dice) throws InterruptedException {
    try {
      inside(target, "ip", "link", "set", LINK, "down");
      Thread.sleep(dice.between(500, 4_000));
    } finally {
      inside(target, "ip", "link", "set", LINK, "up");
    }
    return true;
  }

  /**
   * By a filter on what comes in, in the instructions of classic BPF: load a random word; if it is at least the part of
   * 2^32 that is to be lost, go on (-1), else drop (2).
   */
  static boolean losePackets(Target target, Dice dice) throws InterruptedException {
    long part = (long) (ALL * dice.between(1, 5) / 100);
    try {
      // Linux hands up to 64 KiB to a device in one piece, which would be lost in one piece.
      inside(target, "ip", "link", "set", LINK, "gso_max_segs", "1");
      inside(target, "tc", "qdisc", "add", "dev", LINK, "clsact");
      inside(target, "tc", "filter", "add", "dev", LINK, "ingress", "bpf", "direct-action", "bytecode",
          "4,32 0 0 4294963256,53 0 1 " + part + ",6 0 0 4294967295,6 0 0 2");
      Thread.sleep(dice.between(1_000, 8_000));
    } finally {
      inside(target, "tc", "qdisc", "delete", "dev", LINK, "clsact");
      inside(target, "ip", "link", "set", LINK, "gso_max_segs", "65535");
    }
    return true;
  }

  static boolean slowLink(Target target, Dice dice) throws InterruptedException {
    try {
      inside(target, "tc", "qdisc", "add", "dev", LINK, "root", "tbf", "rate", dice.between(10, 100) + "mbit", "burst",
          "256kb", "latency", "400ms");
      Thread.sleep(dice.between(1_000, 8_000));
    } finally {
      inside(target, "tc", "qdisc", "delete", "dev", LINK, "root");
    }
    return true;
  }

  /**
   * Those to ports on which executors listen, over which blocks travel. Not the others: a standalone cluster's workers
   * wait for ever for a master whose connection was cut.
   */
  static boolean cutConnections(Target target, Dice dice) throws InterruptedException {
    String owners = target.executors().stream().map(executor -> "pid=" + executor.pid() + ",")
        .collect(Collectors.joining("|"));
    return !owners.isEmpty() && says(target, "for port in $(ss -Htlnp | grep -E '" + owners + "' | " + PORTS + "); do\n"
        + "  ss -H --kill --tcp state established \"( sport = :$port or dport = :$port )\"\n"
        + "done");
  }

  /** In bash, whose redirections open connections: the room has no program of ours. */
  static boolean connectStrangers(Target target, Dice dice) throws InterruptedException {
    String script = "for port in $(ss -Htln | " + PORTS + "); do\n"
        + "  for i in 1 2 3; do\n"
        + "    timeout 5 bash -c \"exec 3<>/dev/tcp/127.0.0.1/$port && head -c " + dice.between(1, 200)
        + " /dev/urandom >&3; sleep 4\" 2>/dev/null &\n"
        + "  done\n"
        + "done\n"
        + "wait; true";
    inside(target, "bash", "-c", script);
    return true;
  }

  /** An executor is killed by a process that then listens on its ports for some seconds. */
  static boolean replacePeer(Target target, Dice dice) throws InterruptedException {
    boolean replaced = false;
    for (ProcessHandle executor : dice.some(1, target.executors())) {
      String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
      replaced |= says(target, "ports=$(ss -Htlnp | grep -F 'pid=" + executor.pid() + ",' | " + PORTS + ")\n"
          + "echo $ports\n"
          + "test -z \"$ports\" || exec '" + java + "' -Xmx64m -cp '" + System.getProperty("java.class.path") + "' "
          + StrangePeer.class.getName() + " " + executor.pid() + " " + dice.between(2, 6) + " $ports");
    }
    return replaced;
  }

  /** Whether a script of bash's prints anything; it must succeed unless the application has ended. */
  private static boolean says(Target target, String script) throws InterruptedException {
    List<String> command = new ArrayList<>(Room.entry(target));
    command.addAll(List.of("bash", "-c", script + "\ntrue"));
    try {
      return !Command.output(Path.of("/"), command).isBlank();
    } catch (IOException e) {
      if (target.driver().isAlive()) {
        throw new UncheckedIOException(e);
      }
      return false;
    }
  }

  private static void inside(Target target, String... command) throws InterruptedException {
    List<String> whole = new ArrayList<>(Room.entry(target));
    whole.addAll(List.of(command));
    Command.run(target.driver(), whole);
  }
}
