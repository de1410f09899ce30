package io.sluice.advisor.log;

import java.nio.file.Path;
import java.util.List;

/**
 * The files of one application's log.
 *
 * @param path the file, or the folder of a rolling log
 * @param files in the order in which Spark wrote them; one, unless the log is a rolling one
 * @param named whether the user named it, and not only the folder that it is in
 */
public record EventLog(Path path, List<Path> files, boolean named) {}
