package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.CONTAINER;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Namespaces;
import io.sluice.doctor.host.Namespaces.Kind;
import java.util.List;
import java.util.stream.Stream;

/** Whether this process is in a container, and which namespaces it does not share with the machine. */
public final class ContainerCheck implements Check {
  @Override
  public Subject subject() {
    return CONTAINER;
  }

  @Override
  public List<Finding> look(Host host) {
    List<String> signs = signs(host);
    Namespaces namespaces = Namespaces.of(host);
    List<String> own = Stream.of(Kind.values()).filter(kind -> namespaces.of(kind) == Namespaces.Sharing.OWN)
        .map(Kind::title).toList();
    List<String> unknown = Stream.of(Kind.values()).filter(kind -> namespaces.of(kind) == Namespaces.Sharing.UNKNOWN)
        .map(Kind::title).toList();
    String where = (own.isEmpty() ? signs.isEmpty() ? "no container found" : "signs of a container" : "in a container")
        + (signs.isEmpty() ? "" : " (" + String.join(", ", signs) + ")");
    String unclear = unknown.isEmpty() ? "" : "; cannot tell for: " + String.join(", ", unknown);
    if (own.isEmpty()) {
      return List.of(Finding.ok(CONTAINER, where + "; the namespaces are the machine's" + unclear));
    }
    String text = where + "; own namespaces: " + String.join(", ", own) + unclear;
    return List.of(separates(namespaces)
        ? new Finding(CONTAINER, Verdict.NOTE,
            text + ". Executors in other containers of this machine are reached over "
                + "the network, not by reads of their memory (CMA)",
            "For CMA between containers: " + Namespaces.SHARE_ADVICE)
        : Finding.ok(CONTAINER, text));
  }

  private static boolean separates(Namespaces namespaces) {
    return Stream.of(Kind.PID, Kind.USER).anyMatch(kind -> namespaces.of(kind) == Namespaces.Sharing.OWN);
  }

  private static List<String> signs(Host host) {
    String groups = host.read("/proc/1/cgroup").or("");
    return Stream.of(
        host.exists("/.dockerenv") ? "/.dockerenv is there" : "",
        host.exists("/run/.containerenv") ? "/run/.containerenv is there" : "",
        host.environment("KUBERNETES_SERVICE_HOST").isPresent() ? "Kubernetes" : "",
        host.environment("container").map(value -> "container=" + value).orElse(""),
        Stream.of("docker", "kubepods", "containerd", "lxc").filter(groups::contains).findFirst()
            .map(name -> "control group of " + name).orElse(""))
        .filter(sign -> !sign.isEmpty()).toList();
  }
}
