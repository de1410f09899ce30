package io.sluice.bench.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ScaleModelTest {

  private static final double MOST_OFF = 1e-9;

  /** Costs of which each is told from the others by its size. */
  private static final EngineCosts COSTS =
      new EngineCosts("engine", 100e-9, 2e-6, 50e-9, 3e-6, 5e-3, 1e-9, 4e-6, 20, 30, 1e-3, 1.5);
  private static final HostKind HOST = new HostKind("", 4, 1e9, 500e6, 50e3, 0);

  private static Prediction predict(HostKind host, double hosts, Shuffle shuffle) {
    return ScaleModel.predict(COSTS, host, hosts, shuffle);
  }

  @Test
  void processorsShareRowsBlocksTasksAndWhatComesFromOtherHosts() {
    // So many rows that every block has some.
    Shuffle shuffle = new Shuffle(1e9, 100, 200);
    Prediction one = predict(HOST, 10, shuffle);
    double blocks = 100 * 200;
    double bytes = 1e9 * 20 + blocks * 30;
    assertEquals((1e9 * 100e-9 + blocks * 2e-6 + 100 * 5e-3) / 40, one.map().get(Resource.PROCESSORS), MOST_OFF);
    assertEquals((1e9 * 50e-9 + blocks * 3e-6 + 200 * 5e-3 + 0.9 * (bytes * 1e-9 + blocks * 4e-6)) / 40,
        one.reduce().get(Resource.PROCESSORS), MOST_OFF);
    assertEquals(bytes / 10 * 0.9 / 1e9, one.reduce().get(Resource.NETWORK), MOST_OFF);
    assertEquals(bytes / 10 / 500e6, one.map().get(Resource.DISK_BYTES), MOST_OFF);
    assertEquals(blocks / 10 / 50e3, one.reduce().get(Resource.DISK_READS), MOST_OFF);
    assertEquals(100 * 1e-3, one.map().get(Resource.DRIVER), MOST_OFF);
    assertEquals(bytes / blocks, one.blockBytes(), 1e-6);
    assertEquals(100 * 200 * 1.5, one.statusBytes(), MOST_OFF);
  }

  @Test
  void aStageTakesAsLongAsWhatLimitsItAndStagesFollowEachOther() {
    HostKind slow = new HostKind("", 4, 1e6, Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY, 0);
    Prediction one = predict(slow, 2, new Shuffle(1e8, 10, 10));
    assertEquals(Resource.PROCESSORS, Prediction.limit(one.map()));
    assertEquals(Resource.NETWORK, Prediction.limit(one.reduce()));
    assertEquals(one.map().get(Resource.PROCESSORS) + one.statusS() + one.reduce().get(Resource.NETWORK), one.totalS(),
        MOST_OFF);
  }

  @Test
  void oneHostSendsNothing() {
    Prediction one = predict(HOST, 1, new Shuffle(1e6, 10, 10));
    assertEquals(0, one.reduce().get(Resource.NETWORK));
    assertEquals(0, one.statusS());
  }

  @Test
  void whatTheCacheHoldsIsNotReadFromDisk() {
    Shuffle shuffle = new Shuffle(1e9, 100, 200);
    double bytes = 1e9 * 20 + 100 * 200 * 30;
    HostKind half = new HostKind("", 4, 1e9, 500e6, 50e3, bytes / 10 / 2);
    assertEquals(predict(HOST, 10, shuffle).reduce().get(Resource.DISK_READS) / 2,
        predict(half, 10, shuffle).reduce().get(Resource.DISK_READS), 1e-9);
    HostKind whole = new HostKind("", 4, 1e9, 500e6, 50e3, bytes / 10 * 1.01);
    assertEquals(0, predict(whole, 10, shuffle).reduce().get(Resource.DISK_READS));
    assertEquals(0, predict(whole, 10, shuffle).map().get(Resource.DISK_BYTES));
  }

  @Test
  void blocksWithoutRowsCostNothingButTheirBitInTheStatus() {
    Shuffle sparse = new Shuffle(1e6, 10_000, 10_000);
    assertTrue(sparse.blocks() < 1e6 && sparse.blocks() > 0.99e6, () -> "" + sparse.blocks());
    // 9,900 of a map task's 10,000 blocks are empty: a bit for each is less than a number of each empty one.
    assertEquals(10_000 * (64 + 10_000 / 8.0), predict(HOST, 10, sparse).statusBytes(), 1);
    Shuffle dense = new Shuffle(1e12, 10_000, 10_000);
    assertEquals(10_000 * 64.0, predict(HOST, 10, dense).statusBytes(), 1);
  }

  @Test
  void aLineGoesThroughPointsThatLieOnOne() {
    Fit fit = Fit.of(List.of(new Fit.Point(1e7, 80, 1e7 * 3 + 80 * 5), new Fit.Point(1e7, 80_000, 1e7 * 3 + 80_000 * 5),
        new Fit.Point(1e7, 800_000, 1e7 * 3 + 800_000 * 5)));
    assertEquals(3, fit.a(), 1e-6);
    assertEquals(5, fit.b(), 1e-4);
    assertEquals(0, fit.mostOff(), 1e-6);
  }

  @Test
  void noCostIsBelowZero() {
    Fit falls = Fit.of(List.of(new Fit.Point(1, 1, 10), new Fit.Point(1, 10, 9)));
    assertEquals(0, falls.b());
    assertEquals(9.5, falls.a(), 0.1);
    assertTrue(falls.mostOff() > 0.04 && falls.mostOff() < 0.07, falls::toString);
    Fit steep = Fit.of(List.of(new Fit.Point(1, 1, 1), new Fit.Point(1, 10, 20)));
    assertEquals(0, steep.a());
    assertTrue(steep.b() > 0);
  }
}
