/**
 * Sluice's part of Spark's REST interface, {@code /api/v1/applications/<id>/sluice}. It is in a package of Spark's,
 * because Spark's server looks for resources below {@code org.apache.spark.status.api.v1} only.
 *
 * <p>Spark 3 looks for classes with the annotations of {@code javax.ws.rs}, Spark 4 for those of {@code
 * jakarta.ws.rs}. So each resource is there twice, and a server never loads the class that is not for it: it reads the
 * annotations in the class files ({@code docs/decisions/0025}).
 */
package org.apache.spark.status.api.v1.sluice;
