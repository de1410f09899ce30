package io.sluice.spark.store;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * How much of what iterative jobs read is in memory, by the order in which outputs move: the one that {@link
 * CachedOutputs} has, the oldest first without return, and the one that knows the future. The traces are generated from
 * the jobs' stages: which shuffle each makes and reads. {@code bench/results/cache-order.md} equals the result; {@code
 * -Dsluice.writeDocs=true} writes it.
 */
class MoveOrderTracesTest {
  private static final Path PAGE = Path.of(System.getProperty("sluice.repository"), "bench", "results",
      "cache-order.md");
  private static final long MIB = 1 << 20;
  private static final int ITERATIONS = 20;

  /** An output is made (with its bytes), or all of a shuffle's are read by a stage (bytes are 0). */
  private record Event(int shuffle, int map, long bytes, long stage) {}

  /** What happens to the map outputs of one executor. */
  private static final class Trace {
    private final List<Event> events = new ArrayList<>();
    private final Map<Integer, TreeSet<Integer>> reads = new HashMap<>();
    private int shuffles;
    private long stages;

    int make(int outputs, long mib) {
      shuffles++;
      for (int map = 0; map < outputs; map++) {
        events.add(new Event(shuffles, map, mib * MIB, 0));
      }
      return shuffles;
    }

    /** Where a shuffle is read next. */
    int nextRead(int from, int shuffle) {
      Integer at = reads.getOrDefault(shuffle, new TreeSet<>()).ceiling(from);
      return at == null ? Integer.MAX_VALUE : at;
    }

    /** One stage reads some shuffles. */
    void read(int... read) {
      stages++;
      for (int shuffle : read) {
        reads.computeIfAbsent(shuffle, first -> new TreeSet<>()).add(events.size());
        events.add(new Event(shuffle, 0, 0, stages));
      }
    }
  }

  /** Links are read in every iteration, together with the ranks of the one before. */
  private static Trace pageRank() {
    Trace trace = new Trace();
    int links = trace.make(12, 50);
    trace.read(links);
    int ranks = trace.make(12, 15);
    for (int i = 0; i < ITERATIONS; i++) {
      trace.read(links, ranks);
      ranks = trace.make(12, 15);
    }
    trace.read(ranks);
    return trace;
  }

  /** Ratings by user and by item are read in turn, each with the other's factors. */
  private static Trace als() {
    Trace trace = new Trace();
    int byUser = trace.make(8, 60);
    int byItem = trace.make(8, 40);
    trace.read(byUser);
    int userFactors = trace.make(8, 10);
    for (int i = 0; i < ITERATIONS; i++) {
      trace.read(byItem, userFactors);
      int itemFactors = trace.make(8, 10);
      trace.read(byUser, itemFactors);
      userFactors = trace.make(8, 10);
    }
    trace.read(userFactors);
    return trace;
  }

  /** Points are read in every iteration; in between other queries shuffle more than fits. */
  private static Trace kMeans() {
    Trace trace = new Trace();
    int points = trace.make(16, 50);
    for (int i = 0; i < ITERATIONS; i++) {
      trace.read(points);
      int sums = trace.make(16, 1);
      trace.read(sums);
      if (i % 6 == 5) {
        int other = trace.make(16, 50);
        trace.read(other);
      }
    }
    return trace;
  }

  /** Queries one after another, each of whose shuffles is read once. */
  private static Trace queries() {
    Trace trace = new Trace();
    for (int i = 0; i < 3 * ITERATIONS; i++) {
      int scan = trace.make(8, 30);
      int other = trace.make(8, 5 + i % 7);
      trace.read(scan, other);
      int joined = trace.make(8, 10);
      trace.read(joined);
    }
    return trace;
  }

  /** What a policy has done. */
  private static final class Result {
    private long readBytes;
    private long hitBytes;
    private long movedBytes;
    private long returnedBytes;

    double hitRate() {
      return (double) hitBytes / readBytes;
    }
  }

