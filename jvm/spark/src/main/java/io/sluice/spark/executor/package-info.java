/** The objects that exist once per executor process and that its tasks' readers and writers share. */
package io.sluice.spark.executor;
