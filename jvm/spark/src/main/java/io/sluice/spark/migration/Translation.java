package io.sluice.spark.migration;

import io.sluice.spark.SluiceException;
import io.sluice.spark.conf.Setting;
import io.sluice.spark.conf.Settings;
import io.sluice.spark.conf.SluiceSettings;
import io.sluice.spark.migration.Mapping.Fate;
import io.sluice.spark.migration.SettingsFile.Part;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.SparkConf;

/**
 * A file of settings, translated: lines of predecessors' settings become comments, each below a comment that says why,
 * and the settings that take their place follow. All other lines stay as they were.
 */
final class Translation {
  static final String MANAGER_KEY = "spark.shuffle.manager";
  static final String PLUGINS_KEY = "spark.plugins";
  static final String MODE_KEY = "spark.sluice.mode";
  static final String MANAGER = "io.sluice.spark.SluiceShuffleManager";
  static final String PLUGIN = "io.sluice.spark.SluicePlugin";

  private final SettingsFile source;
  /** Of each setting, the part that Spark takes. */
  private final Map<String, Part> settings = new HashMap<>();
  private final Optional<Project> predecessor;
  /** Settings that take the place of others, in the order of the file, with the line that they come from. */
  private final Map<String, Assignment> assignments = new LinkedHashMap<>();
  private final Set<String> replaced = new HashSet<>();
  private final StringBuilder text = new StringBuilder();
  private final Report report = new Report();

  private record Assignment(String value, int line) {}

  private Translation(SettingsFile source) {
    this.source = source;
    source.parts().stream().filter(Part::isSetting).forEach(part -> settings.put(part.key(), part));
    this.predecessor =
        Optional.ofNullable(settings.get(MANAGER_KEY)).flatMap(part -> Project.ofManager(part.value()));
  }

  /** @throws SluiceException naming the line that is damaged, doubled, contradictory or out of range */
  static Translation of(byte[] bytes) {
    Translation translation = new Translation(SettingsFile.parse(bytes));
    translation.rejectDoubles();
    translation.source.parts().forEach(translation::translate);
    translation.check();
    Advice.add(translation.report, translation.settings, translation.predecessor);
    return translation;
  }

  String text() {
    return text.toString();
  }

  Report report() {
    return report;
  }

  /** Of settings that are neither a predecessor's nor Sluice's, Spark takes the last line; they stay as they are. */
  private void rejectDoubles() {
    Map<String, Integer> lines = new HashMap<>();
    for (Part part : source.parts()) {
      Integer before = part.isSetting() ? lines.put(part.key(), part.line()) : null;
      if (before != null && concernsUs(part.key())) {
        throw new SluiceException("line " + part.line() + ": " + part.key() + " is set in line " + before
            + " already; Spark takes the last one. Remove one of them");
      }
      if (before != null) {
        report.note(part.line(), part.key() + " is set in line " + before + " already; Spark takes the last one");
      }
    }
  }

  private static boolean concernsUs(String key) {
    return key.equals(MANAGER_KEY) || key.equals(PLUGINS_KEY) || key.startsWith(SluiceSettings.PREFIX)
        || Arrays.stream(Project.values()).anyMatch(project -> project.owns(key))
        || MigrationTable.of(key).filter(mapping -> mapping.fate() != Fate.STAYS).isPresent()
        || MigrationTable.all().stream().anyMatch(mapping -> mapping.target().equals(key));
  }

  private void translate(Part part) {
    if (!part.isSetting()) {
      text.append(part.text());
    } else if (part.key().equals(MANAGER_KEY) && predecessor.isPresent()) {
      replaceManager(part, predecessor.get());
    } else if (part.key().equals(PLUGINS_KEY) && predecessor.isPresent()) {
      addToPlugins(part);
    } else {
      MigrationTable.of(part.key()).filter(mapping -> mapping.concerns().test(part.value()))
          .filter(mapping -> mapping.fate() != Fate.STAYS)
          .ifPresentOrElse(mapping -> translate(part, mapping), () -> leave(part));
    }
  }

  private void leave(Part part) {
    text.append(part.text());
    report.left();
    boolean unknown = Arrays.stream(Project.values()).anyMatch(project -> project.owns(part.key()))
        && MigrationTable.of(part.key()).isEmpty();
    if (unknown) {
      report.unknown(part.line(), part.key());
    }
  }

  private void translate(Part part, Mapping mapping) {
    if (predecessor.isPresent() && hasManager(mapping.project()) && mapping.project() != predecessor.get()) {
      remove(part, "had no effect: spark.shuffle.manager was " + predecessor.get().title() + "'s.");
    } else if (mapping.fate() == Fate.TRANSLATED) {
      convert(part, mapping);
    } else {
      remove(part, mapping.fate().words() + ". " + mapping.why());
    }
  }

  private static boolean hasManager(Project project) {
    return !project.prefixes().isEmpty();
  }

  private void convert(Part part, Mapping mapping) {
    String value = converted(part, mapping);
    if (mapping.target().equals(part.key()) && value.equals(part.value())) {
      leave(part);
    } else if (value.isEmpty()) {
      remove(part, mapping.fate().words() + " nothing. " + mapping.why());
    } else {
      assign(part, mapping.target(), value, " " + mapping.why());
    }
  }

