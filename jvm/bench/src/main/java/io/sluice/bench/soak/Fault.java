package io.sluice.bench.soak;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What is done to an application while it runs a program. Needs Linux. */
enum Fault {

  /** Nothing, to compare with. */
  NONE((target, dice) -> true),

  /** An executor is killed with SIGKILL. */
  EXECUTOR_KILLED(ProcessFaults::killOne),

  /** All executors are killed with SIGKILL at once. */
  EXECUTORS_KILLED((target, dice) -> ProcessFaults.kill(target.executors())),

  /** An executor is killed while it writes a map output that is not committed yet. */
  KILLED_IN_COMMIT(ProcessFaults::killInCommit),

  /** An executor is killed right after a map output was committed. */
  KILLED_AFTER_COMMIT(ProcessFaults::killAfterCommit),

  /** An executor does nothing for some seconds, and goes on. */
  EXECUTOR_STOPPED((target, dice) -> ProcessFaults.stop(dice.some(1, target.executors()), dice)),

  /** All executors do nothing for some seconds, and go on. */
  EXECUTORS_STOPPED((target, dice) -> ProcessFaults.stop(target.executors(), dice)),

  /** The driver does nothing for some seconds, and goes on. */
  DRIVER_STOPPED((target, dice) -> ProcessFaults.stop(List.of(target.driver()), dice)),

  /** The JVM of an executor stops all its threads while it writes its heap. */
  HEAP_DUMPED(ProcessFaults::dumpHeap),

  /** The JVM of an executor collects all garbage, several times, one right after the other. */
  GARBAGE_COLLECTED(ProcessFaults::collectGarbage),

  /**
   * One bit of a map output in Sluice's format is inverted. Not of files that Spark writes itself: most have no
   * checksum, so stock Spark could give another result too.
   */
  OUTPUT_FLIPPED(FileFaults::flipOutput),

  /** One bit of a spill in Sluice's format is inverted. */
  SPILL_FLIPPED(FileFaults::flipSpill),

  /** One bit in the file of checksums that Spark keeps beside a map output is inverted. */
  CHECKSUMS_FLIPPED(FileFaults::flipChecksums),

  /** A file of map output loses its end. */
  OUTPUT_CUT(FileFaults::cutOutput),

  /** One byte of the index of a map output is inverted. */
  INDEX_FLIPPED(FileFaults::flipIndex),

  /** The index of a map output loses its end. */
  INDEX_CUT(FileFaults::cutIndex),

  /** A file of map output is gone. */
  FILE_DELETED(FileFaults::deleteOne),

  /** All files of an executor's shuffles are gone. */
  FILES_DELETED(FileFaults::deleteThoseOfAnExecutor),

  /** The folders in which an executor keeps all its blocks are gone, with what was in them. */
  FOLDERS_DELETED(true, false, FileFaults::deleteFolders),

  /** An executor may not enter the folders of its blocks for a moment. */
  FOLDERS_FORBIDDEN(true, true, FileFaults::forbidFolders),

  /** The disk of shuffles and spills is full for a moment. */
  DISK_FULL(true, true, FileFaults::fillDisk),

  /** Some reads of blocks fail for a moment, as those of a bad disk do. */
  READS_FAIL(true, true, CallFaults::failReads),

  /** The disk is slow for some seconds. */
  DISK_SLOW(false, true, CallFaults::slowDisk),

  /** The wall clock is another one for some seconds. */
  CLOCK_STEPPED(false, true, CallFaults::stepClock),

  /** Shared memory is full for a moment. */
  SHARED_MEMORY_FULL(true, true, FileFaults::fillSharedMemory),

  /** An executor can open almost no more files for a moment. */
  DESCRIPTORS_EXHAUSTED(true, false, (target, dice) -> Limits.lower(target, dice, Limits.FILES, dice.between(40, 400))),

  /** An executor can write no file beyond some length for a moment. */
  FILES_LIMITED(true, false,
      (target, dice) -> Limits.lower(target, dice, Limits.FILE_SIZE, 1L << dice.between(10, 20))),

  /** An executor gets no more memory from the system for a moment. */
  MEMORY_REFUSED(true, false, Limits::refuseMemory),

  /** No process of the application can map a file for a moment, as at the limit of mappings (vm.max_map_count). */
  MAPPINGS_REFUSED(true, true, CallFaults::refuseMappings),

  /** Sluice's own threads, Java's and native ones, stand still for some seconds, where they do I/O. */
  THREADS_STUCK(false, true, CallFaults::holdThreads),

  /** What arrives over connections is seen late for some seconds, by other times over each connection. */
  MESSAGES_DELAYED(false, true, CallFaults::delayMessages),

