package io.sluice.spark.migration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.spark.conf.Setting;
import io.sluice.spark.conf.SluiceSettings;
import io.sluice.spark.migration.Mapping.Fate;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code -Dsluice.writeDocs=true} writes {@code docs/migration.md}. */
class MigrationTableTest {
  private static final List<String> LISTS = List.of("rapids", "sparkrdma", "sparkucx", "ucx", "seeds");
  private static final Path PAGE = Path.of(System.getProperty("sluice.repository"), "docs", "migration.md");

  private static Set<String> listed(String list) throws IOException {
    try (InputStream in = MigrationTableTest.class.getResourceAsStream("/migration/" + list + ".txt")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#")).collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private static Set<String> inTable() {
    return MigrationTable.all().stream().map(Mapping::key).collect(Collectors.toCollection(TreeSet::new));
  }

  @ParameterizedTest
  @ValueSource(strings = {"rapids", "sparkrdma", "sparkucx", "ucx", "seeds"})
  void everyListedSettingIsInTheTable(String list) throws IOException {
    Set<String> missing = listed(list);
    assertTrue(missing.size() > 5, "the list is there");
    missing.removeAll(inTable());
    assertEquals(Set.of(), missing);
  }

  @Test
  void everySettingOfTheTableIsListed() throws IOException {
    Set<String> unlisted = inTable();
    for (String list : LISTS) {
      unlisted.removeAll(listed(list));
    }
    assertEquals(Set.of(), unlisted);
  }

  @Test
  void noSettingIsTwiceInTheTable() {
    assertEquals(MigrationTable.all().size(), inTable().size());
  }

  @Test
  void settingsOfSluiceThatTheTableNamesExist() {
    Set<String> known = SluiceSettings.all().stream().map(Setting::key).collect(Collectors.toSet());
    Set<String> named = new TreeSet<>();
    MigrationTable.all().forEach(mapping -> named.addAll(sluiceKeys(mapping.target() + " " + mapping.why())));
    named.addAll(sluiceKeys(MigrationReference.markdown()));
    assertFalse(named.isEmpty());
    named.removeAll(known);
    assertEquals(Set.of(), named);
  }

  private static List<String> sluiceKeys(String text) {
    return Pattern.compile("spark\\.sluice\\.[A-Za-z.]*[A-Za-z]").matcher(text).results().map(MatchResult::group)
        .toList();
  }

  @Test
  void onlyTranslatedSettingsHaveATargetAndAllHaveAReason() {
    MigrationTable.all().forEach(mapping -> {
      assertEquals(mapping.fate() == Fate.TRANSLATED, !mapping.target().isEmpty(), mapping.key());
      assertTrue(mapping.why().endsWith(".") && !mapping.why().contains("|") && !mapping.why().contains("\n"),
          mapping.key());
    });
  }

  @ParameterizedTest
  @CsvSource({
    "com.nvidia.spark.rapids.spark320.RapidsShuffleManager, RAPIDS",
    "com.nvidia.spark.rapids.spark321db.RapidsShuffleManager, RAPIDS",
    "com.nvidia.spark.rapids.spark321cdh.RapidsShuffleManager, RAPIDS",
    "com.nvidia.spark.RapidsShuffleManager, RAPIDS",
    "org.apache.spark.shuffle.rdma.RdmaShuffleManager, SPARK_RDMA",
    "org.apache.spark.shuffle.UcxShuffleManager, SPARK_UCX",
    "org.apache.spark.shuffle.ucx.UcxShuffleManager, SPARK_UCX",
    "org.apache.spark.shuffle.compat.spark_3_0.UcxShuffleManager, SPARK_UCX",
    "org.apache.spark.shuffle.sort.SortShuffleManager,",
    "sort,",
    "'',",
    "io.sluice.spark.SluiceShuffleManager,",
  })
  void managersAreKnownByTheirClass(String className, Project project) {
    assertEquals(project, Project.ofManager(className).orElse(null));
  }

  @Test
  void pageEqualsTheTable() throws IOException {
    if (Boolean.getBoolean("sluice.writeDocs")) {
      Files.writeString(PAGE, MigrationReference.markdown());
    }
    assertEquals(Files.readString(PAGE), MigrationReference.markdown(),
        "run MigrationReference with the path of docs/migration.md");
  }
}
