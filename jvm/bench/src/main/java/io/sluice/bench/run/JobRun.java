package io.sluice.bench.run;

import io.sluice.bench.protocol.JobTimes;
import io.sluice.bench.protocol.Json;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Runs a program of the user's once, as a Spark application of its own on Spark's shuffle, and says where the time of
 * its tasks went. Its planning is Spark's default, apart from the user's settings.
 *
 * @param jars that the program needs, on the class paths of driver and executors
 * @param arguments {@code class NAME ARGUMENT…} or {@code sql FILE}
 * @param limitMinutes after which the program is ended
 */
public record JobRun(List<Path> jars, List<String> arguments, Map<String, String> user, long limitMinutes) {

  private static final String NAME = "potential";

  /**
   * Runs it. After a failure its folder stays, because the executors' logs are in it.
   *
   * @throws EngineFailure if the program fails, or does not end in time
   */
  public JobTimes run(SparkHome home, Workplace workplace, Site site) {
    Path folder = workplace.run(NAME);
    Path log = workplace.logs().resolve("driver-" + NAME + ".log");
    Path times = folder.resolve("times.json");
    Path executorLogs = site.executorLogs() == null ? folder.resolve("work") : site.executorLogs();
    String logs = " (log: " + log + "; executors' logs: " + executorLogs + ")";
    try {
      Files.createDirectories(folder.resolve("local"));
      Files.createDirectories(workplace.logs());
      Files.createSymbolicLink(folder.resolve("jars"), home.jars());
      await(process(home, folder, times, workplace, site).redirectErrorStream(true).redirectOutput(log.toFile())
          .start(), logs);
      if (!Files.exists(times)) {
        throw new EngineFailure("the program has ended without an application of Spark of its own" + logs);
      }
      JobTimes measured = Json.parse(Files.readString(times), JobTimes.class);
      Application.delete(folder);
      return measured;
    } catch (IOException e) {
      throw new UncheckedIOException("the program cannot be run" + logs, e);
    }
  }

  private void await(Process process, String logs) {
    Thread closer = new Thread(process::destroy, "close-program");
    Runtime.getRuntime().addShutdownHook(closer);
    try {
      if (!process.waitFor(limitMinutes, TimeUnit.MINUTES)) {
        process.destroyForcibly();
        throw new EngineFailure("the program has not ended in " + limitMinutes + " minutes" + logs);
      }
      if (process.exitValue() != 0) {
        throw new EngineFailure("the program ended with " + process.exitValue() + logs);
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new EngineFailure("interrupted while the program ran");
    } finally {
      try {
        Runtime.getRuntime().removeShutdownHook(closer);
      } catch (IllegalStateException e) {
        // This process is ending, and the hook runs.
        process.destroy();
      }
    }
  }

  private ProcessBuilder process(SparkHome home, Path folder, Path times, Workplace workplace, Site site) {
    List<Path> all = new ArrayList<>(jars);
    all.add(workplace.benchJar());
    Path localDir = site.localDir() == null ? folder.resolve("local") : site.localDir();
    List<String> command = new ArrayList<>(site.driverCommand());
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx" + site.master().driverMemoryMib() + "m");
    command.addAll(JavaModules.options());
    command.add(SparkSettings.LOG_OPTION);
    settings(all, localDir, times, site).forEach((key, value) -> command.add("-D" + key + "=" + value));
    command.add("-cp");
    command.add(String.join(File.pathSeparator, all.stream().map(Path::toString).toList()) + File.pathSeparator
        + home.jars() + "/*");
    command.add("io.sluice.bench.driver.JobMain");
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    Map<String, String> environment = builder.environment();
    // A Spark installation of the user must not affect the measurement.
    environment.keySet().removeIf(name -> name.startsWith("SPARK_"));
    environment.put("SPARK_HOME", folder.toString());
    environment.put("SPARK_SCALA_VERSION", home.scalaVersion());
    environment.put("SPARK_LOCAL_IP", "127.0.0.1");
    return builder;
  }

  private Map<String, String> settings(List<Path> all, Path localDir, Path times, Site site) {
    Map<String, String> settings =
        new LinkedHashMap<>(SparkSettings.of(Engine.STOCK, site, all, localDir, user));
    SparkSettings.ownKeys(user).forEach(settings::remove);
    settings.put("spark.app.name", "sluice-bench-" + NAME);
    settings.put("spark.shuffle.manager", "io.sluice.bench.driver.TimedShuffle");
    settings.put("spark.plugins", "io.sluice.bench.driver.TimedShufflePlugin");
    settings.put("spark.sluicebench.timesFile", times.toString());
    return settings;
  }
}