  /** An executor is killed, and the one in its place cannot load Sluice's native library. */
  LIBRARY_GONE(false, true, CallFaults::replaceWithoutLibrary),

  /** The thread that reads one-sidedly ends in one or two processes, and says nothing. */
  AGENT_ENDED(false, true, CallFaults::endAgents),

  /** All jobs that run are cancelled. */
  JOBS_CANCELLED(true, false, JobFaults::cancel),

  /** All stages that run are cancelled, and their jobs with them. */
  STAGES_CANCELLED(true, false, JobFaults::cancelStages),

  /** The program is begun a second time, and the jobs of both are cancelled. */
  TWO_JOBS_CANCELLED(true, false, JobFaults::cancelTwo),

  /** All attempts of tasks that run are killed; Spark makes others. */
  TASKS_KILLED(JobFaults::killTasks),

  /** The driver forgets where all map outputs are, so that tasks fail to fetch them and stages run again. */
  OUTPUTS_FORGOTTEN(JobFaults::forgetOutputs),

  /** An executor may pin almost no more memory for a moment; what it has pinned stays so. */
  PINNING_LIMITED((target, dice) -> Limits.lower(target, dice, Limits.PINNED, 1L << dice.between(12, 20))),

  /** The machine's link is down for a moment. */
  LINK_DOWN(true, true, NetworkFaults::linkDown),

  /** The link loses packets for some seconds. */
  PACKETS_LOST(false, true, NetworkFaults::losePackets),

  /** The link is slow for some seconds, and its queue is long. */
  LINK_SLOW(false, true, NetworkFaults::slowLink),

  /** Every connection over which executors send blocks is cut. */
  CONNECTIONS_CUT(false, true, NetworkFaults::cutConnections),

  /** Strangers connect to every port, send bytes that mean nothing, and stay. */
  STRANGERS_CONNECT(false, true, NetworkFaults::connectStrangers),

  /** An executor is killed, and a stranger listens under its address for some seconds. */
  PEER_REPLACED(false, true, NetworkFaults::replacePeer);

  /** What faults are done to. */
  interface Target {
    /** The driver's process. */
    ProcessHandle driver();

    /** The executors' processes that live now. */
    List<ProcessHandle> executors();

    /** Where the application has its files. */
    Path folder();
  }

  /**
   * Does harm; returns when it is over, and whether there was anything that it was done to. What has gone in the
   * meantime is left alone.
   */
  interface Injection {
    boolean inject(Target target, Dice dice) throws InterruptedException;
  }

  private final boolean mayFail;
  private final boolean inRoom;
  private final Injection injection;

  Fault(Injection injection) {
    this(false, false, injection);
  }

  Fault(boolean mayFail, boolean inRoom, Injection injection) {
    this.mayFail = mayFail;
    this.inRoom = inRoom;
    this.injection = injection;
  }

  /** Whether the program may fail of it, as it may on stock Spark; its result must never be another one. */
  boolean mayFail() {
    return mayFail;
  }

  /** Whether all processes of the application live on, so that what they hold can be compared with before. */
  boolean sparesProcesses() {
    return !mayFail && this != EXECUTOR_KILLED && this != EXECUTORS_KILLED && this != KILLED_IN_COMMIT
        && this != KILLED_AFTER_COMMIT && this != PEER_REPLACED && this != LIBRARY_GONE && this != AGENT_ENDED;
  }

  /**
   * Whether executors do not work afterwards as they did before, so that they are to be replaced: those that programs
   * may fail of can leave executors of which each program fails, since a class of Spark's or of a library's whose
   * initialisation failed stays unusable in the process; others go on without what was taken.
   */
  boolean spoilsExecutors() {
    return mayFail || this == LIBRARY_GONE || this == AGENT_ENDED;
  }

  /** Whether it changes the machine, so that it is only done to applications in a {@link Room}. */
  boolean inRoom() {
    return inRoom;
  }

  /** The name on the command line. */
  String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * Does it; returns when it is over.
   *
   * @return whether there was anything that it was done to: false if, for example, no such file was there
   */
  boolean inject(Target target, Dice dice) throws InterruptedException {
    return injection.inject(target, dice);
  }

  /** Settings of applications in which it has something that it is done to. */
  Map<String, String> settings() {
    return switch (this) {
      case SPILL_FLIPPED -> Profile.named("little-memory");
      // Registered memory and what is shared between processes.
      case PINNING_LIMITED, SHARED_MEMORY_FULL -> Profile.named("rdma");
      case AGENT_ENDED -> Profile.named("ucx");
      default -> Profile.named("remote");
    };
  }
}
