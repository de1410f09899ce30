package io.sluice.spark.sql.plan

import org.apache.spark.sql.SparkSessionExtensions
import scala.runtime.AbstractFunction1

/**
 * What `spark.sql.extensions` names; `SluicePlugin` puts it there. Its name on Scala 2.12 has `scala212` before `plan`.
 */
final class SluiceExtensions extends AbstractFunction1[SparkSessionExtensions, Unit] {
  // Functions of any argument: the class of sessions differs between Spark 3 and 4.
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectColumnar((_: Any) => new SluiceColumnarRule)
    extensions.injectPlannerStrategy((_: Any) => new CometExchanges)
  }
}
