package io.sluice.spark.transport;

import io.sluice.spark.SluiceException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The driver's answer to a heartbeat: the changes of the application's other executors since the last one.
 *
 * @param sequence of this update, for the next heartbeat
 * @param announced addresses by executor id
 * @param gone executors that must not be read any more
 */
public record PeerUpdate(long sequence, Map<String, byte[]> announced, List<String> gone) {
  public boolean isEmpty() {
    return announced.isEmpty() && gone.isEmpty();
  }

  /**
   * The update in the JDK's classes alone: an executor's RPC may read answers with a class loader that does not know
   * jars which were added to the application ({@code --jars}).
   */
  public Object[] toWire() {
    return new Object[] {sequence, new HashMap<>(announced), new ArrayList<>(gone)};
  }

  /** The opposite of {@link #toWire}. */
  @SuppressWarnings("unchecked") // The driver is of the same version.
  static PeerUpdate ofWire(Object answer) {
    if (!(answer instanceof Object[] parts) || parts.length != 3) {
      throw new SluiceException("the driver's plugin does not know this executor's heartbeat: it answered " + answer);
    }
    return new PeerUpdate((Long) parts[0], (Map<String, byte[]>) parts[1], (List<String>) parts[2]);
  }
}
