package io.sluice.spark.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LeasedBufferTest {
  private static final byte[] DATA = {1, 2, 3, 4, 5, (byte) 0xFF};

  private final long address = Platform.allocateMemory(DATA.length);
  private final List<Long> freed = new ArrayList<>();
  private final LeasedBuffer buffer = new LeasedBuffer(address, DATA.length, freed::add);

  LeasedBufferTest() {
    Platform.copyMemory(DATA, Platform.BYTE_ARRAY_OFFSET, null, address, DATA.length);
  }

  @AfterEach
  void free() {
    Platform.freeMemory(address);
  }

  @Test
  void theLastReleaseFreesTheMemoryOnce() {
    buffer.retain();
    buffer.release();
    assertEquals(List.of(), freed);
    buffer.release();
    assertEquals(List.of(address), freed);
    assertThrows(IllegalStateException.class, buffer::release);
    assertThrows(IllegalStateException.class, buffer::retain);
    assertEquals(List.of(address), freed);
  }

  @Test
  void streamHasTheBlocksBytes() throws IOException {
    try (InputStream stream = buffer.createInputStream()) {
      assertEquals(6, stream.available());
      assertEquals(1, stream.read());
      assertEquals(1, stream.skip(1));
      byte[] some = new byte[4];
      assertEquals(2, stream.read(some, 1, 2));
      assertArrayEquals(new byte[] {0, 3, 4, 0}, some);
      assertEquals(0, stream.read(some, 0, 0));
      assertEquals(2, stream.read(some));
      assertEquals(-1, some[1]);
      assertEquals(-1, stream.read(some));
      assertEquals(-1, stream.read());
      assertEquals(0, stream.skip(5));
    }
    assertArrayEquals(DATA, buffer.createInputStream().readAllBytes());
  }

  @Test
  void nioBufferHasTheBlocksBytes() throws IOException {
    ByteBuffer view = buffer.nioByteBuffer();
    byte[] bytes = new byte[view.remaining()];
    view.get(bytes);
    assertArrayEquals(DATA, bytes);
  }

  @Test
  void aNettyBufferStaysValidAfterRelease() throws IOException {
    ByteBuf copy = (ByteBuf) buffer.convertToNetty();
    buffer.release();
    byte[] bytes = new byte[copy.readableBytes()];
    copy.readBytes(bytes);
    assertArrayEquals(DATA, bytes);
    copy.release();
  }

  @Test
  void readingAfterReleaseIsAnError() {
    InputStream stream = buffer.createInputStream();
    buffer.release();
    assertThrows(IllegalStateException.class, stream::read);
    assertThrows(IllegalStateException.class, () -> stream.read(new byte[4]));
    assertThrows(IllegalStateException.class, buffer::nioByteBuffer);
    assertThrows(IllegalStateException.class, buffer::convertToNetty);
  }

  @Test
  void anEmptyBlockHasNoMemory() throws IOException {
    LeasedBuffer empty = new LeasedBuffer(0, 0, freed::add);
    assertEquals(0, empty.size());
    assertEquals(-1, empty.createInputStream().read());
    assertEquals(0, empty.nioByteBuffer().remaining());
    empty.release();
    assertEquals(List.of(), freed);
  }
}
