/**
 * Calls that differ between the Spark lines 3.3 to 4.2 or between Scala 2.12 and 2.13, resolved once at run time.
 *
 * <p>The product is compiled against one line. Almost everything it calls has the same binary signature on
 * every line and is called directly; calls whose signature differs go through {@link io.sluice.spark.compat.SparkLine},
 * which looks for the signatures it knows and says clearly when Spark has none of them. Nothing here compares version
 * numbers: a vendor's build with a backported change works as long as a known signature is there.
 */
package io.sluice.spark.compat;
