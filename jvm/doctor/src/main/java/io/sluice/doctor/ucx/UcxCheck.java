package io.sluice.doctor.ucx;

import static io.sluice.doctor.check.Subject.UCX_LIBRARY;
import static io.sluice.doctor.check.Subject.UCX_TRANSPORTS;

import io.sluice.doctor.check.Check;
import io.sluice.doctor.check.Finding;
import io.sluice.doctor.check.Subject;
import io.sluice.doctor.host.Host;
import io.sluice.doctor.ucx.UcxLibrary.Source;
import java.util.List;
import java.util.Optional;

/** Which UCX would be used, whether it is new enough, and which transports it brings. */
public final class UcxCheck implements Check {
  private static final String INSTALL = "Install UCX " + UcxVersion.OLDEST.major() + "." + UcxVersion.OLDEST.minor()
      + " or later (packages named ucx or libucx0, or a release of openucx/ucx) and, if the loader does not find it, "
      + "set spark.sluice.ucx.library to the path of libucp.so.0";

  private final UcxSearch search;
  private final List<UcxProbe> probes;

  public UcxCheck(UcxSearch search, List<UcxProbe> probes) {
    this.search = search;
    this.probes = probes;
  }

  @Override
  public Subject subject() {
    return UCX_LIBRARY;
  }

  @Override
  public List<Finding> look(Host host) {
    Optional<UcxLibrary> found = search.find(host);
    if (found.isEmpty()) {
      return List.of(search.configured().isEmpty()
          ? Finding.problem(UCX_LIBRARY, "no libucp.so.0 in LD_LIBRARY_PATH, the loader's cache or the usual folders", INSTALL)
          : Finding.problem(UCX_LIBRARY, "no libucp.so.0 at " + search.configured(),
              "Give --ucx-library the path of libucp.so.0, or of its folder"));
    }
    UcxLibrary library = found.get();
    Optional<UcxProbe.Answer> answer = probes.stream().flatMap(probe -> probe.ask(host, library).stream()).findFirst();
    return List.of(library(library, answer), transports(host, library, answer));
  }

  private static Finding library(UcxLibrary library, Optional<UcxProbe.Answer> answer) {
    String version = answer.map(known -> "UCX " + known.version() + " (from " + known.how() + "), ")
        .orElse("UCX of unknown version, ");
    String text = version + library.path();
    if (answer.map(known -> known.version().compareTo(UcxVersion.OLDEST) < 0).orElse(false)) {
      return Finding.problem(UCX_LIBRARY, text + ": older than " + UcxVersion.OLDEST, INSTALL);
    }
    if (library.source() == Source.USUAL_FOLDER) {
      return Finding.problem(UCX_LIBRARY, text + ": the loader does not look there",
          "spark.sluice.ucx.library=" + library.path() + " (check it with --ucx-library)");
    }
    return answer.isPresent() ? Finding.ok(UCX_LIBRARY, text) : Finding.note(UCX_LIBRARY, text);
  }

  private static Finding transports(Host host, UcxLibrary library, Optional<UcxProbe.Answer> answer) {
    List<String> working = answer.map(UcxProbe.Answer::transports).orElse(List.of());
    List<String> modules = UcxModule.of(host, library);
    String text = working.isEmpty() ? "built in: tcp, shared memory; modules: "
        + (modules.isEmpty() ? "none in " + library.modules() : String.join(", ", modules))
        : "work here: " + String.join(", ", working);
    boolean devices = !host.list("/sys/class/infiniband").isEmpty();
    if (devices && modules.stream().noneMatch(UcxModule::isRdma) && working.stream().noneMatch(UcxModule::isRdmaTransport)) {
      return Finding.warning(UCX_TRANSPORTS, text + "; no RDMA module (libuct_ib), though there are RDMA devices",
          "Install the package with UCX's InfiniBand module (ucx-ib), of the same version");
    }
    return Finding.ok(UCX_TRANSPORTS, text);
  }
}
