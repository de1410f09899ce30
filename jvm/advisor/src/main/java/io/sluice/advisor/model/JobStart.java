package io.sluice.advisor.model;

/** A job that was submitted, as it is read field by field; forgotten once it is a {@link Job}. */
public final class JobStart {
  private int id = -1;
  private long submittedMs;
  private String group = "";
  private long execution = -1;
  private long queryStartedMs;

  public void id(int number) {
    id = number;
  }

  public void submittedMs(long time) {
    submittedMs = time;
  }

  public void group(String name) {
    group = name;
  }

  public void execution(long number) {
    execution = number;
  }

  int id() {
    return id;
  }

  long submittedMs() {
    return submittedMs;
  }

  long execution() {
    return execution;
  }

  void queryStartedMs(long time) {
    queryStartedMs = time;
  }

  Job job(long endedMs) {
    return new Job(id, submittedMs, endedMs, queryStartedMs, group);
  }
}
