package io.sluice.systemtests;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/** Spark's External Shuffle Service in this process: it serves the files of executors that have ended. */
final class ShuffleService implements AutoCloseable {
  private final ExternalBlockHandler handler;
  private final TransportContext context;
  private final TransportServer server;

  private ShuffleService(ExternalBlockHandler handler, TransportContext context) {
    this.handler = handler;
    this.context = context;
    this.server = context.createServer(0, List.of());
  }

  static ShuffleService start() throws IOException {
    TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
    ExternalBlockHandler handler = new ExternalBlockHandler(conf, null);
    return new ShuffleService(handler, new TransportContext(conf, handler));
  }

  int port() {
    return server.getPort();
  }

  @Override
  public void close() {
    server.close();
    handler.close();
    context.close();
  }
}
