package io.sluice.spark.memory;

/** One task's part of the executor-wide {@link MemoryBudget}. */
record BudgetQuota(MemoryBudget budget, MemoryBudget.Share share) implements Quota {
  @Override
  public boolean take(long bytes, Claim claim, long nanos) throws InterruptedException {
    return nanos == 0 ? budget.tryReserve(share, bytes, claim) : budget.reserve(share, bytes, claim, nanos);
  }

  @Override
  public void give(long bytes) {
    budget.release(share, bytes);
  }

  @Override
  public boolean isAlone() {
    return budget.isAlone(share);
  }

  @Override
  public long mostBytes() {
    return budget.ceilingBytes();
  }

  @Override
  public String limitSetting() {
    return "spark.sluice.memory.limit";
  }
}
