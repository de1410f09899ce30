package io.sluice.nativebridge;

import java.io.File;
import java.nio.file.Path;

/**
 * A file without a name, in memory, which can move to the disk and come back ({@code memfd_create(2)}). It has a path
 * under {@code /proc} for as long as this object is open. A process of the same user on this host that opens that path
 * reads the same bytes before, during and after each move.
 *
 * <p>Any thread may call anything; a move beside another one is refused. Closing twice is a no-op.
 */
public final class MemoryFile implements AutoCloseable {
  private final long handle;
  private final Path path;
  private boolean closed;

  private MemoryFile(long handle, Path path) {
    this.handle = handle;
    this.path = path;
  }

  /**
   * An empty file.
   *
   * @param name the name that {@code /proc} shows
   * @throws NativeException with {@link NativeCore#IO} when the system gives none
   */
  public static MemoryFile create(String name) {
    long handle = NativeException.check(open(name));
    long descriptor = NativeException.check(descriptor(handle));
    return new MemoryFile(handle, Path.of("/proc", Long.toString(ProcessHandle.current().pid()), "fd",
        Long.toString(descriptor)));
  }

  /** Where it can be opened by its user's processes on this host. */
  public Path path() {
    return path;
  }

  /** Fixes its size: it cannot change any more. */
  public void seal() {
    NativeException.check(seal(handle));
  }

  /**
   * Moves the bytes to a new file, which belongs to the caller. The memory is freed when no process has it open or
   * mapped any more.
   *
   * @return how many bytes
   * @throws NativeException with {@link NativeCore#DISK_FULL}, {@link NativeCore#DIRECTORY_FAILED} or {@link
   *     NativeCore#IO}: it stays in memory, and there is no file; with {@link NativeCore#WRONG_PHASE} while another
   *     thread moves it
   */
  public long moveTo(File file) {
    return NativeException.check(move(handle, file.getPath()));
  }

  /**
   * Puts the file that {@link #moveTo} has written in the memory's place again, without another copy. The memory is
   * freed when no process has it open or mapped any more.
   *
   * @return how many bytes
   * @throws NativeException when the file is not there or has another length: it stays in memory; with {@link
   *     NativeCore#WRONG_PHASE} while another thread moves it, and when it is not in memory
   */
  public long moveAgain(File file) {
    return NativeException.check(moveAgain(handle, file.getPath()));
  }

  /**
   * Copies the bytes from the disk to memory. The file stays where it is and is still the caller's; processes that have
   * it open or mapped read on from it.
   *
   * @return how many bytes
   * @throws NativeException with {@link NativeCore#IO} when there is no memory or the file cannot be read: it stays on
   *     the disk; with {@link NativeCore#WRONG_PHASE} while another thread moves it, and when it is not on the disk
   */
  public long comeBack() {
    return NativeException.check(comeBack(handle));
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      NativeException.check(release(handle));
    }
  }

  private static native long open(String name);

  private static native int descriptor(long file);

  private static native int seal(long file);

  private static native long move(long file, String path);

  private static native long moveAgain(long file, String path);

  private static native long comeBack(long file);

  private static native int release(long file);
}
