package io.sluice.foreign;

import org.apache.spark.ContextCleanerSuite;
import org.apache.spark.ExternalShuffleServiceSuite;
import org.apache.spark.ShuffleNettyEpollSuite;
import org.apache.spark.ShuffleNettyNioSuite;
import org.apache.spark.ShuffleOldFetchProtocolSuite;
import org.apache.spark.SortShuffleSuite;
import org.apache.spark.shuffle.HostLocalShuffleReadingSuite;
import org.apache.spark.shuffle.ShuffleDependencySuite;
import org.apache.spark.shuffle.ShuffleDriverComponentsSuite;
import org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite;
import org.scalatest.DoNotDiscover;
import scala.collection.immutable.Seq;

/**
 * Suites of Spark core on the manager under test. Each class sets the manager and names the tests left out,
 * nothing else; those without {@code beforeAll} read the manager from the system property.
 */
public final class CoreSuites {
  private CoreSuites() {}

  @Repeats
  public static final class NettyNio extends ShuffleNettyNioSuite {
    @Override
    public void beforeAll() {
      super.beforeAll();
      OurManager.set(conf());
    }

    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  @Repeats
  public static final class NettyEpoll extends ShuffleNettyEpollSuite {
    @Override
    public void beforeAll() {
      super.beforeAll();
      OurManager.set(conf());
    }

    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class OldFetchProtocol extends ShuffleOldFetchProtocolSuite {
    @Override
    public void beforeAll() {
      super.beforeAll();
      OurManager.set(conf());
    }

    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class ExternalService extends ExternalShuffleServiceSuite {
    @Override
    public void beforeAll() {
      super.beforeAll();
      OurManager.set(conf());
    }

    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class Sort extends SortShuffleSuite {
    @Override
    public void beforeAll() {
      super.beforeAll();
      OurManager.set(conf());
    }

    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class Dependency extends ShuffleDependencySuite {
    @Override
    public void beforeAll() {
      super.beforeAll();
      OurManager.set(conf());
    }

    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class HostLocal extends HostLocalShuffleReadingSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  public static final class DriverComponents extends ShuffleDriverComponentsSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  /** In a JVM of its own; see the execution in the pom. */
  @DoNotDiscover
  public static final class Decommission extends BlockManagerDecommissionIntegrationSuite {
    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }

  /** Names its manager in its constructor's configuration, and by {@code shuffleManager()} in one of its tests. */
  public static final class ContextCleaner extends ContextCleanerSuite {
    public ContextCleaner() {
      OurManager.set(conf());
    }

    @Override
    public Class<?> shuffleManager() {
      return OurManager.managerClass();
    }

    @Override
    public void afterEach() {
      OurManager.check();
      super.afterEach();
    }

    @Override
    public Seq<String> excluded() {
      return OurManager.excluded(this);
    }
  }
}
