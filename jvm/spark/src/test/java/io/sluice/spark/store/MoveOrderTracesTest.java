package io.sluice.spark.store;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * How much of what iterative jobs read is in memory, by the order in which outputs move: the one that {@link
 * CachedOutputs} has, the oldest first without return, and the one that knows the future. Some traces were recorded
 * from jobs ({@code bench/traces}); others are generated from the stages of larger ones: which shuffle each makes and
 * reads. {@code bench/results/cache-order.md} equals the result; {@code -Dsluice.writeDocs=true} writes it.
 */
class MoveOrderTracesTest {
  private static final Path PAGE = Path.of(System.getProperty("sluice.repository"), "bench", "results",
      "cache-order.md");
  private static final long MIB = 1 << 20;
  private static final int ITERATIONS = 20;

  private static final long KIB = 1 << 10;

  /**
   * An output is made (with its bytes), all of a shuffle's are read by a stage (bytes are 0), or all are removed (bytes
   * are {@link #REMOVED}).
   */
  private record Event(int shuffle, int map, long bytes, long stage) {
    static final long REMOVED = -1;

    boolean makes() {
      return bytes > 0;
    }

    boolean removes() {
      return bytes == REMOVED;
    }

    long key() {
      return (long) shuffle << Integer.SIZE | map;
    }
  }

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

    /** The trace that {@code RecordedShuffle} has written of a job. */
    static Trace recorded(String job) throws IOException {
      Trace trace = new Trace();
      try (InputStream file = MoveOrderTracesTest.class.getResourceAsStream("traces/" + job + ".txt.gz");
          BufferedReader lines =
              new BufferedReader(new InputStreamReader(new GZIPInputStream(file), StandardCharsets.UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          trace.add(line.split(" "));
        }
      }
      return trace;
    }

    private void add(String[] event) {
      int shuffle = Integer.parseInt(event[1]);
      switch (event[0]) {
        case "c" -> {
          long bytes = Long.parseLong(event[3]);
          if (bytes > 0) {
            events.add(new Event(shuffle, Integer.parseInt(event[2]), bytes, 0));
          }
        }
        case "r" -> {
          reads.computeIfAbsent(shuffle, first -> new TreeSet<>()).add(events.size());
          // Stages count from 0, and 0 stands for none here.
          events.add(new Event(shuffle, 0, 0, 1 + Long.parseLong(event[2])));
        }
        case "d" -> events.add(new Event(shuffle, 0, Event.REMOVED, 0));
        default -> throw new IllegalArgumentException(event[0]);
      }
    }

    /** The most bytes of outputs that were there at once. */
    long peakBytes() {
      Map<Integer, Long> there = new HashMap<>();
      long peak = 0;
      for (Event event : events) {
        if (event.makes()) {
          there.merge(event.shuffle, event.bytes, Long::sum);
          peak = Math.max(peak, there.values().stream().mapToLong(Long::longValue).sum());
        } else if (event.removes()) {
          there.remove(event.shuffle);
        }
      }
      return peak;
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
      if (event.makes()) {
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
      } else if (event.removes()) {
        cache.removeShuffle(event.shuffle).forEach(cache::freed);
        outputs.remove(event.shuffle);
      } else {
        cache.read(event.shuffle, event.stage);
        for (CachedOutput output : outputs.getOrDefault(event.shuffle, List.of())) {
          result.readBytes += output.memoryCharge();
          result.hitBytes += output.state() == OutputState.IN_MEMORY ? output.memoryCharge() : 0;
        }
        copyAll(cache, result);
      }
      assertTrue(cache.usedBytes() <= limit);
    }
    return result;
  }

