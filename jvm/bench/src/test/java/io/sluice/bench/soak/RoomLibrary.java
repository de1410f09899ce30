package io.sluice.bench.soak;

/** A program for {@link RoomTest}: loads the library that it is given, and says whether it could. */
final class RoomLibrary {

  private RoomLibrary() {}

  public static void main(String[] arguments) throws InterruptedException {
    try {
      System.load(arguments[0]);
      System.out.println("loaded");
    } catch (UnsatisfiedLinkError e) {
      System.out.println("not loaded: " + e.getMessage());
    }
    Thread.sleep(60_000);
  }
}
