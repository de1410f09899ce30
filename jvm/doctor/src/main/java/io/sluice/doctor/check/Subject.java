package io.sluice.doctor.check;

import java.util.Locale;

/** The subjects of findings, in the order of the report. The modes' requirements refer to them. */
public enum Subject {
  PLATFORM(Group.MACHINE, "platform"),
  JAVA(Group.MACHINE, "Java"),
  LIBC(Group.MACHINE, "C library"),
  PROCESSOR(Group.MACHINE, "processor"),
  MEMORY(Group.MACHINE, "memory"),
  HUGE_PAGES(Group.MACHINE, "huge pages"),
  OPEN_FILES(Group.MACHINE, "open files"),
  CONTAINER(Group.MACHINE, "container"),
  NATIVE_LIBRARY(Group.SLUICE, "native library"),
  UNPACK_FOLDER(Group.SLUICE, "unpack folder"),
  LOCAL_DIRS(Group.SLUICE, "local directory"),
  SPARK_VERSION(Group.SPARK, "Spark"),
  SPARK_JAR(Group.SPARK, "Sluice's jar"),
  SPARK_SETTINGS(Group.SPARK, "settings"),
  SPARK_KEYS(Group.SPARK, "key files"),
  SPARK_FRAMES(Group.SPARK, "frames"),
  SPARK_TRANSFER(Group.SPARK, "one-sided reads"),
  UCX_LIBRARY(Group.UCX, "UCX library"),
  UCX_TRANSPORTS(Group.UCX, "UCX transports"),
  SHARED_MEMORY(Group.UCX, "shared memory"),
  CROSS_MEMORY(Group.UCX, "CMA"),
  RDMA_PORT(Group.RDMA, "RDMA port"),
  ROCE(Group.RDMA, "RoCE network"),
  RDMA_FILES(Group.RDMA, "RDMA device files"),
  VERBS(Group.RDMA, "verbs library"),
  LOCKED_MEMORY(Group.RDMA, "locked memory"),
  REGISTRATION(Group.RDMA, "map outputs"),
  GPU(Group.RDMA, "GPU"),
  GPU_SHARES(Group.RDMA, "GPU memory"),
  INTERFACE(Group.NETWORK, "interface"),
  TCP(Group.NETWORK, "TCP");

  /** A heading of the report. */
  public enum Group {
    MACHINE("Machine"),
    SLUICE("Sluice on this machine"),
    SPARK("Spark"),
    UCX("UCX and shared memory"),
    RDMA("RDMA and GPUs"),
    NETWORK("Network");

    private final String title;

    Group(String title) {
      this.title = title;
    }

    public String title() {
      return title;
    }
  }

  private final Group group;
  private final String title;

  Subject(Group group, String title) {
    this.group = group;
    this.title = title;
  }

  public Group group() {
    return group;
  }

  /** For people. */
  public String title() {
    return title;
  }

  /** For programs that read the JSON: never changes. */
  public String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
