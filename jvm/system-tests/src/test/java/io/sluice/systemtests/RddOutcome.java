package io.sluice.systemtests;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import scala.Tuple2;

/** What a job gave: the records of each partition, or the exception that it failed with. */
final class RddOutcome {
  /** How far stock defines where records are. */
  enum Defined {
    /** Each has its place in its partition. */
    PLACES,
    /** Those of the same place among the keys are in any order. */
    PLACES_OF_KEYS, PARTITIONS, NOTHING
  }

  private static final String NO_ORDER = "Comparison method violates its general contract!";

  /** Of each partition: the places of the keys, and the records as text. Null if the job failed. */
  private final List<List<Tuple2<String, String>>> partitions;
  /** The innermost exception; null if there was none. */
  private final String failure;

  private RddOutcome(List<List<Tuple2<String, String>>> partitions, String failure) {
    this.partitions = partitions;
    this.failure = failure;
  }

  static RddOutcome of(Supplier<List<List<Tuple2<String, String>>>> job) {
    try {
      return new RddOutcome(job.get(), null);
    } catch (Exception e) {
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      // The JVM writes a message of its own, about the code that met the null.
      String message = cause instanceof NullPointerException ? "" : ": " + cause.getMessage();
      return new RddOutcome(null, cause.getClass().getName() + message);
    }
  }

  boolean failed() {
    return failure != null;
  }

  /** Whether sorting found out that a comparator is none, which depends on what it is asked. */
  boolean foundNoOrder() {
    return failed() && failure.contains(NO_ORDER);
  }

  /** The first thing in which {@code sluices} is not as this, stock's; empty if there is none. */
  Optional<String> difference(RddOutcome sluices, Defined defined) {
    List<String> expected = comparable(defined);
    List<String> actual = sluices.comparable(defined);
    for (int i = 0; i < Math.max(expected.size(), actual.size()); i++) {
      String ours = i < actual.size() ? actual.get(i) : "nothing";
      String theirs = i < expected.size() ? expected.get(i) : "nothing";
      if (!ours.equals(theirs)) {
        return Optional.of("of " + expected.size() + " lines on stock and " + actual.size() + " on Sluice, line " + i
            + " is " + theirs + " on stock, and on Sluice " + ours);
      }
    }
    return Optional.empty();
  }

  private List<String> comparable(Defined defined) {
    if (failed()) {
      return Collections.singletonList(failure);
    }
    List<String> all = new ArrayList<>();
    for (int partition = 0; partition < partitions.size(); partition++) {
      List<String> texts = texts(partitions.get(partition), defined);
      all.add(defined == Defined.NOTHING ? "" : "partition " + partition + ": " + texts.size());
      all.addAll(texts);
    }
    if (defined == Defined.NOTHING) {
      Collections.sort(all);
    }
    return all;
  }

  private static List<String> texts(List<Tuple2<String, String>> records, Defined defined) {
    if (defined == Defined.PLACES_OF_KEYS) {
      return sortedWithinPlaces(records);
    }
    List<String> texts = records.stream().map(Tuple2::_2).collect(Collectors.toList());
    if (defined != Defined.PLACES) {
      Collections.sort(texts);
    }
    return texts;
  }

  private static List<String> sortedWithinPlaces(List<Tuple2<String, String>> records) {
    List<String> texts = new ArrayList<>();
    int start = 0;
    for (int i = 0; i < records.size(); i++) {
      texts.add(records.get(i)._2());
      if (i + 1 == records.size() || !records.get(i + 1)._1().equals(records.get(start)._1())) {
        Collections.sort(texts.subList(start, i + 1));
        start = i + 1;
      }
    }
    return texts;
  }

  @Override
  public String toString() {
    return failed() ? failure : partitions.stream().mapToInt(List::size).sum() + " records";
  }
}
