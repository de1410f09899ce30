package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.REGISTRATION;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Mounts;
import io.sluice.doctor.host.Mounts.Mount;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where there are RDMA devices: how map outputs in the local directories will be registered, by kernel and file system.
 * Executors do not rely on this: each tries it when it starts.
 */
public final class RegistrationCheck implements Check {
  /** Their pages are pinned for writing by a device in every version of Linux. */
  private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs", "hugetlbfs");
  /** Linux 6.5 was the first to refuse it for files of other file systems. */
  private static final int[] FIRST_TO_REFUSE = {6, 5};
  private static final Pattern VERSION = Pattern.compile("^(\\d+)\\.(\\d+)");

  private final List<String> folders;

  public RegistrationCheck(List<String> folders) {
    this.folders = folders;
  }

  @Override
  public Subject subject() {
    return REGISTRATION;
  }

  @Override
  public List<Finding> look(Host host) {
    if (host.list("/sys/class/infiniband").isEmpty()) {
      return List.of();
    }
    Mounts mounts = Mounts.of(host);
    return folders.stream().filter(host::exists).map(folder -> folder(host, mounts, folder)).toList();
  }

  private static Finding folder(Host host, Mounts mounts, String folder) {
    String type = mounts.holding(host.resolve(folder)).map(Mount::type).orElse("file system unknown");
    String linux = "Linux " + host.property("os.version");
    String place = folder + " (" + type + ")";
    if (IN_MEMORY.contains(type) || !refuses(host.property("os.version"))) {
      return Finding.ok(REGISTRATION, place + ": from the page cache, which " + linux + " pins there");
    }
    return Finding.note(REGISTRATION, place + ": as copies in memory, within spark.sluice.transport.maxMappedBytes, "
        + "because " + linux + " pins file pages for RDMA devices only on tmpfs and in memory files (from the page "
        + "cache where the device pages on demand); spark.sluice.store=cache needs no copies. Each executor tries it "
        + "when it starts and logs what it does");
  }

  private static boolean refuses(String version) {
    Matcher numbers = VERSION.matcher(version);
    if (!numbers.find()) {
      return true;
    }
    int major = Integer.parseInt(numbers.group(1));
    int minor = Integer.parseInt(numbers.group(2));
    return major > FIRST_TO_REFUSE[0] || major == FIRST_TO_REFUSE[0] && minor >= FIRST_TO_REFUSE[1];
  }
}