  /** The product's states and order, with copies that take no time. */
  private static Result ours(Trace trace, long limit) {
    CachedOutputs cache = new CachedOutputs(limit, Long.MAX_VALUE);
    Map<Integer, List<CachedOutput>> outputs = new HashMap<>();
    Result result = new Result();
    for (Event event : trace.events) {
      if (event.bytes > 0) {
        CachedOutputs.Room room = cache.reserve(event.shuffle, event.bytes);
        while (room.toMove() != null) {
          move(cache, room.toMove(), result);
          room = cache.reserve(event.shuffle, event.bytes);
        }
        assertTrue(room.granted());
        CachedOutput output =
            new CachedOutput(event.shuffle, event.map, cache.nextNumber(), null, event.bytes);
        assertTrue(cache.commit(output, event.bytes));
        outputs.computeIfAbsent(event.shuffle, shuffle -> new ArrayList<>()).add(output);
      } else {
        cache.read(event.shuffle, event.stage);
        for (CachedOutput output : outputs.get(event.shuffle)) {
          result.readBytes += output.memoryCharge();
          result.hitBytes += output.state() == OutputState.IN_MEMORY ? output.memoryCharge() : 0;
        }
        CachedOutputs.Copy copy = cache.nextCopy();
        while (copy != null) {
          if (copy.toDisk()) {
            move(cache, copy.output(), result);
          } else {
            result.returnedBytes += copy.output().memoryCharge();
            cache.returned(copy.output());
          }
          copy = cache.nextCopy();
        }
      }
      assertTrue(cache.usedBytes() <= limit);
    }
    return result;
  }

  private static void move(CachedOutputs cache, CachedOutput output, Result result) {
    result.movedBytes += output.diskFile() == null ? output.memoryCharge() : 0;
    cache.moved(output, new File("moved"));
  }

  /** The order before: the oldest shuffle's outputs first, and nothing comes back. */
  private static Result oldestFirst(Trace trace, long limit) {
    TreeMap<Long, Long> inMemory = new TreeMap<>();
    Result result = new Result();
    long used = 0;
    Map<Integer, Map<Long, Long>> all = new HashMap<>();
    for (Event event : trace.events) {
      long key = (long) event.shuffle << Integer.SIZE | event.map;
      if (event.bytes > 0) {
        while (used + event.bytes > limit) {
          long moved = inMemory.pollFirstEntry().getValue();
          used -= moved;
          result.movedBytes += moved;
        }
        used += event.bytes;
        inMemory.put(key, event.bytes);
        all.computeIfAbsent(event.shuffle, shuffle -> new HashMap<>()).put(key, event.bytes);
      } else {
        all.get(event.shuffle).forEach((output, bytes) -> {
          result.readBytes += bytes;
          result.hitBytes += inMemory.containsKey(output) ? bytes : 0;
        });
      }
    }
    return result;
  }

  /**
   * Knows the future: what is never read again leaves at once, and what is read latest before others; what a stage
   * reads comes back at once and at no cost if it is wanted before something that is in memory; and room that is free
   * takes what is read soonest.
   */
  private static Result oracle(Trace trace, long limit) {
    Map<Long, Long> inMemory = new LinkedHashMap<>();
    Map<Integer, Map<Long, Long>> all = new HashMap<>();
    Result result = new Result();
    for (int at = 0; at < trace.events.size(); at++) {
      Event event = trace.events.get(at);
      long key = (long) event.shuffle << Integer.SIZE | event.map;
      if (event.bytes > 0) {
        all.computeIfAbsent(event.shuffle, shuffle -> new HashMap<>()).put(key, event.bytes);
        inMemory.put(key, event.bytes);
      } else {
        all.get(event.shuffle).forEach((output, bytes) -> {
          result.readBytes += bytes;
          result.hitBytes += inMemory.putIfAbsent(output, bytes) != null ? bytes : 0;
        });
      }
      int from = at + 1;
      inMemory.keySet().removeIf(output -> trace.nextRead(from, (int) (output >> Integer.SIZE)) == Integer.MAX_VALUE);
      long used = inMemory.values().stream().mapToLong(Long::longValue).sum();
      while (used > limit) {
        long latest = -1;
        int latestUse = -1;
        for (long output : inMemory.keySet()) {
          int next = trace.nextRead(from, (int) (output >> Integer.SIZE));
          if (next > latestUse) {
            latest = output;
            latestUse = next;
          }
        }
        used -= inMemory.remove(latest);
      }
      fill(inMemory, limit - used, all, trace, from);
    }
    return result;
  }