  private static void copyAll(CachedOutputs cache, Result result) {
    for (CachedOutputs.Copy copy = cache.nextCopy(); copy != null; copy = cache.nextCopy()) {
      if (copy.toDisk()) {
        move(cache, copy.output(), result);
      } else {
        result.returnedBytes += copy.output().memoryCharge();
        cache.returned(copy.output());
      }
    }
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
      long key = event.key();
      if (event.makes()) {
        while (used + event.bytes > limit) {
          long moved = inMemory.pollFirstEntry().getValue();
          used -= moved;
          result.movedBytes += moved;
        }
        used += event.bytes;
        inMemory.put(key, event.bytes);
        all.computeIfAbsent(event.shuffle, shuffle -> new HashMap<>()).put(key, event.bytes);
      } else if (event.removes()) {
        for (long output : removed(all, event)) {
          Long bytes = inMemory.remove(output);
          used -= bytes == null ? 0 : bytes;
        }
      } else {
        all.getOrDefault(event.shuffle, Map.of()).forEach((output, bytes) -> {
          result.readBytes += bytes;
          result.hitBytes += inMemory.containsKey(output) ? bytes : 0;
        });
      }
    }
    return result;
  }

  private static Set<Long> removed(Map<Integer, Map<Long, Long>> all, Event event) {
    Map<Long, Long> outputs = all.remove(event.shuffle);
    return outputs == null ? Set.of() : outputs.keySet();
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
      long key = event.key();
      if (event.makes()) {
        all.computeIfAbsent(event.shuffle, shuffle -> new HashMap<>()).put(key, event.bytes);
        inMemory.put(key, event.bytes);
      } else if (event.removes()) {
        removed(all, event).forEach(inMemory::remove);
      } else {
        all.getOrDefault(event.shuffle, Map.of()).forEach((output, bytes) -> {
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

  /** The row of a trace in a page, and what must hold of it. */
  private static String row(String name, Trace trace, long limit, String limitText, long unit,
      List<Executable> claims) {
    Result ours = ours(trace, limit);
    Result oldest = oldestFirst(trace, limit);
    Result oracle = oracle(trace, limit);
    assertEquals(oracle.readBytes, ours.readBytes);
    assertEquals(oracle.readBytes, oldest.readBytes);
    String what = name + " in " + limitText + ": " + percent(ours.hitRate());
    claims.add(() -> assertTrue(ours.hitRate() >= oldest.hitRate() - 0.001,
        what + ", oldest first " + percent(oldest.hitRate())));
    claims.add(() -> assertTrue(ours.hitRate() <= oracle.hitRate(), what + " is more than the oracle's"));
    claims.add(
        () -> assertTrue(ours.hitRate() >= 0.7 * oracle.hitRate(), what + ", oracle " + percent(oracle.hitRate())));
    return "| " + name + " | " + limitText + " | " + percent(ours.hitRate()) + " | " + percent(oldest.hitRate()) + " | "
        + percent(oracle.hitRate()) + " | " + ours.movedBytes / unit + " | " + ours.returnedBytes / unit + " | "
        + oldest.movedBytes / unit + " |\n";
  }

  @Test
  void whatIsReadAgainIsInMemoryMoreOftenThanWithTheOldestFirst() throws IOException {
    List<Executable> claims = new ArrayList<>();
    StringBuilder page = new StringBuilder("""
        # Which map outputs are in memory when they are read

        Generated by `MoveOrderTracesTest`, which holds this page equal to what `CachedOutputs` does: a simulation of
        one executor, without any file. A hit is a byte that is in memory when a stage
        reads it. The oracle knows the future and copies at no cost: what is read latest leaves first, and free room
        takes what is read soonest. The oldest first, without return, is what Sluice did before.

        ## Traces of jobs

        What `RecordedShuffle`, a shuffle manager of the benchmarks, has written down of four jobs in Spark 4.2.0, in
        one process of two cores: each map output with its bytes as it was committed, each shuffle when a stage began to
        read it, and when it was removed (`bench/traces`, 27 November 2026; the driver collected its garbage every five
        seconds). PageRank (40,000 nodes, 400,000 links, 15 iterations) and k-means (200,000 points of eight axes, 12
        iterations) are the programs of Spark's examples without their `cache()`, so that links and points are read
        from their shuffle in each iteration; ALS (600,000 ratings, rank 20, 10 iterations) and the second k-means are
        MLlib's, which caches what it reads again, so that each of its shuffles is read once. The limit is a part of the
        most bytes that were there at once. Moved and back: KiB copied to the disk and to memory.

        | job | limit | hits | oldest first | oracle | moved | back | moved, oldest first |
        | --- | --- | --- | --- | --- | --- | --- | --- |
        """);
    Map<String, String> jobs = new LinkedHashMap<>();
    jobs.put("page-rank", "PageRank");
    jobs.put("k-means", "k-means");
    jobs.put("als", "ALS of MLlib");
    jobs.put("k-means-mllib", "k-means of MLlib");
    for (Map.Entry<String, String> job : jobs.entrySet()) {
      Trace trace = Trace.recorded(job.getKey());
      for (int percent : new int[] {40, 60, 80}) {
        long limit = trace.peakBytes() * percent / 100;
        String limitText = percent + " %, " + limit / KIB + " KiB";
        page.append(row(job.getValue(), trace, limit, limitText, KIB, claims));
      }
    }
    page.append("""

        ## Traces of larger jobs, made up

        Each is the sequence of a job's stages, with shuffles that are retained:
        PageRank (12 outputs of links of 50 MiB, 20 iterations with ranks of 15 MiB), ALS (8 outputs of 60 MiB and 8 of
        40 MiB, read in turn), k-means (16 outputs of points of 50 MiB, and in between three other queries that shuffle
        800 MiB), and 60 queries all of whose shuffles are read once. Moved and back: MiB.

        | trace | limit | hits | oldest first | oracle | moved | back | moved, oldest first |
        | --- | --- | --- | --- | --- | --- | --- | --- |
        """);
    Map<String, Trace> traces = new LinkedHashMap<>();
    traces.put("PageRank", pageRank());
    traces.put("ALS", als());
    traces.put("k-means beside queries", kMeans());
    traces.put("queries", queries());
    for (Map.Entry<String, Trace> trace : traces.entrySet()) {
      for (long mib : new long[] {400, 700, 1000}) {
        page.append(row(trace.getKey(), trace.getValue(), mib * MIB, mib + " MiB", MIB, claims));
      }
    }
    if (Boolean.getBoolean("sluice.writeDocs")) {
      Files.writeString(PAGE, page.toString());
    }
    assertAll(claims);
    assertEquals(Files.readString(PAGE), page.toString(), "write the page with -Dsluice.writeDocs=true");
  }
}
