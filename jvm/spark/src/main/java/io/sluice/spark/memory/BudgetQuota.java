package io.sluice.spark.memory;

/** A task's share of the executor-wide {@link MemoryBudget}. */
record BudgetQuota(MemoryBudget budget) implements Quota {
  @Override
  public boolean take(long bytes, long heldByTask, long nanos) throws InterruptedException {
    return nanos == 0 ? budget.tryReserve(bytes, heldByTask) : budget.reserve(bytes, heldByTask, nanos);
  }

  @Override
  public void give(long bytes) {
    budget.release(bytes);
  }

  @Override
  public long limitBytes() {
    return budget.limitBytes();
  }

  @Override
  public String limitSetting() {
    return "spark.sluice.memory.limit";
  }
}
