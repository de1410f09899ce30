package io.sluice.spark.memory;

import java.io.IOException;

/** Something of a task that can move memory to disk when its {@link TaskMemory} is short. */
public interface Spillable {
  /**
   * Gives back memory to the task's account. Called only on the thread that passed it to
   * {@link TaskMemory#setSpillable}, and never from inside itself.
   *
   * @param bytes how much is wanted; giving back more is fine
   * @return how much was given back; 0 when there is nothing to spill now
   */
  long spill(long bytes) throws IOException;
}
