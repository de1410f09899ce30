package io.sluice.doctor.check;

import static io.sluice.doctor.check.Subject.SHARED_MEMORY;

import io.sluice.doctor.host.Host;
import io.sluice.doctor.host.Space;
import java.util.List;
import java.util.Optional;

/**
 * {@code /dev/shm}, where UCX's {@code posix} transport keeps its queue: some 4 MiB per executor from UCX's start on,
 * and no more, for Sluice's connections do not use it. Containers get 64 MiB unless asked for more.
 */
public final class SharedMemoryCheck implements Check {
  private static final String FOLDER = "/dev/shm";
  /** UCX does without the posix transport when less is free ({@code UCX_POSIX_SHM_MIN_SIZE}). */
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
      return List.of(Finding.warning(SHARED_MEMORY, text + ": too little for UCX's posix transport, which it then"
          + " leaves out; no block is lost by that", NEXT));
    }
    return List.of(space.get().totalBytes() < COMFORTABLE
        ? Finding.warning(SHARED_MEMORY, text + ": UCX takes 4 MiB of it per executor when it starts"
            + ", and leaves its posix transport out below 16 MiB; no block is lost by that", NEXT)
        : Finding.ok(SHARED_MEMORY, text));
  }
}
