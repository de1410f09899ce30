package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.LOCAL_DIRS;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Mounts;
import io.sluice.doctor.host.Mounts.Mount;
import io.sluice.doctor.host.Space;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The folders that shuffle files go to. */
public final class LocalDirsCheck implements Check {
  private static final long LITTLE_SPACE = 10 * Amount.GIB;
  private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs", "devtmpfs");
  private static final Set<String> LAYERED = Set.of("overlay", "aufs", "fuse-overlayfs");
  private static final Set<String> REMOTE =
      Set.of("nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "glusterfs", "fuse.sshfs");

  private final List<String> folders;

  public LocalDirsCheck(List<String> folders) {
    this.folders = folders;
  }

  @Override
  public Subject subject() {
    return LOCAL_DIRS;
  }

  @Override
  public List<Finding> look(Host host) {
    Mounts mounts = Mounts.of(host);
    return folders.stream().map(folder -> folder(host, mounts, folder)).toList();
  }

  private static Finding folder(Host host, Mounts mounts, String folder) {
    if (!host.exists(folder)) {
      return Finding.problem(LOCAL_DIRS, folder + " is not there", "mkdir -p " + folder + ", owned by Spark's user");
    }
    Optional<String> obstacle = host.writeObstacle(folder);
    if (obstacle.isPresent()) {
      return Finding.problem(LOCAL_DIRS, folder + " cannot be written: " + obstacle.get(),
          "Give it to the user that runs Spark, or set spark.local.dir to another folder");
    }
    String type = mounts.holding(host.resolve(folder)).map(Mount::type).orElse("");
    Optional<Space> space = host.space(folder);
    String text = folder + (type.isEmpty() ? ", file system unknown" : ", " + type) + space
        .map(found -> ", " + Amount.text(found.freeBytes()) + " free of " + Amount.text(found.totalBytes()))
        .orElse(", free space unknown");
    return judged(folder, text, type, space);
  }

  private static Finding judged(String folder, String text, String type, Optional<Space> space) {
    String elsewhere = "spark.local.dir (SPARK_LOCAL_DIRS) on a local disk, an NVMe drive where there is one";
    if (space.isPresent() && space.get().freeBytes() < LITTLE_SPACE) {
      return Finding.warning(LOCAL_DIRS, text + ": little for shuffle files", "Free space there, or " + elsewhere);
    }
    if (IN_MEMORY.contains(type)) {
      return Finding.warning(LOCAL_DIRS,
          text + ": shuffle files there take memory, which a container counts as its own",
          elsewhere);
    }
    if (LAYERED.contains(type)) {
      return Finding.warning(LOCAL_DIRS, text + ": a container's writable layer, slower than a volume",
          "Mount a volume for " + folder + " (Docker: -v; Kubernetes: a volume named spark-local-dir-1)");
    }
    if (REMOTE.contains(type)) {
      return Finding.warning(LOCAL_DIRS, text + ": not a local disk", elsewhere);
    }
    return Finding.ok(LOCAL_DIRS, text);
  }
}
