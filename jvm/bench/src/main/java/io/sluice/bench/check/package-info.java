/**
 * Whether two engines gave the same result: digests of a result's rows, and of its order.
 *
 * <p>A digest does not depend on the order of rows, so that engines may deliver blocks in any order; where a
 * result must be sorted, its order is checked separately, within every partition and across their bounds.
 */
package io.sluice.bench.check;