  /** Brings what is read soonest from {@code from} on into {@code free} bytes. */
  private static void fill(
      Map<Long, Long> inMemory, long free, Map<Integer, Map<Long, Long>> all, Trace trace, int from) {
    List<Integer> wanted = all.keySet().stream().filter(shuffle -> trace.nextRead(from, shuffle) != Integer.MAX_VALUE)
        .sorted(Comparator.comparingInt(shuffle -> trace.nextRead(from, shuffle))).toList();
    for (int shuffle : wanted) {
      for (Map.Entry<Long, Long> output : all.get(shuffle).entrySet()) {
        if (output.getValue() <= free && inMemory.putIfAbsent(output.getKey(), output.getValue()) == null) {
          free -= output.getValue();
        }
      }
    }
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  @Test
  void whatIsReadAgainIsInMemoryMoreOftenThanWithTheOldestFirst() throws IOException {
    Map<String, Trace> traces = new LinkedHashMap<>();
    traces.put("PageRank", pageRank());
    traces.put("ALS", als());
    traces.put("k-means beside queries", kMeans());
    traces.put("queries", queries());
    List<Executable> claims = new ArrayList<>();
    StringBuilder page = new StringBuilder("""
        # Which map outputs are in memory when they are read

        Generated by `MoveOrderTracesTest`, which holds this page equal to what `CachedOutputs` does: a simulation of
        one executor, without any file. Each trace is the sequence of a job's stages, with shuffles that are retained:
        PageRank (12 outputs of links of 50 MiB, 20 iterations with ranks of 15 MiB), ALS (8 outputs of 60 MiB and 8 of
        40 MiB, read in turn), k-means (16 outputs of points of 50 MiB, and in between three other queries that shuffle
        800 MiB), and 60 queries all of whose shuffles are read once. A hit is a byte that is in memory when a stage
        reads it. The oracle knows the future and copies at no cost: what is read latest leaves first, and free room
        takes what is read soonest. The oldest first, without return, is what Sluice did before. Moved and back: MiB
        copied to the disk and to memory.

        | trace | limit | hits | oldest first | oracle | moved | back | moved, oldest first |
        | --- | --- | --- | --- | --- | --- | --- | --- |
        """);
    for (Map.Entry<String, Trace> trace : traces.entrySet()) {
      for (long mib : new long[] {400, 700, 1000}) {
        Result ours = ours(trace.getValue(), mib * MIB);
        Result oldest = oldestFirst(trace.getValue(), mib * MIB);
        Result oracle = oracle(trace.getValue(), mib * MIB);
        assertEquals(oracle.readBytes, ours.readBytes);
        assertEquals(oracle.readBytes, oldest.readBytes);
        page.append("| ").append(trace.getKey()).append(" | ").append(mib).append(" MiB | ")
            .append(percent(ours.hitRate())).append(" | ").append(percent(oldest.hitRate())).append(" | ")
            .append(percent(oracle.hitRate())).append(" | ").append(ours.movedBytes / MIB).append(" | ")
            .append(ours.returnedBytes / MIB).append(" | ").append(oldest.movedBytes / MIB).append(" |\n");
        String what = trace.getKey() + " in " + mib + " MiB: " + percent(ours.hitRate());
        claims.add(() -> assertTrue(ours.hitRate() >= oldest.hitRate() - 0.001,
            what + ", oldest first " + percent(oldest.hitRate())));
        claims.add(() -> assertTrue(ours.hitRate() <= oracle.hitRate(), what + " is more than the oracle's"));
        claims.add(
            () -> assertTrue(ours.hitRate() >= 0.7 * oracle.hitRate(), what + ", oracle " + percent(oracle.hitRate())));
      }
    }
    if (Boolean.getBoolean("sluice.writeDocs")) {
      Files.writeString(PAGE, page.toString());
    }
    assertAll(claims);
    assertEquals(Files.readString(PAGE), page.toString(), "write the page with -Dsluice.writeDocs=true");
  }
}
