package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.GPU;

import io.sluice.doctor.check.Amount;
import io.sluice.doctor.check.Finding;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A GPU as {@code nvidia-smi} describes it.
 *
 * @param capability its compute capability, as {@code 9.0}; what old programs do not know is in brackets
 * @param mode who may have contexts: {@code Default}, {@code Exclusive_Process}, {@code Prohibited}
 * @param mig {@code Enabled}, {@code Disabled}, or that the GPU has none
 * @param users processes that have contexts; those of other containers may be missing
 */
record SmiDevice(String index, String uuid, String capability, String mode, String mig, OptionalLong totalMib,
    OptionalLong freeMib, long users) {
  /** The oldest that {@code tools/gpu-kernels} compiles for, in tenths. */
  private static final long OLDEST_CAPABILITY = 75;
  private static final Pattern CAPABILITY = Pattern.compile("(\\d{1,3})\\.(\\d)");

  static final String[] QUERY =
      {"nvidia-smi", "--query-gpu=index,uuid,compute_cap,compute_mode,mig.mode.current,memory.total,memory.free",
        "--format=csv,noheader,nounits"};
  static final String[] USERS = {"nvidia-smi", "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits"};

  /** A line of {@link #QUERY}'s answer; empty for anything else. */
  static Optional<SmiDevice> of(String line, List<String> users) {
    String[] fields = line.split(",\\s*");
    if (fields.length != 7 || !fields[1].startsWith("GPU-")) {
      return Optional.empty();
    }
    long contexts = users.stream().filter(user -> user.startsWith(fields[1] + ",")).count();
    return Optional.of(new SmiDevice(fields[0].strip(), fields[1], fields[2], fields[3], fields[4],
        Amount.number(fields[5]), Amount.number(fields[6]), contexts));
  }

  Finding finding() {
    String text =
        "number " + index + ": " + memory() + ", compute capability " + capability + ", compute mode " + mode
            + ", MIG " + mig.toLowerCase(Locale.ROOT) + ", processes with contexts: " + users;
    if (isTooOld()) {
      return Finding.note(GPU, text + "; Sluice has kernels for compute capability 7.5 and later, so none for it");
    }
    return switch (mode) {
      case "Exclusive_Process" -> Finding.note(GPU,
          text + "; one process at a time can use it, so one executor, and none beside another user");
      case "Prohibited" -> Finding.note(GPU, text + "; no process can use it");
      default -> Finding.ok(GPU, text);
    };
  }

  private boolean isTooOld() {
    Matcher told = CAPABILITY.matcher(capability);
    return told.matches() && Long.parseLong(told.group(1) + told.group(2)) < OLDEST_CAPABILITY;
  }

  private String memory() {
    return totalMib.isEmpty() || freeMib.isEmpty() ? "memory unknown"
        : Amount.text(freeMib.getAsLong() << 20) + " free of " + Amount.text(totalMib.getAsLong() << 20);
  }
}
