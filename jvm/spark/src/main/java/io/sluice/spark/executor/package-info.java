/** What one executor process has once for all its tasks, and passes to their readers and writers. */
package io.sluice.spark.executor;
