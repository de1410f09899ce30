import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.crypto.AuthServerBootstrap;
import org.apache.spark.network.sasl.ShuffleSecretManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/**
 * A YARN cluster of Hadoop's own test kit: a ResourceManager and a NodeManager in this process, which start containers
 * as processes of their own. Writes the folder's yarn-site.xml, prints "ready" and the shuffle service's port, and
 * ends when its standard input does.
 */
public final class MiniYarn {
  private MiniYarn() {}

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    Configuration conf = new YarnConfiguration();
    conf.set("fs.defaultFS", "file:///");
    conf.set(YarnConfiguration.NM_AUX_SERVICES, ShuffleService.NAME);
    conf.set("yarn.nodemanager.aux-services." + ShuffleService.NAME + ".class", ShuffleService.class.getName());
    conf.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
    conf.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
    // The machine's disks may be fuller than YARN likes.
    conf.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100f);
    conf.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, 8192);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 256);
    // The default scheduler wants a file of queues.
    conf.set(YarnConfiguration.RM_SCHEDULER,
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
    System.setProperty("test.build.data", folder.toString());
    try (MiniYARNCluster cluster = new MiniYARNCluster("sluice", 1, 1, 1)) {
      cluster.init(conf);
      cluster.start();
      if (!cluster.waitForNodeManagersToConnect(60_000)) {
        throw new IllegalStateException("the NodeManager has not registered in 60 s");
      }
      try (OutputStream out = new FileOutputStream(folder.resolve("yarn-site.xml").toFile())) {
        cluster.getConfig().writeXml(out);
      }
      System.out.println("ready " + ShuffleService.port);
      while (System.in.read() >= 0) {
        // The test says nothing; its end is the end of this stream.
      }
    }
    System.exit(0);
  }

  /**
   * What Spark's YarnShuffleService is to a NodeManager with {@code spark.authenticate}: Spark's own handler of the
   * external shuffle service behind the name that Spark's containers ask for. A connection must prove the secret that
   * YARN hands on from the application. No registry that the tests reach has spark-network-yarn.
   */
  public static final class ShuffleService extends AuxiliaryService {
    static final String NAME = "spark_shuffle";
    static volatile int port;
    private final ShuffleSecretManager secrets = new ShuffleSecretManager();
    private ExternalBlockHandler handler;
    private TransportContext context;
    private TransportServer server;

    public ShuffleService() {
      super(NAME);
    }

    @Override
    protected void serviceStart() throws Exception {
      TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
      handler = new ExternalBlockHandler(conf, null);
      context = new TransportContext(conf, handler);
      server = context.createServer(0, List.of(new AuthServerBootstrap(conf, secrets)));
      port = server.getPort();
      super.serviceStart();
    }

    @Override
    public void initializeApplication(ApplicationInitializationContext application) {
      if (!application.getApplicationDataForService().hasRemaining()) {
        throw new IllegalStateException(application.getApplicationId() + " gives the shuffle service no secret");
      }
      secrets.registerApp(application.getApplicationId().toString(), application.getApplicationDataForService());
      System.out.println("application " + application.getApplicationId());
    }

    /** YARN deletes an application's folders itself. */
    @Override
    public void stopApplication(ApplicationTerminationContext application) {
      handler.applicationRemoved(application.getApplicationId().toString(), false);
      secrets.unregisterApp(application.getApplicationId().toString());
    }

    @Override
    public ByteBuffer getMetaData() {
      return ByteBuffer.allocate(0);
    }

    @Override
    protected void serviceStop() throws IOException {
      server.close();
      handler.close();
      context.close();
    }
  }
}
