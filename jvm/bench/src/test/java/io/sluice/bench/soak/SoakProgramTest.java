package io.sluice.bench.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.bench.InAll;
import io.sluice.bench.catalogue.Catalogue;
import io.sluice.bench.check.Digest;
import io.sluice.bench.soak.SoakPlan.Mode;
import io.sluice.bench.workload.Sizing;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs of seeds, and that Spark can run them and gives one result whatever it does. */
class SoakProgramTest {

  private static final int ROWS = 500;

  @TempDir private static Path folder;

  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark = SparkSession.builder().master("local[2]").appName("soak").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.sql.warehouse.dir", folder + "/warehouse")
        .getOrCreate();
  }

  @AfterAll
  static void stop() {
    spark.stop();
  }

  @Test
  void aSeedIsAProgramAndAShorterOneIsItsBeginning() {
    SoakProgram program = new SoakProgram(true, 7, 4);
    assertEquals(program, SoakProgram.named(program.name()));
    assertEquals("soak-sql-7-4", program.name());
    String text = new RandomQuery(7, ROWS, 4).text();
    assertEquals(text, new RandomQuery(7, ROWS, 4).text());
    assertTrue(text.startsWith(new RandomQuery(7, ROWS, 2).text().replaceAll("\\nSELECT \\* FROM t2$", "")), text);
    assertNotEquals(text, new RandomQuery(8, ROWS, 4).text());
    assertFalse(SoakProgram.isNamed("soak-sql-x-1"));
    assertThrows(IllegalArgumentException.class, () -> SoakProgram.named("sort"));
  }

  @Test
  void seedsBesideEachOtherHaveOtherPrograms() {
    List<Long> seeds = LongStream.range(0, 200).boxed()
        .flatMap(seed -> IntStream.range(1_000_000, 1_000_200).mapToObj(i -> new Dice(seed).fork(i).seed())).toList();
    assertEquals(seeds.size(), new HashSet<>(seeds).size());
  }

  @Test
  void bothKindsComeUp() {
    List<SoakProgram> programs = LongStream.range(0, 50).mapToObj(SoakProgram::of).toList();
    assertTrue(programs.stream().anyMatch(SoakProgram::sql));
    assertTrue(programs.stream().anyMatch(program -> !program.sql()));
    assertTrue(programs.stream().allMatch(program -> program.steps() >= 1));
  }

  @InAll
  @Test
  void sparkRunsThemAndTheResultDoesNotDependOnHow() {
    for (long seed = 0; seed < 5; seed++) {
      SoakProgram program = SoakProgram.of(seed);
      Digest digest = Catalogue.create(program.name()).verify(spark, new Sizing(ROWS, 1, 0));
      assertEquals(digest, Catalogue.create(program.name()).verify(spark, new Sizing(ROWS, 1, 0)),
          program.listing(ROWS));
    }
  }

  @Test
  void whoLooksForAFaultGetsTheWholeProgram() {
    String listing = new SoakProgram(true, 3, 1).listing(10);
    assertTrue(listing.startsWith("SET spark.sql.shuffle.partitions="), listing);
    assertTrue(listing.contains("FROM range(0, 10, 1, "), listing);
    assertTrue(new SoakProgram(false, 3, 2).listing(10).startsWith("10 pairs of "), "the program of RDDs");
  }

  @Test
  void unknownFaultsAreNamed() {
    assertTrue(refused(Mode.RANDOM, "meteor").startsWith("unknown fault 'meteor'; known are none, executor-killed, "));
  }

  @Test
  void faultsThatChangeTheMachineAreRefusedOutsideRooms() {
    assertTrue(refused(Mode.RANDOM, "disk-full").startsWith("the fault disk-full changes the machine"));
  }

  @Test
  void faultsThatEndProcessesAreRefusedInALastingSoak() {
    for (String fault : List.of("killed-in-commit", "memory-refused")) {
      assertTrue(refused(Mode.LASTING, fault).startsWith("the fault " + fault + " can end processes"), fault);
    }
    new Soak(null, plan(Mode.LASTING, "output-flipped"), folder, System.out);
  }

  private static String refused(Mode mode, String fault) {
    return assertThrows(IllegalArgumentException.class,
        () -> new Soak(null, plan(mode, fault), folder, System.out)).getMessage();
  }

  private static SoakPlan plan(Mode mode, String fault) {
    return new SoakPlan(mode, false, List.of(fault), 1, null, 1);
  }
}
