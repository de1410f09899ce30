package io.sluice.bench.report;

import com.google.gson.JsonParseException;
import io.sluice.bench.protocol.Json;
import io.sluice.bench.run.Master;
import io.sluice.bench.run.Site;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * What {@code ./sluice perftest --json} wrote, and where.
 *
 * @param environment with the command
 * @param figures one per transport, size and load, in the order of the command
 */
public record PerftestResults(Environment environment, List<Figure> figures) {

  /**
   * One line of perftest's table; null where it measured nothing.
   *
   * @param transport as on its command line: {@code cma}, {@code shm}, {@code tcp}
   * @param size bytes of a block
   * @param window blocks asked for at once; null for {@code gets}
   * @param gets reads under way at once; null for {@code window}
   * @param mbPerS MB (10^6 bytes) a second
   * @param latencyUs microseconds of one block alone
   * @param ownerCpu processor seconds of the process that is read, per second
   * @param libraryMbPerS of UCX's own program
   * @param libraryLatencyUs likewise
   * @param ratioVsLibrary of the bandwidths
   * @param wireMbPerS without Sluice's protocol
   * @param ratioVsWire of the bandwidths
   */
  public record Figure(String transport, long size, Integer window, Integer gets, double mbPerS, double latencyUs,
      double ownerCpu, Double libraryMbPerS, Double libraryLatencyUs, Double ratioVsLibrary, Double wireMbPerS,
      Double ratioVsWire) {}

  /** What perftest wrote to {@code json} just now, called with {@code arguments}, on this machine. */
  public static PerftestResults of(Path json, List<String> arguments) throws IOException {
    Site site = Site.of(new Master("two processes", OptionalInt.empty(), 0));
    return new PerftestResults(Environment.here(arguments, site, Map.of(), 0, 0, null),
        Arrays.asList(Json.parse(Files.readString(json), Figure[].class)));
  }

  /**
   * The results in {@code file}.
   *
   * @throws IllegalArgumentException naming the file if it has none
   */
  public static PerftestResults read(Path file) {
    try {
      PerftestResults results = Json.parse(Files.readString(file), PerftestResults.class);
      if (results == null || results.environment() == null || results.figures() == null) {
        throw new IllegalArgumentException(file + ": not the JSON that ./sluice figures writes of perftest");
      }
      return results;
    } catch (IOException | JsonParseException e) {
      throw new IllegalArgumentException(file + ": cannot be read: " + e.getMessage(), e);
    }
  }
}
