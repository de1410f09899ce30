package io.sluice.doctor.rdma;

import static io.sluice.doctor.check.Subject.GPU;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** NVIDIA GPUs, their driver, and whether RDMA cards may reach their memory. This version of Sluice uses none of it. */
public final class GpuCheck implements Check {
  private static final String FOLDER = "/proc/driver/nvidia";
  private static final String UNUSED = "; this version of Sluice does not use GPUs";
  private static final Pattern DRIVER = Pattern.compile("Kernel Module.*?\\s(\\d+\\.\\d+(?:\\.\\d+)?)\\s");
  private static final Pattern MODEL = Pattern.compile("^Model:\\s*(.*)$", Pattern.MULTILINE);

  @Override
  public Subject subject() {
    return GPU;
  }

  @Override
  public List<Finding> look(Host host) {
    List<String> devices = host.list("/dev").stream().filter(name -> name.matches("nvidia\\d+")).toList();
    List<String> gpus = host.list(FOLDER + "/gpus");
    if (devices.isEmpty() && gpus.isEmpty()) {
      return List.of(Finding.ok(GPU, "none" + UNUSED));
    }
    String text = models(host, gpus, devices) + ", driver " + driver(host) + ", GPUDirect RDMA: " + direct(host);
    return List.of(devices.isEmpty()
        ? Finding.note(GPU, text + "; no /dev/nvidia*: not passed on to this container" + UNUSED)
        : Finding.ok(GPU, text + UNUSED));
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

  private static String direct(Host host) {
    String modules = host.read("/proc/modules").or("");
    return Stream.of("nvidia_peermem", "nv_peer_mem")
        .filter(name -> modules.lines().anyMatch(line -> line.startsWith(name + " ")))
        .findFirst().orElse("neither nvidia_peermem nor nv_peer_mem is loaded");
  }
}
