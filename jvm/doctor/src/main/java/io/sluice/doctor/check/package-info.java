/**
 * The checks ({@link io.sluice.doctor.check.Check}), their results ({@link io.sluice.doctor.check.Finding}), and
 * the checks of the machine itself. Those of UCX, RDMA and Spark have packages of their own.
 */
package io.sluice.doctor.check;