  private static String converted(Part part, Mapping mapping) {
    try {
      return mapping.conversion().of(part.value());
    } catch (IllegalArgumentException e) {
      throw new SluiceException("line " + part.line() + ": " + part.key() + " = \"" + part.value() + "\" cannot become "
          + mapping.target() + ": " + e.getMessage(), e);
    }
  }

  private void replaceManager(Part part, Project project) {
    assign(part, MANAGER_KEY, MANAGER, "");
    if (!settings.containsKey(PLUGINS_KEY)) {
      write(part, PLUGINS_KEY, PLUGIN);
    }
    if (!project.mode().isEmpty() && !settings.containsKey(MODE_KEY)) {
      write(part, MODE_KEY, project.mode());
    }
  }

  private void addToPlugins(Part part) {
    List<String> plugins = Arrays.stream(part.value().split(",")).map(String::trim).filter(name -> !name.isEmpty())
        .toList();
    if (plugins.contains(PLUGIN)) {
      leave(part);
    } else {
      String others = String.join(",", plugins);
      assign(part, PLUGINS_KEY, others.isEmpty() ? PLUGIN : others + "," + PLUGIN, "");
    }
  }

  /** In place of {@code part}; not a second time if another line has done it or does it. */
  private void assign(Part part, String target, String value, String why) {
    String place = "line " + part.line() + ": " + part.key() + " = \"" + part.value() + "\"";
    Part own = target.equals(part.key()) ? null : settings.get(target);
    Assignment before = own == null ? assignments.get(target) : new Assignment(own.value(), own.line());
    checkRange(target, value, place);
    if (before == null) {
      commentOut(part, (target.equals(part.key()) ? "changed." : "becomes " + target + ".") + why);
      write(part, target, value);
      report.translated();
    } else if (same(target, before.value, value)) {
      remove(part, "becomes " + target + ", as line " + before.line + " says already.");
    } else {
      throw new SluiceException(place + " becomes " + target + " = " + value + ", but line " + before.line
          + " says " + before.value + ". Remove one of them");
    }
  }

  private void write(Part part, String key, String value) {
    // The line before may be the file's last, without an end.
    endLine(part);
    text.append(key).append("  ").append(SettingsFile.escape(value)).append(part.lineEnd());
    assignments.put(key, new Assignment(value, part.line()));
  }

  private void remove(Part part, String why) {
    commentOut(part, why);
    report.commentedOut();
  }

  private void commentOut(Part part, String why) {
    text.append("# Sluice: ").append(why).append(part.lineEnd());
    part.lines().forEach(line -> text.append("# ").append(line));
    replaced.add(part.key());
  }

  private void endLine(Part part) {
    char last = text.charAt(text.length() - 1);
    if (last != '\n' && last != '\r') {
      text.append(part.lineEnd());
    }
  }

  private static void checkOwn(Part part) {
    String place = "line " + part.line() + ": ";
    Setting<?> setting = setting(part.key())
        .orElseThrow(() -> new SluiceException(place + "unknown setting " + part.key()));
    try {
      setting.parse(part.value());
    } catch (SluiceException e) {
      throw new SluiceException(place + e.getMessage(), e);
    }
  }

  private static boolean same(String key, String one, String other) {
    return one.equals(other)
        || setting(key).map(setting -> setting.parse(one).equals(setting.parse(other))).orElse(false);
  }

  private static void checkRange(String key, String value, String place) {
    try {
      setting(key).ifPresent(setting -> setting.parse(value));
    } catch (SluiceException e) {
      throw new SluiceException(place + " cannot be translated: " + e.getMessage(), e);
    }
  }

  private static Optional<Setting<?>> setting(String key) {
    return SluiceSettings.all().stream().filter(setting -> setting.key().equals(key)).findFirst();
  }

  /** Sluice accepts its own settings, those that the file had before included, and all others read as before. */
  private void check() {
    settings.values().stream().filter(part -> part.key().startsWith(SluiceSettings.PREFIX))
        .forEach(Translation::checkOwn);
    Properties result = SettingsFile.parse(text().getBytes(StandardCharsets.UTF_8)).settings();
    SparkConf ours = new SparkConf(false);
    result.stringPropertyNames().stream().filter(key -> key.startsWith(SluiceSettings.PREFIX))
        .forEach(key -> ours.set(key, result.getProperty(key)));
    Settings.from(ours);
    Properties expected = source.settings();
    replaced.forEach(expected::remove);
    assignments.forEach((key, assignment) -> expected.setProperty(key, assignment.value));
    if (!expected.equals(result)) {
      // Without the values, which may be secrets.
      Set<String> keys = new TreeSet<>(expected.stringPropertyNames());
      keys.addAll(result.stringPropertyNames());
      keys.removeIf(key -> Objects.equals(expected.getProperty(key), result.getProperty(key)));
      throw new IllegalStateException("the translation would be read with other values of " + keys);
    }
  }
}
