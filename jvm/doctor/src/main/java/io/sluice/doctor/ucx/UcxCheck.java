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

  private static final String OLD =
      "Update or remove it: the UCX in Sluice's jar is used only where the system has none. "
          + INSTALL;

  private final UcxSearch search;
  private final List<UcxProbe> probes;

  public UcxCheck(UcxSearch search, List<UcxProbe> probes) {
    this.search = search;
    this.probes = probes;
  }

  /** A library and its properties. */
  private record Candidate(UcxLibrary library, Optional<UcxProbe.Answer> answer) {
    boolean old() {
      return answer.map(known -> known.version().compareTo(UcxVersion.OLDEST) < 0).orElse(false);
    }

    String text() {
      String version =
          answer.map(known -> known.version() + " (from " + known.how() + ")").orElse("of unknown version");
      return "UCX " + version + ", " + library.where();
    }
  }

  @Override
  public Subject subject() {
    return UCX_LIBRARY;
  }

  @Override
  public List<Finding> look(Host host) {
    Optional<Candidate> found = search.find(host).map(library -> new Candidate(library,
        probes.stream().flatMap(probe -> probe.ask(host, library).stream()).findFirst()));
    return found.map(used -> List.of(library(host, used), transports(host, used))).orElseGet(() -> List.of(none()));
  }

  private Finding none() {
    return search.configured().isEmpty()
        ? Finding.problem(UCX_LIBRARY,
            "no libucp.so.0 in LD_LIBRARY_PATH, the loader's cache, the jar or the usual folders",
            INSTALL)
        : Finding.problem(UCX_LIBRARY, "no libucp.so.0 at " + search.configured(),
            "Give --ucx-library the path of libucp.so.0, or of its folder");
  }

  private Finding library(Host host, Candidate used) {
    if (used.old()) {
      return Finding.problem(UCX_LIBRARY, used.text() + ": older than " + UcxVersion.OLDEST,
          search.elsewhere(host).map(UcxCheck::configure).orElse(OLD));
    }
    if (used.library().source() == Source.USUAL_FOLDER) {
      return Finding.problem(UCX_LIBRARY, used.text() + ": the loader does not look there", configure(used.library()));
    }
    return used.answer().isPresent() ? Finding.ok(UCX_LIBRARY, used.text()) : Finding.note(UCX_LIBRARY, used.text());
  }

  private static String configure(UcxLibrary library) {
    return "spark.sluice.ucx.library=" + library.path() + " (check it with --ucx-library)";
  }

  private Finding transports(Host host, Candidate used) {
    List<String> working = used.answer().map(UcxProbe.Answer::transports).orElse(List.of());
    List<String> modules = UcxModule.of(host, used.library());
    String text = working.isEmpty()
        ? "built in: tcp, shared memory; modules: " + (modules.isEmpty() ? "none" : String.join(", ", modules))
        : "work here: " + String.join(", ", working);
    boolean devices = !host.list("/sys/class/infiniband").isEmpty();
    boolean module = modules.stream().anyMatch(UcxModule::isRdma);
    // A module that is there may be refused the devices, or not be loaded.
    boolean works = working.isEmpty() ? module : working.stream().anyMatch(UcxModule::isRdmaTransport);
    if (!devices || works) {
      return Finding.ok(UCX_TRANSPORTS, text);
    }
    if (module) {
      return Finding.warning(UCX_TRANSPORTS,
          text + "; none of RDMA's, though there are RDMA devices and the module libuct_ib",
          "Mend what is found below of RDMA ports, device files and locked memory; UCX_LOG_LEVEL=debug ucx_info -d "
              + "says why UCX leaves a device out");
    }
    return Finding.warning(UCX_TRANSPORTS, text + "; no RDMA module (libuct_ib), though there are RDMA devices",
        used.library().source() == Source.JAR
            ? search.elsewhere(host).map(UcxCheck::configure).orElse(INSTALL)
            : "Install the package with UCX's InfiniBand module (ucx-ib), of the same version");
  }
}
