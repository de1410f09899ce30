package io.sluice.advisor.measured;

import io.sluice.advisor.estimate.ApplicationEstimate;
import io.sluice.advisor.model.Job;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The runs of benchmark workloads in logs of stock applications. {@code ./sluice bench} gives all jobs of a run the job
 * group {@code sluice-bench/<workload>/<number>}; a run goes from the start of its first job (or query) to the end of
 * its last.
 */
final class RunsInLogs {
  private static final String PREFIX = "sluice-bench/";

  /** A run: when it started, its seconds as they were, and as they would be. */
  record Run(long startMs, double beforeS, double afterS) {}

  private RunsInLogs() {}

  /** Runs by workload, in the order in which they started, warm-ups too. Logs of Sluice are left out. */
  static Map<String, List<Run>> of(List<ApplicationEstimate> estimates) {
    Map<String, List<Run>> runs = new LinkedHashMap<>();
    for (ApplicationEstimate estimate : estimates) {
      if (!estimate.onSluice()) {
        Map<String, List<Job>> groups = estimate.application().jobs().stream()
            .filter(job -> job.group().startsWith(PREFIX) && job.endedMs() > job.startedMs())
            .collect(Collectors.groupingBy(Job::group, LinkedHashMap::new, Collectors.toList()));
        groups.forEach((group, jobs) -> runs.computeIfAbsent(workload(group), name -> new ArrayList<>())
            .add(run(estimate, jobs)));
      }
    }
    runs.values().forEach(all -> all.sort(Comparator.comparingLong(Run::startMs)));
    return runs;
  }

  private static String workload(String group) {
    int end = group.lastIndexOf('/');
    return end > PREFIX.length() ? group.substring(PREFIX.length(), end) : group.substring(PREFIX.length());
  }

  private static Run run(ApplicationEstimate estimate, List<Job> jobs) {
    long start = jobs.stream().mapToLong(Job::queryStartedMs).min().orElse(0);
    long end = jobs.stream().mapToLong(Job::endedMs).max().orElse(0);
    return new Run(start, (end - start) / 1e3, estimate.timeline().seconds(start, end));
  }
}
