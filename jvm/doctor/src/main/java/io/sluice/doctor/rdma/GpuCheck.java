package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.GPU;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * NVIDIA GPUs as the kernel's module and {@code nvidia-smi} show them: their driver, memory, modes and other users, and
 * whether RDMA cards may reach their memory. The driver's library is not loaded.
 */
public final class GpuCheck implements Check {
  private static final String FOLDER = "/proc/driver/nvidia";
  private static final String SETTING = "; executors use it if spark.sluice.gpu says so (off by default)";
  private static final Pattern DRIVER = Pattern.compile("Kernel Module.*?\\s(\\d+\\.\\d+(?:\\.\\d+)?)\\s");
  private static final Pattern MODEL = Pattern.compile("^Model:\\s*(.*)$", Pattern.MULTILINE);
  private static final Pattern CUDA = Pattern.compile("CUDA Version:\\s*(\\d+)\\.(\\d+)");
  private static final Pattern SLICE = Pattern.compile("^\\s*MIG (\\S+)\\s+Device", Pattern.MULTILINE);
  /** As {@code native/crates/cuda} has it. */
  private static final int OLDEST_CUDA = 12;

  @Override
  public Subject subject() {
    return GPU;
  }

  @Override
  public List<Finding> look(Host host) {
    List<String> devices = host.list("/dev").stream().filter(name -> name.matches("nvidia\\d+")).toList();
    List<String> gpus = host.list(FOLDER + "/gpus");
    if (devices.isEmpty() && gpus.isEmpty()) {
      return List.of(Finding.ok(GPU, "none: cores encode map output"));
    }
    String answer = host.run("nvidia-smi").or("");
    boolean answers = !answer.isBlank();
    Matcher cuda = CUDA.matcher(answer);
    boolean told = cuda.find();
    String text = models(host, gpus, devices) + ", driver " + driver(host)
        + (told ? ", CUDA " + cuda.group(1) + "." + cuda.group(2) : "") + ", GPUDirect RDMA: " + direct(host);
    List<Finding> findings = new ArrayList<>();
    if (devices.isEmpty()) {
      findings.add(Finding.note(GPU, text + "; no /dev/nvidia*: not passed on to this container"));
    } else if (told && Integer.parseInt(cuda.group(1)) < OLDEST_CUDA) {
      findings.add(Finding.note(GPU, text + "; Sluice needs CUDA " + OLDEST_CUDA + ".0 (driver 525) to use it"));
    } else {
      findings.add(Finding.ok(GPU, text + SETTING));
    }
    if (answers) {
      addDevices(host, findings);
    } else {
      // Not asked again: each question could take as long.
      findings.add(Finding.note(GPU, "nvidia-smi did not answer: memory, modes and users of the GPUs are unknown"));
    }
    return findings;
  }

  private static String models(Host host, List<String> gpus, List<String> devices) {
    String models = gpus.stream().map(gpu -> MODEL.matcher(host.read(FOLDER + "/gpus/" + gpu + "/information").or("")))
        .filter(Matcher::find).map(matcher -> matcher.group(1).strip())
        .collect(Collectors.groupingBy(model -> model, TreeMap::new, Collectors.counting()))
        .entrySet().stream().map(entry -> entry.getValue() + " × " + entry.getKey()).collect(Collectors.joining(", "));
    return models.isEmpty() ? Math.max(devices.size(), gpus.size()) + " of unknown model" : models;
  }

  private static String driver(Host host) {
    Matcher version = DRIVER.matcher(host.read(FOLDER + "/version").or(""));
    return version.find() ? version.group(1) : "unknown";
  }

  /** By a module that RDMA drivers ask, or by dma-buf, which NVIDIA's open kernel modules export (from 515 on). */
  private static String direct(Host host) {
    String modules = host.read("/proc/modules").or("");
    return Stream.of("nvidia_peermem", "nv_peer_mem")
        .filter(name -> modules.lines().anyMatch(line -> line.startsWith(name + " ")))
        .findFirst().orElseGet(() -> "neither nvidia_peermem nor nv_peer_mem is loaded"
            + (host.read(FOLDER + "/version").or("").contains("Open Kernel Module")
                ? ", by dma-buf where the RDMA driver takes that (open kernel modules)" : ", no dma-buf"));
  }

  private static void addDevices(Host host, List<Finding> findings) {
    List<String> users = host.run(SmiDevice.USERS).or("").lines().map(String::strip).toList();
    List<String> lines = host.run(SmiDevice.QUERY).or("").lines().filter(line -> !line.isBlank()).toList();
    List<SmiDevice> devices = lines.stream().flatMap(line -> SmiDevice.of(line, users).stream()).toList();
    devices.stream().map(SmiDevice::finding).forEach(findings::add);
    if (devices.isEmpty() || devices.size() < lines.size()) {
      findings.add(Finding.note(GPU, "nvidia-smi did not describe all GPUs as expected: "
          + (lines.isEmpty() ? "no answer" : lines.get(0).strip())));
    }
    slices(host).ifPresent(findings::add);
  }

  private static Optional<Finding> slices(Host host) {
    String slices = SLICE.matcher(host.run("nvidia-smi", "-L").or("")).results().map(found -> found.group(1))
        .collect(Collectors.groupingBy(profile -> profile, TreeMap::new, Collectors.counting()))
        .entrySet().stream().map(entry -> entry.getValue() + " × " + entry.getKey()).collect(Collectors.joining(", "));
    return slices.isEmpty() ? Optional.empty()
        : Optional.of(Finding.ok(GPU, "MIG slices: " + slices + "; a process sees one of them"));
  }
}
