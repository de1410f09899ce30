/**
 * Finds UCX ({@link io.sluice.doctor.ucx.UcxSearch}) and its version and transports
 * ({@link io.sluice.doctor.ucx.UcxProbe}). Nothing here loads UCX: the library would stay in this process, and its
 * constructors run in it.
 */
package io.sluice.doctor.ucx;
