package io.sluice.doctor.spark;

import static io.sluice.doctor.check.Subject.GPU_SHARES;

import io.sluice.doctor.check.Amount;
import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.check.Verdict;
import io.sluice.doctor.host.Host;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Who has how much of a GPU's memory where {@code spark-defaults.conf} gives it to Sluice and to RAPIDS' SQL plugin, in
 * one executor: the plugin's pool, Sluice's limit and the process' context must fit. Of several GPUs the smallest
 * counts. Says nothing where Sluice uses none.
 */
public final class GpuSharesCheck implements Check {
  private static final String POOL = "spark.rapids.memory.gpu.pool";
  private static final String FRACTION = "spark.rapids.memory.gpu.allocFraction";
  private static final String LARGEST_FRACTION = "spark.rapids.memory.gpu.maxAllocFraction";
  private static final String RESERVE = "spark.rapids.memory.gpu.reserve";
  private static final String LIMIT = "spark.sluice.gpu.memory.limit";
  private static final String CACHE = "spark.sluice.gpu.cache.limit";
  private static final Set<String> USES = Set.of("auto", "on");
  private static final String[] TOTALS =
      {"nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"};
  /** Without a limit of its own Sluice takes so much of a GPU's memory, as the executor does. */
  private static final int SHARE = 8;
  /** Of a CUDA context with its kernels, about (docs/gpu.md). */
  private static final long CONTEXT_BYTES = 512 * Amount.MIB;
  /** RAPIDS' own default. */
  private static final long DEFAULT_RESERVE = 640 * Amount.MIB;

  private final String home;

  /** @param home of the Spark installation, or empty */
  public GpuSharesCheck(String home) {
    this.home = home;
  }

  @Override
  public Subject subject() {
    return GPU_SHARES;
  }

  @Override
  public List<Finding> look(Host host) {
    Map<String, String> settings = home.isEmpty() ? Map.of() : new SparkHome(home).defaults(host);
    if (!USES.contains(settings.getOrDefault("spark.sluice.gpu", "").toLowerCase(Locale.ROOT))) {
      return List.of();
    }
    OptionalLong total = host.run(TOTALS).or("").lines().map(Amount::number).filter(OptionalLong::isPresent)
        .mapToLong(mib -> mib.getAsLong() * Amount.MIB).min();
    if (total.isEmpty()) {
      return List.of(Finding.note(GPU_SHARES, "nvidia-smi did not say how much memory the GPU has"));
    }
    long share = share(settings, total.getAsLong());
    String sluice = "Sluice takes at most " + Amount.text(share) + " of " + Amount.text(total.getAsLong());
    return List.of(settings.getOrDefault("spark.plugins", "").contains("com.nvidia.spark.SQLPlugin")
        ? besideRapids(settings, total.getAsLong(), share, sluice) : Finding.ok(GPU_SHARES, sluice));
  }

  private static long share(Map<String, String> settings, long total) {
    long cache = SluiceMemory.bytes(settings.getOrDefault(CACHE, "0"));
    long limit = SluiceMemory.bytes(settings.getOrDefault(LIMIT, "auto"));
    return Math.min(total / 2, limit > 0 ? limit : total / SHARE + cache);
  }

  private static Finding besideRapids(Map<String, String> settings, long total, long share, String sluice) {
    String pool = settings.getOrDefault(POOL, "ASYNC").toUpperCase(Locale.ROOT);
    if (pool.equals("NONE")) {
      return Finding.ok(GPU_SHARES, sluice + "; RAPIDS has no pool (" + POOL + "=NONE): what is free is shared");
    }
    double fraction = Math.min(fraction(settings, FRACTION), fraction(settings, LARGEST_FRACTION));
    long reserve = settings.containsKey(RESERVE) ? SluiceMemory.bytes(settings.get(RESERVE)) : DEFAULT_RESERVE;
    long free = total - CONTEXT_BYTES;
    long rapids = Math.max(0, (long) Math.min(fraction * free, free - reserve));
    String text = sluice + ", RAPIDS' pool (" + pool + ") " + Amount.text(rapids) + " by " + FRACTION + "=" + fraction;
    if (rapids + share <= free) {
      return Finding.ok(GPU_SHARES, text);
    }
    double fits = Math.floor(100.0 * (free - share) / free) / 100;
    return new Finding(GPU_SHARES, Verdict.WARNING,
        text + ": together more than there is; whoever starts later has less, and Sluice leaves batches to the CPU",
        FRACTION + "  " + fits + ", or a smaller " + LIMIT);
  }

  private static double fraction(Map<String, String> settings, String key) {
    try {
      return Math.max(0, Math.min(1, Double.parseDouble(settings.getOrDefault(key, "1.0"))));
    } catch (NumberFormatException e) {
      return 1;
    }
  }
}
