package io.sluice.spark.memory;

import io.sluice.nativebridge.Lease;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * What one task holds: its open leases, and the quota it has reserved beside them. It only records them; {@link
 * TaskMemory} takes and gives back quota and memory. Any thread.
 */
final class TaskAccount {
  private final Set<Lease> leases = Collections.newSetFromMap(new IdentityHashMap<>());
  private final Set<Lease> residents = Collections.newSetFromMap(new IdentityHashMap<>());
  private long residentBytes;
  private long reservedBytes;
  private long heldBytes;
  private long peakBytes;
  private boolean closed;

  /** What was left when the account was closed. */
  record Remains(List<Lease> leases, long reservedBytes, long bytes) {}

  /** Adds quota that was taken; false, and no change, when the account is closed. */
  synchronized boolean addReserved(long bytes) {
    if (!closed) {
      reservedBytes += bytes;
      heldBytes += bytes;
      peakBytes = Math.max(peakBytes, heldBytes);
    }
    return !closed;
  }

  /** Takes out quota that will be given back. */
  synchronized void removeReserved(long bytes) {
    if (bytes > reservedBytes) {
      throw new IllegalStateException("gave back " + bytes + " bytes of " + reservedBytes + " reserved");
    }
    reservedBytes -= bytes;
    heldBytes -= bytes;
  }

  /** Turns reserved quota into a lease of as many bytes. */
  synchronized void addLease(Lease lease) {
    reservedBytes -= lease.bytes();
    leases.add(lease);
  }

  /** As {@link #addLease}, for memory that the task keeps for long. */
  synchronized void addResident(Lease lease) {
    addLease(lease);
    residents.add(lease);
    residentBytes += lease.bytes();
  }

  /** Takes a lease out; false when it is not in the account. */
  synchronized boolean remove(Lease lease) {
    boolean mine = leases.remove(lease);
    heldBytes -= mine ? lease.bytes() : 0;
    residentBytes -= residents.remove(lease) ? lease.bytes() : 0;
    return mine;
  }

  /** Turns a lease into reserved quota of as many bytes. */
  synchronized void leaseToReserved(Lease lease) {
    if (!leases.remove(lease)) {
      throw new IllegalStateException("not a lease of this task");
    }
    reservedBytes += lease.bytes();
  }

  synchronized long residentBytes() {
    return residentBytes;
  }

  synchronized long heldBytes() {
    return heldBytes;
  }

  synchronized long peakBytes() {
    return peakBytes;
  }

  /** Refuses new quota from now on, and says what is still there. */
  synchronized Remains close() {
    closed = true;
    return new Remains(new ArrayList<>(leases), reservedBytes, heldBytes);
  }
}
