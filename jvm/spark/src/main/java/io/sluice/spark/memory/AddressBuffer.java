package io.sluice.spark.memory;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import org.apache.spark.unsafe.Platform;

/**
 * One direct {@link ByteBuffer} that is pointed at leased memory again and again, so that a file channel reads
 * straight into it: no staging copy and no allocation. Not thread-safe.
 */
public final class AddressBuffer {
  private static final long ADDRESS_OFFSET = fieldOffset("address");
  private static final long CAPACITY_OFFSET = fieldOffset("capacity");

  /** Copied by each: a direct buffer of its own would need a cleaner. */
  private static final ByteBuffer EMPTY = ByteBuffer.allocateDirect(0);

  private final ByteBuffer buffer = EMPTY.duplicate();

  /**
   * The buffer over {@code bytes} of memory at {@code address}, position 0, limit at its end. It is valid until
   * the next call and does not own the memory.
   */
  public ByteBuffer at(long address, int bytes) {
    buffer.clear();
    Platform.putLong(buffer, ADDRESS_OFFSET, address);
    Platform.putInt(buffer, CAPACITY_OFFSET, bytes);
    buffer.limit(bytes);
    return buffer;
  }

  /** Through {@code sun.misc.Unsafe}, by reflection: javac warns about every direct use of it. */
  private static long fieldOffset(String name) {
    try {
      Field field = Buffer.class.getDeclaredField(name);
      Class<?> unsafe = Class.forName("sun.misc.Unsafe");
      Field instance = unsafe.getDeclaredField("theUnsafe");
      instance.setAccessible(true);
      return (Long) unsafe.getMethod("objectFieldOffset", Field.class).invoke(instance.get(null), field);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
