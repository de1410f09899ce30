package io.sluice.doctor.host;

/**
 * The result of a trial to read another process's memory.
 *
 * @param result whether the kernel let it happen
 * @param what what was tried and what happened, for people
 */
public record MemoryTrial(Result result, String what) {
  public enum Result { PERMITTED, REFUSED, NOT_TRIED }
}
