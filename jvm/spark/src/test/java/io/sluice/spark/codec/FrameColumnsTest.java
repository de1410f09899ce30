package io.sluice.spark.codec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sluice.nativebridge.CorruptFrameException;
import io.sluice.nativebridge.FrameHeader;
import io.sluice.spark.metrics.ColumnBytes;
import io.sluice.spark.metrics.ColumnBytes.Encoding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is found out about the frames of the block format's committed vectors. */
class FrameColumnsTest {
  private static final Path VECTORS =
      Path.of(System.getProperty("sluice.repository", "../.."), "docs/block-format/vectors");

  static List<Path> vectors() throws IOException {
    try (Stream<Path> files = Files.list(VECTORS)) {
      return files.filter(file -> file.toString().endsWith(".frame")).sorted().collect(Collectors.toList());
    }
  }

  private static List<ColumnBytes> columns(byte[] frame) throws CorruptFrameException {
    long source = Platform.allocateMemory(frame.length);
    try {
      Platform.copyMemory(frame, Platform.BYTE_ARRAY_OFFSET, null, source, frame.length);
      return FrameColumns.of(source, frame.length);
    } finally {
      Platform.freeMemory(source);
    }
  }

  /** It passes over every byte of the payload, and finds the bytes of every row, so it divides them rightly. */
  @ParameterizedTest
  @MethodSource("vectors")
  void everyByteIsOfOneField(Path vector) throws IOException {
    byte[] frame = Files.readAllBytes(vector);
    FrameHeader header = FrameHeader.parse(frame, 0);
    List<ColumnBytes> columns = columns(frame);
    assertEquals(header.fields() + 1, columns.size());
    assertEquals(header.encodedBytes(), columns.stream().mapToLong(ColumnBytes::encodedBytes).sum());
    assertEquals(header.decodedBytes(), columns.stream().mapToLong(ColumnBytes::rowBytes).sum());
  }

  /** Otherwise the test above would say little. */
  @Test
  void theVectorsHaveEveryEncoding() throws IOException {
    Set<Encoding> seen = EnumSet.noneOf(Encoding.class);
    for (Path vector : vectors()) {
      for (ColumnBytes column : columns(Files.readAllBytes(vector))) {
        Arrays.stream(Encoding.values()).filter(encoding -> column.encoded(encoding) > 0).forEach(seen::add);
      }
    }
    assertEquals(EnumSet.allOf(Encoding.class), seen);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void aCutPayloadIsNoticed(Path vector) throws IOException {
    byte[] frame = Files.readAllBytes(vector);
    FrameHeader header = FrameHeader.parse(frame, 0);
    if (header.isPlain()) {
      return;
    }
    FrameHeader shorter = new FrameHeader(header.path(), header.encoding(), header.flags(), header.records(),
        header.fields(), header.decodedBytes(), header.encodedBytes() - 1, header.payloadCrc());
    byte[] cut = Arrays.copyOf(frame, frame.length - 1);
    System.arraycopy(shorter.toBytes(), 0, cut, 0, FrameHeader.BYTES);
    assertThrows(CorruptFrameException.class, () -> columns(cut));
  }

  @Test
  void aFrameThatIsTooLargeIsLeftAlone() throws CorruptFrameException {
    FrameHeader header = new FrameHeader(FrameHeader.PATH_ROWS, FrameHeader.ENCODING_PLAIN, 0, 1, 1, 64 << 20, 0, 0);
    assertTrue(columns(header.toBytes()).isEmpty());
  }
}
