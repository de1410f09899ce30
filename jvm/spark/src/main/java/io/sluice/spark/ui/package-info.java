/**
 * The tab <em>Sluice</em> of Spark's UI, of a running application and in the History Server.
 *
 * <pre>
 *   events ─→ StatusListener ─→ rows in Spark's store ─→ StatusStore ─→ page contents ─→ SluicePage ─→ browser
 * </pre>
 *
 * Pages read the store only. What they make is text (package-private classes named {@code …Content});
 * {@code SluicePage} alone knows of servlets and of Scala's XML, which differ between Spark's lines. Every text that
 * comes from outside goes through {@code Html.text}. See {@code docs/decisions/0023}.
 */
package io.sluice.spark.ui;
