package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.sluice.nativebridge.NativeCore;
import io.sluice.spark.metrics.Counter;
import io.sluice.spark.metrics.Counters;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PublisherTest {
  private static final File INDEX = new File("/some/index");

  @TempDir private Path directory;

  private final FakeBlockTransport transport = new FakeBlockTransport();
  private final Counters counters = new Counters();
  private final Publisher publisher = new Publisher(transport, counters);

  private File file(int bytes) throws IOException {
    return Files.write(directory.resolve("data" + bytes), new byte[bytes]).toFile();
  }

  @Test
  void partitionOffsetsAreTheSumsOfTheirLengths() throws IOException {
    File file = file(12);
    publisher.publish(3, 44, file, INDEX, new long[] {5, 0, 7});
    FakeBlockTransport.Published published = transport.published.get("3/44");
    assertEquals(file.getPath(), published.dataFile());
    assertEquals(INDEX.getPath(), published.indexFile());
    assertArrayEquals(new long[] {0, 5, 5, 12}, published.offsets());
    assertEquals(1, counters.get(Counter.TRANSPORT_PUBLISHED));
  }

  @Test
  void anOutputWithoutBytesIsNotPublished() {
    publisher.publish(3, 44, new File("/absent"), INDEX, new long[] {0, 0});
    publisher.publish(3, 45, new File("/absent"), INDEX, null);
    assertEquals(0, transport.published.size());
    assertEquals(0, counters.get(Counter.TRANSPORT_PUBLISH_FAILURES));
  }

  @Test
  void aFileOfAnotherLengthIsNotPublished() throws IOException {
    publisher.publish(3, 44, file(11), INDEX, new long[] {5, 7});
    publisher.publish(3, 45, new File("/absent"), INDEX, new long[] {5});
    assertEquals(0, transport.published.size());
    assertEquals(2, counters.get(Counter.TRANSPORT_PUBLISH_FAILURES));
  }

  @Test
  void aMovedOutputIsPublishedAgainUntilClose() {
    publisher.renew(3, 44);
    publisher.close();
    publisher.renew(3, 45);
    assertEquals(List.of("3/44"), transport.renewed);
  }

  @Test
  void failuresToPublishAreCounted() throws IOException {
    transport.publishResult = NativeCore.IO;
    publisher.publish(3, 44, file(5), INDEX, new long[] {5});
    assertEquals(1, counters.get(Counter.TRANSPORT_PUBLISH_FAILURES));
    assertEquals(0, counters.get(Counter.TRANSPORT_PUBLISHED));
  }

  @Test
  void withdrawnOutputsAreNotPublished() throws IOException {
    publisher.publish(3, 44, file(5), INDEX, new long[] {5});
    publisher.publish(3, 45, file(5), INDEX, new long[] {5});
    publisher.publish(4, 44, file(5), INDEX, new long[] {5});
    publisher.withdrawShuffle(3);
    assertEquals(Set.of("4/44"), transport.published.keySet());
  }

  @Test
  void afterCloseNothingIsPublished() throws IOException {
    publisher.close();
    publisher.publish(3, 44, file(5), INDEX, new long[] {5});
    assertEquals(0, transport.published.size());
    assertEquals(0, counters.get(Counter.TRANSPORT_PUBLISH_FAILURES));
  }
}
