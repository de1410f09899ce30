package io.sluice.java8.build;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * Uses the APIs that the tool rewrites; the tests run it as javac made it and as the tool made it for an older Java.
 */
public final class Fixture implements Supplier<String> {
  private static int counter;

  private final String secret = "secret";

  sealed interface Shape permits Circle, Square {
    default String named() {
      return prefix() + this;
    }

    private String prefix() {
      return "shape ";
    }
  }

  record Circle(double radius, String name, byte[] data) implements Shape {}

  record Square(long side) implements Shape, Comparable<Square> {
    Square {
      counter++;
    }

    @Override
    public int compareTo(Square other) {
      return Long.compare(side, other.side);
    }
  }

  record Nothing() {}

  static class Parent {
    private String who() {
      return "parent";
    }

    String ask() {
      return who();
    }
  }

  static final class Child extends Parent {
    private String hidden() {
      return "child of " + ask();
    }
  }

  @Override
  public String get() {
    counter = 0;
    List<String> said = new ArrayList<>();
    byte[] data = {1};
    Shape circle = new Circle(1.5, null, data);
    said.add(circle.named().replaceAll("@[0-9a-f]+", "@"));
    said.add("" + circle.equals(new Circle(1.5, null, data)) + circle.equals(new Circle(1.5, null, data.clone()))
        + circle.equals("no") + (circle.hashCode() == new Circle(1.5, null, data).hashCode()));
    said.add(
        new Square(3).named() + new Square(3).equals(new Square(3)) + new Square(3).compareTo(new Square(4)) + counter);
    said.add(new Nothing().toString() + new Nothing().equals(new Nothing()));
    said.add(new Child().hidden() + new Parent().who());
    Supplier<String> inner = new Supplier<>() {
      @Override
      public String get() {
        return secret + privately(7);
      }
    };
    said.add(inner.get());
    library(said);
    return String.join("\n", said);
  }

  private String privately(int number) {
    return secret.length() + ":" + number + 'c' + 1L + 2.5f + (byte) 3 + null + true;
  }

  private static void library(List<String> said) {
    ByteBuffer buffer = ByteBuffer.allocate(8).putInt(5).flip();
    said.add("" + buffer.remaining());
    said.add(
        List.of(1, 2) + "" + Set.of("x") + Map.of("k", "v") + List.of(new String[] {"a"}) + List.copyOf(List.of(3)));
    said.add("  x ".strip() + "ab".repeat(3) + " ".isBlank() + "a\nb\r\n\nc\n".lines().toList() + "%d".formatted(4));
    said.add(Stream.of(" q ").map(String::strip).toList().toString());
    said.add("" + Optional.empty().isEmpty() + Optional.empty().or(() -> Optional.of(1)).orElseThrow());
    said.add("" + Math.multiplyHigh(Long.MIN_VALUE + 3, 0x1234_5678_9ABC_DEFL) + Math.multiplyHigh(-5L, 7L));
    CRC32C crc = new CRC32C();
    crc.update("The quick brown fox jumps over the lazy dog".getBytes(java.nio.charset.StandardCharsets.US_ASCII), 1,
        40);
    crc.update('x');
    said.add(Long.toHexString(crc.getValue()));
    said.add("" + (ProcessHandle.current().pid() > 0));
    try {
      said.add(List.of((Object) null).toString());
    } catch (NullPointerException e) {
      said.add("no nulls");
    }
  }
}
