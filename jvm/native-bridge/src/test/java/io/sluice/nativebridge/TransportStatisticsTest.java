package io.sluice.nativebridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class TransportStatisticsTest {
  private static List<RecordComponent> components() {
    return Arrays.asList(TransportStatistics.class.getRecordComponents());
  }

  @Test
  void everyValueIsReadIntoTheFieldOfItsName() throws ReflectiveOperationException {
    assertEquals(components().stream().map(RecordComponent::getName).toList(), TransportStatistics.NAMES);
    TransportStatistics statistics =
        TransportStatistics.of(LongStream.range(0, TransportStatistics.NAMES.size()).map(i -> i + 100).toArray());
    for (int i = 0; i < components().size(); i++) {
      assertEquals(100L + i, components().get(i).getAccessor().invoke(statistics), components().get(i).getName());
    }
  }

  @Test
  void aLibraryWithOtherStatisticsIsRefused() {
    String same = String.join(",", TransportStatistics.NAMES);
    NativeLibrary.Status loaded = new NativeLibrary.Status(true, "loaded");
    assertNull(TransportStatistics.layoutError(same));
    assertEquals(loaded, NativeLibrary.checkLayout(loaded, same, "the jar"));
    for (String other : List.of("", same + ",another", same.replace("mappedBytes", "bytesMapped"))) {
      NativeLibrary.Status status = NativeLibrary.checkLayout(loaded, other, "/some/path");
      assertFalse(status.available());
      assertTrue(status.detail().contains("/some/path") && status.detail().contains(same), status.detail());
    }
  }
}
