/** The sort of Spark SQL's rows. */ // stub
package io.sluice.spark.sql;
