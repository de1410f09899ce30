package io.sluice.bench.tpch;

import io.sluice.bench.tables.GeneratedTable;
import io.trino.tpch.Customer;
import io.trino.tpch.LineItem;
import io.trino.tpch.Nation;
import io.trino.tpch.Order;
import io.trino.tpch.Part;
import io.trino.tpch.PartSupplier;
import io.trino.tpch.Region;
import io.trino.tpch.Supplier;
import io.trino.tpch.TpchEntity;
import io.trino.tpch.TpchTable;
import java.math.BigDecimal;
import java.util.Iterator;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * The tables of TPC-H. Keys are 64-bit, money and quantities DECIMAL(15,2), dates DATE, as in other kits for
 * Spark. Rows come from a port of the specification's dbgen and have its contents: every part of a table can be
 * made alone, and the rows do not depend on the number of parts.
 */
public enum Table implements GeneratedTable {

  /** Five regions. */
  REGION("r_regionkey BIGINT, r_name STRING, r_comment STRING", 0, TpchTable.REGION, Table::region),

  /** 25 nations. */
  NATION("n_nationkey BIGINT, n_name STRING, n_regionkey BIGINT, n_comment STRING", 0, TpchTable.NATION,
      Table::nation),

  /** 10,000 at scale 1. */
  SUPPLIER("s_suppkey BIGINT, s_name STRING, s_address STRING, s_nationkey BIGINT, s_phone STRING, "
      + "s_acctbal DECIMAL(15,2), s_comment STRING", 1, TpchTable.SUPPLIER, Table::supplier),

  /** 200,000 at scale 1. */
  PART("p_partkey BIGINT, p_name STRING, p_mfgr STRING, p_brand STRING, p_type STRING, p_size INT, "
      + "p_container STRING, p_retailprice DECIMAL(15,2), p_comment STRING", 1, TpchTable.PART, Table::part),

  /** Four suppliers per part. */
  PARTSUPP("ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_supplycost DECIMAL(15,2), "
      + "ps_comment STRING", 2, TpchTable.PART_SUPPLIER, Table::partSupplier),

  /** 150,000 at scale 1. */
  CUSTOMER("c_custkey BIGINT, c_name STRING, c_address STRING, c_nationkey BIGINT, c_phone STRING, "
      + "c_acctbal DECIMAL(15,2), c_mktsegment STRING, c_comment STRING", 1, TpchTable.CUSTOMER, Table::customer),

  /** Ten per customer. */
  ORDERS("o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DECIMAL(15,2), "
      + "o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING", 4,
      TpchTable.ORDERS, Table::order),

  /** One to seven per order. */
  LINEITEM("l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, l_quantity DECIMAL(15,2), "
      + "l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag STRING, "
      + "l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct STRING, "
      + "l_shipmode STRING, l_comment STRING", 8, TpchTable.LINE_ITEM, Table::lineItem);

  private final String columns;
  private final int partsAtScale1;
  private final Rows rows;

  /** Makes the rows of a part of a table. */
  private interface Rows {
    Stream<Object[]> of(double scale, int part, int parts);
  }

  <E extends TpchEntity> Table(String columns, int partsAtScale1, TpchTable<E> source, Function<E, Object[]> row) {
    this.columns = columns;
    this.partsAtScale1 = partsAtScale1;
    this.rows = (scale, part, parts) -> StreamSupport
        .stream(source.createGenerator(scale, part, parts).spliterator(), false).map(row);
  }

  @Override
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  @Override
  public String columns() {
    return columns;
  }

  @Override
  public int parts(double scale) {
    return (int) Math.max(1, Math.ceil(partsAtScale1 * scale));
  }

  @Override
  public Iterator<Object[]> rows(double scale, int part, int parts) {
    return rows.of(scale, part, parts).iterator();
  }

  private static Object[] region(Region row) {
    return values(row.getRegionKey(), row.getName(), row.getComment());
  }

  private static Object[] nation(Nation row) {
    return values(row.getNationKey(), row.getName(), row.getRegionKey(), row.getComment());
  }

  private static Object[] supplier(Supplier row) {
    return values(row.getSupplierKey(), row.getName(), row.getAddress(), row.getNationKey(), row.getPhone(),
        hundredths(row.getAccountBalanceInCents()), row.getComment());
  }

  private static Object[] part(Part row) {
    return values(row.getPartKey(), row.getName(), row.getManufacturer(), row.getBrand(), row.getType(),
        row.getSize(), row.getContainer(), hundredths(row.getRetailPriceInCents()), row.getComment());
  }

  private static Object[] partSupplier(PartSupplier row) {
    return values(row.getPartKey(), row.getSupplierKey(), row.getAvailableQuantity(),
        hundredths(row.getSupplyCostInCents()), row.getComment());
  }

  private static Object[] customer(Customer row) {
    return values(row.getCustomerKey(), row.getName(), row.getAddress(), row.getNationKey(), row.getPhone(),
        hundredths(row.getAccountBalanceInCents()), row.getMarketSegment(), row.getComment());
  }

  private static Object[] order(Order row) {
    return values(row.getOrderKey(), row.getCustomerKey(), String.valueOf(row.getOrderStatus()),
        hundredths(row.getTotalPriceInCents()), row.getOrderDate(), row.getOrderPriority(), row.getClerk(),
        row.getShipPriority(), row.getComment());
  }

  private static Object[] lineItem(LineItem row) {
    return values(row.getOrderKey(), row.getPartKey(), row.getSupplierKey(), row.getLineNumber(),
        BigDecimal.valueOf(row.getQuantity()), hundredths(row.getExtendedPriceInCents()),
        hundredths(row.getDiscountPercent()), hundredths(row.getTaxPercent()), row.getReturnFlag(), row.getStatus(),
        row.getShipDate(), row.getCommitDate(), row.getReceiptDate(), row.getShipInstructions(), row.getShipMode(),
        row.getComment());
  }

  private static Object[] values(Object... values) {
    return values;
  }

  private static BigDecimal hundredths(long value) {
    return BigDecimal.valueOf(value, 2);
  }
}
