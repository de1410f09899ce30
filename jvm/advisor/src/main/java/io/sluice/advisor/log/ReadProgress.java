package io.sluice.advisor.log;

/** Hears of bytes that have been read from files, compressed as they are; called often, by the reading thread. */
@FunctionalInterface
public interface ReadProgress {
  void read(int bytes);
}
