package io.sluice.spark;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Dependencies between the packages of the product point one way. */
class PackageLayersTest {
  private static final String ROOT = "io.sluice.spark";
  /** From the bottom: a package may use those before it. */
  private static final List<String> LAYERS =
      List.of("metrics", "conf", "concurrent", "versions", "events", "migration", "compat", "cleanup", "seal", "codec",
          "memory",
          "record", "store", "transport", "fetch", "decode", "gpu", "executor", "order", "sql", "columnar", "exchange",
          "policy",
          "comet",
          "write", "read", "ui");
  private static JavaClasses classes;

  @BeforeAll
  static void load() {
    classes = new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests()).importPackages(ROOT);
  }

  static List<String> layers() {
    return LAYERS;
  }

  @ParameterizedTest
  @MethodSource("layers")
  void classesUseOnlyPackagesOfLowerLayers(String layer) {
    String[] above = LAYERS.stream().skip(LAYERS.indexOf(layer) + 1).map(name -> ROOT + "." + name)
        .toArray(String[]::new);
    noClasses().that().resideInAPackage(ROOT + "." + layer)
        .should().dependOnClassesThat(resideInAnyPackage(above))
        .orShould().dependOnClassesThat(
            resideInAnyPackage(ROOT).and(not(belongToAnyOf(SluiceException.class, NormalizedKeyOrdering.class))))
        .allowEmptyShould(true).check(classes);
  }

  @Test
  void everyPackageHasALayer() {
    Set<String> found = classes.stream().map(JavaClass::getPackageName).filter(name -> !name.equals(ROOT))
        .map(name -> name.substring(ROOT.length() + 1)).collect(Collectors.toCollection(TreeSet::new));
    assertEquals(new TreeSet<>(LAYERS), found);
  }
}
