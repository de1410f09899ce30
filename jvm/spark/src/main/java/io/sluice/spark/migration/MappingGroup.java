package io.sluice.spark.migration;

import io.sluice.spark.migration.Mapping.Fate;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Collects the mappings of settings whose names begin alike. */
final class MappingGroup {
  private final Project project;
  private final String prefix;
  private final List<Mapping> mappings = new ArrayList<>();

  MappingGroup(Project project, String prefix) {
    this.project = project;
    this.prefix = prefix;
  }

  MappingGroup to(String name, String target, Conversion conversion, String why) {
    mappings.add(new Mapping(project, prefix + name, Fate.TRANSLATED, target, conversion, why, value -> true));
    return this;
  }

  MappingGroup notNeeded(String why, String... names) {
    return add(Fate.NOT_NEEDED, value -> true, why, names);
  }

  /** Only where the value is one of {@code values}. */
  MappingGroup notNeeded(Predicate<String> values, String why, String name) {
    return add(Fate.NOT_NEEDED, values, why, name);
  }

  MappingGroup notSupported(String why, String... names) {
    return add(Fate.NOT_SUPPORTED, value -> true, why, names);
  }

  MappingGroup stays(String why, String... names) {
    return add(Fate.STAYS, value -> true, why, names);
  }

  private MappingGroup add(Fate fate, Predicate<String> concerns, String why, String... names) {
    for (String name : names) {
      mappings.add(new Mapping(project, prefix + name, fate, "", Conversion.SAME, why, concerns));
    }
    return this;
  }

  List<Mapping> mappings() {
    return mappings;
  }
}
