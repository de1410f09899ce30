package io.sluice.bench.run;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Starts the applications of one benchmark, which differ in nothing but their engine.
 *
 * @param user the user's {@code --conf} arguments
 */
public record Applications(SparkHome home, Workplace workplace, Site site, Map<String, String> user) {

  /** The same with these settings, where the user has none of that name. */
  public Applications with(Map<String, String> settings) {
    Map<String, String> all = new LinkedHashMap<>(settings);
    all.putAll(user);
    return new Applications(home, workplace, site, all);
  }

  /** A new application on {@code engine}, up and without any work done. */
  public Application start(Engine engine) {
    return Application.start(engine, home, workplace, site, user);
  }

  /** One per engine, in that order; none if one of them does not come up. */
  public Running startAll(List<Engine> engines) {
    Running running = new Running(new ArrayList<>());
    try {
      engines.forEach(engine -> running.all.add(start(engine)));
      return running;
    } catch (RuntimeException e) {
      running.close();
      throw e;
    }
  }

  /** Applications that are closed together. */
  public record Running(List<Application> all) implements AutoCloseable {
    @Override
    public void close() {
      all.forEach(Application::close);
    }
  }
}
