package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.SHARED_MEMORY;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Space;
import java.util.List;
import java.util.Optional;

/** {@code /dev/shm}, where UCX's shared memory transports keep their queues. Containers get 64 MiB unless asked for more. */
public final class SharedMemoryCheck implements Check {
  private static final String FOLDER = "/dev/shm";
  /** Each worker takes some MiB of it for its receive queue; UCX gives the posix transport up below 16 MiB. */
  private static final long UCX_MINIMUM = 16 * Amount.MIB;
  private static final long COMFORTABLE = Amount.GIB;
  private static final String NEXT = "Docker: --shm-size=2g or --ipc=host; Kubernetes: an emptyDir with medium: Memory "
      + "mounted at /dev/shm; or do without: spark.executorEnv.UCX_TLS=^posix";

  @Override
  public Subject subject() {
    return SHARED_MEMORY;
  }

  @Override
  public List<Finding> look(Host host) {
    if (!host.exists(FOLDER)) {
      return List.of(Finding.warning(SHARED_MEMORY, "there is no " + FOLDER, "mount -t tmpfs tmpfs " + FOLDER
          + ", or do without: spark.executorEnv.UCX_TLS=^posix"));
    }
    Optional<Space> space = host.space(FOLDER);
    if (space.isEmpty()) {
      return List.of(Finding.unknown(SHARED_MEMORY, "the size of " + FOLDER + " cannot be read"));
    }
    String text = FOLDER + " has " + Amount.text(space.get().totalBytes()) + ", " + Amount.text(space.get().freeBytes())
        + " free";
    if (space.get().freeBytes() < UCX_MINIMUM) {
      return List.of(Finding.warning(SHARED_MEMORY, text + ": too little for UCX's shared memory transport", NEXT));
    }
    return List.of(space.get().totalBytes() < COMFORTABLE
        ? Finding.warning(SHARED_MEMORY, text + ": UCX fails when it is full, and few executors fill it", NEXT)
        : Finding.ok(SHARED_MEMORY, text));
  }
}
