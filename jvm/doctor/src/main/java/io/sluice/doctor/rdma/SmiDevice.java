package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.GPU;

import io.sluice.doctor.check.Amount;
import io.sluice.doctor.check.Finding;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A GPU as {@code nvidia-smi} describes it.
 *
 * @param mode who may have contexts: {@code Default}, {@code Exclusive_Process}, {@code Prohibited}
 * @param mig {@code Enabled}, {@code Disabled}, or that the GPU has none
 * @param users processes that have contexts; those of other containers may be missing
 */
record SmiDevice(String index, String uuid, String mode, String mig, OptionalLong totalMib, OptionalLong freeMib,
    long users) {
  static final String[] QUERY =
      {"nvidia-smi", "--query-gpu=index,uuid,compute_mode,mig.mode.current,memory.total,memory.free",
        "--format=csv,noheader,nounits"};
  static final String[] USERS = {"nvidia-smi", "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits"};

  /** A line of {@link #QUERY}'s answer; empty for anything else. */
  static Optional<SmiDevice> of(String line, List<String> users) {
    String[] fields = line.split(",\\s*");
    if (fields.length != 6 || !fields[1].startsWith("GPU-")) {
      return Optional.empty();
    }
    long contexts = users.stream().filter(user -> user.startsWith(fields[1] + ",")).count();
    return Optional.of(new SmiDevice(fields[0].strip(), fields[1], fields[2], fields[3], Amount.number(fields[4]),
        Amount.number(fields[5]), contexts));
  }

  Finding finding() {
    String text =
        "number " + index + ": " + memory() + ", compute mode " + mode + ", MIG " + mig.toLowerCase(Locale.ROOT)
            + ", processes with contexts: " + users;
    return switch (mode) {
      case "Exclusive_Process" -> Finding.note(GPU,
          text + "; one process at a time can use it, so one executor, and none beside another user");
      case "Prohibited" -> Finding.note(GPU, text + "; no process can use it");
      default -> Finding.ok(GPU, text);
    };
  }

  private String memory() {
    return totalMib.isEmpty() || freeMib.isEmpty() ? "memory unknown"
        : Amount.text(freeMib.getAsLong() << 20) + " free of " + Amount.text(totalMib.getAsLong() << 20);
  }
}
