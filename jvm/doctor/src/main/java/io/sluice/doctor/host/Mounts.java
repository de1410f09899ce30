package io.sluice.doctor.host;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The mounted file systems, from {@code /proc/self/mounts}. */
public final class Mounts {
  /**
   * @param point where it is mounted
   * @param type such as ext4, overlay, tmpfs
   */
  public record Mount(String point, String type, List<String> options) {
    public boolean has(String option) {
      return options.contains(option);
    }
  }

  private final List<Mount> mounts;

  private Mounts(List<Mount> mounts) {
    this.mounts = mounts;
  }

  public static Mounts of(Host host) {
    return new Mounts(host.read("/proc/self/mounts").or("").lines().map(line -> line.split(" "))
        .filter(fields -> fields.length >= 4)
        .map(fields -> new Mount(fields[1].replace("\\040", " "), fields[2], Arrays.asList(fields[3].split(","))))
        .toList());
  }

  /**
   * The file system that holds {@code path}, which must have no symbolic links. The later of two at one point hides the
   * earlier.
   */
  public Optional<Mount> holding(String path) {
    Optional<Mount> best = Optional.empty();
    for (Mount mount : mounts) {
      boolean holds = mount.point().equals("/") || path.equals(mount.point()) || path.startsWith(mount.point() + "/");
      if (holds && best.map(found -> mount.point().length() >= found.point().length()).orElse(true)) {
        best = Optional.of(mount);
      }
    }
    return best;
  }
}
