package io.sluice.bench.driver;

import java.util.List;

/** What a thread of an executor is there for, told by the first 15 characters of its name, which the kernel keeps. */
enum ThreadRole {
  TASK("Executor task"),
  ENCODER("sluice-encoder"),
  DECODER("sluice-decoder"),
  JIT("C1 Compiler", "C2 Compiler"),
  GC("GC Thread", "G1 ", "ZWorker", "ZDriver"),
  OTHER("");

  private final List<String> beginnings;

  ThreadRole(String... beginnings) {
    this.beginnings = List.of(beginnings);
  }

  static ThreadRole of(String threadName) {
    for (ThreadRole role : values()) {
      if (role.beginnings.stream().anyMatch(threadName::startsWith)) {
        return role;
      }
    }
    throw new AssertionError("every name begins with nothing");
  }
}
