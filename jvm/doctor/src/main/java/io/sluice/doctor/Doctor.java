package io.sluice.doctor;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.ContainerCheck;
import io.sluice.doctor.check.CrossMemoryCheck;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.InterfacesCheck;
import io.sluice.doctor.check.JavaCheck;
import io.sluice.doctor.check.LibcCheck;
import io.sluice.doctor.check.LimitsCheck;
import io.sluice.doctor.check.LocalDirsCheck;
import io.sluice.doctor.check.MemoryCheck;
import io.sluice.doctor.check.NativeLibraryCheck;
import io.sluice.doctor.check.PlatformCheck;
import io.sluice.doctor.check.ProcessorCheck;
import io.sluice.doctor.check.SharedMemoryCheck;
import io.sluice.doctor.check.TcpCheck;
import io.sluice.doctor.host.Host;
import io.sluice.doctor.mode.Mode;
import io.sluice.doctor.mode.ModeVerdict;
import io.sluice.doctor.rdma.GpuCheck;
import io.sluice.doctor.rdma.RdmaCheck;
import io.sluice.doctor.rdma.RegistrationCheck;
import io.sluice.doctor.rdma.RoceQualityCheck;
import io.sluice.doctor.rdma.VerbsCheck;
import io.sluice.doctor.report.Report;
import io.sluice.doctor.spark.GpuSharesCheck;
import io.sluice.doctor.spark.KeyFilesCheck;
import io.sluice.doctor.spark.SluiceMemory;
import io.sluice.doctor.spark.SparkCheck;
import io.sluice.doctor.spark.SparkLocalDirs;
import io.sluice.doctor.ucx.UcxCheck;
import io.sluice.doctor.ucx.UcxProbe;
import io.sluice.doctor.ucx.UcxSearch;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Runs every check on a machine and judges the modes by what they find. */
final class Doctor {
  private Doctor() {}

  /**
   * @param version Sluice's
   * @param jar the jar that this program runs from
   * @param progress hears of each check before it begins
   */
  static Report examine(Host host, Options options, String version, String jar, CheckProgress progress) {
    List<Check> checks = checks(host, options, jar);
    List<Finding> findings = IntStream.range(0, checks.size()).boxed().flatMap(i -> {
      progress.begins(checks.get(i).subject().title(), i, checks.size());
      return look(checks.get(i), host).stream();
    })
        .sorted(Comparator.comparing(Finding::subject)).toList();
    List<ModeVerdict> modes = Stream.of(Mode.values()).map(mode -> ModeVerdict.of(mode, findings)).toList();
    return new Report(version, host.read("/proc/sys/kernel/hostname").or("this machine"), findings, modes,
        options.modes());
  }

  /** A check that throws is a defect of this program; the findings of the other checks are reported all the same. */
  private static List<Finding> look(Check check, Host host) {
    try {
      return check.look(host);
    } catch (RuntimeException e) {
      return List.of(Finding.unknown(check.subject(), "this check failed, please report it: " + e));
    }
  }

  private static List<Check> checks(Host host, Options options, String jar) {
    String spark = options.sparkHome().isEmpty() ? host.environment("SPARK_HOME").orElse("") : options.sparkHome();
    List<String> localDirs = options.localDirs().isEmpty() ? SparkLocalDirs.of(host, spark) : options.localDirs();
    return List.of(new PlatformCheck(), new JavaCheck(), new LibcCheck(), new ProcessorCheck(),
        new MemoryCheck(SluiceMemory.ofExecutor(host, spark, options.settings())), new LimitsCheck(),
        new ContainerCheck(), new NativeLibraryCheck(), new LocalDirsCheck(localDirs),
        new SparkCheck(spark, jar), new KeyFilesCheck(spark, options.settings()),
        new UcxCheck(new UcxSearch(options.ucxLibrary()), UcxProbe.all()),
        new SharedMemoryCheck(), new CrossMemoryCheck(), new RdmaCheck(), new RoceQualityCheck(), new VerbsCheck(),
        new RegistrationCheck(localDirs), new GpuCheck(), new GpuSharesCheck(spark),
        new InterfacesCheck(), new TcpCheck());
  }
}
