package io.sluice.spark.ui;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.util.kvstore.KVStore;
import org.apache.spark.util.kvstore.KVStoreIterator;

/** Sluice's rows in Spark's store of an application. Any thread. */
final class StatusStore {
  private final KVStore store;

  StatusStore(KVStore store) {
    this.store = store;
  }

  ApplicationRow application() {
    ApplicationRow known = read(ApplicationRow.class, ApplicationRow.KEY);
    return known == null ? ApplicationRow.empty() : known;
  }

  /** Whether there is anything of Sluice in the store. */
  boolean hasApplication() {
    return read(ApplicationRow.class, ApplicationRow.KEY) != null;
  }

  /** Null if the store has not got it. */
  ShuffleRow shuffle(int shuffleId) {
    return read(ShuffleRow.class, shuffleId);
  }

  /** Null if the store has not got it. */
  ExecutorRow executor(String executorId) {
    return read(ExecutorRow.class, executorId);
  }

  /** Null if the store has not got it; {@code stage} as {@code stage.attempt}. */
  StageTimeline timeline(String stage) {
    return read(StageTimeline.class, stage);
  }

  /** By ascending number. */
  List<ShuffleRow> shuffles() {
    return all(ShuffleRow.class);
  }

  List<ExecutorRow> executors() {
    return all(ExecutorRow.class);
  }

  /** Spark's stores declare to throw anything. */
  private <T> T read(Class<T> type, Object key) {
    try {
      return store.read(type, key);
    } catch (NoSuchElementException absent) {
      return null;
    } catch (Exception e) {
      throw failed("reading " + key + " of " + type.getSimpleName(), e);
    }
  }

  private <T> List<T> all(Class<T> type) {
    List<T> rows = new ArrayList<>();
    try (KVStoreIterator<T> iterator = store.view(type).closeableIterator()) {
      while (iterator.hasNext()) {
        rows.add(iterator.next());
      }
      return rows;
    } catch (Exception e) {
      throw failed("reading every " + type.getSimpleName(), e);
    }
  }

  void write(Object row) {
    try {
      store.write(row);
    } catch (Exception e) {
      throw failed("writing a " + row.getClass().getSimpleName(), e);
    }
  }

  void delete(Class<?> type, Object key) {
    try {
      store.delete(type, key);
    } catch (NoSuchElementException absent) {
      // It need not be there.
    } catch (Exception e) {
      throw failed("deleting " + key + " of " + type.getSimpleName(), e);
    }
  }

  private static IllegalStateException failed(String what, Exception e) {
    return new IllegalStateException(what + " in Spark's store of the application failed", e);
  }
}
