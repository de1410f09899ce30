package io.sluice.doctor.check;

import io.sluice.doctor.host.Host;
import java.util.List;

/** Looks at one aspect of a machine. Stateless; throws for nothing that a machine may lack. */
public interface Check {
  /** The subject of its findings; the first of several. */
  Subject subject();

  /** One finding or more; none where there is nothing to say. */
  List<Finding> look(Host host);
}
