/** The thread pool of encoders and decoders. */
package io.sluice.spark.concurrent;
