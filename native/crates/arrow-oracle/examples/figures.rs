//! What columns → frames and back cost, beside rows → frames and Arrow IPC: makes the page `bench/results/columns.md`,
//! whose command is [`COMMAND`]. CPU time of the one thread; every way once a round, the median of the rounds.
//!
//! With arguments, only the lines of tables and ways whose names contain them, and so many rounds: `-- mixed8 "200
//! partitions" 50`.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema as ArrowRsSchema, TimeUnit};
use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, FrameHeader, HEADER_BYTES, Level};
use sluice_columns::ffi::{ArrowArray, ArrowSchema};
use sluice_columns::partition;
use sluice_columns::{Batch, ColumnDecoder, ColumnEncoder, ColumnError, OwnedArray, PageFiller, PageRows, Schema};
use sluice_engine::{MapOutputWriter, Page};
use sluice_mem::{Arena, ArenaOptions, HostProvider, Lease};
use sluice_testkit::{Table, bench_table, incompressible, lineitem};

/// Less for tables of longer rows: those of each take less than the 64 MiB that a map task encodes at a time.
const ROWS: usize = 400_000;
const BATCH_ROWS: usize = 8192;
const ROUNDS: usize = 9;
const PARTITIONS: u32 = 200;

/// In the folder `native`.
const COMMAND: &str = "cargo run --release -p sluice-arrow-oracle --example figures > ../bench/results/columns.md";
/// Processes that ran or waited for a processor in the last minute, this one among them, above which other work
/// disturbs the figures.
const QUIET_LOAD: f64 = 1.3;

/// CPU time of this thread, in nanoseconds.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The types of a table's columns.
fn types(table: &Table) -> Vec<DataType> {
    use DataType::*;
    let money = || Decimal128(12, 2);
    match table.name {
        "mixed8" => vec![Int64, Int64, Int64, Float64, Int64, Utf8, Timestamp(TimeUnit::Microsecond, None), Int64],
        "lineitem" => vec![
            Int64,
            Int64,
            Int64,
            Int32,
            money(),
            money(),
            money(),
            money(),
            Utf8,
            Utf8,
            Date32,
            Date32,
            Date32,
            Utf8,
            Utf8,
            Utf8,
        ],
        _ => vec![Int64, Binary],
    }
}

/// One table in every form.
struct Forms {
    table: Table,
    arrow: Vec<RecordBatch>,
    batches: Vec<Batch>,
    schema: Schema,
}

fn import(batch: &RecordBatch, schema: &Schema) -> Batch {
    let (mut array, _) = to_ffi(&StructArray::from(batch.clone()).to_data()).expect("an array");
    // SAFETY: arrow-rs's struct is the interface's; the one here is left released.
    unsafe {
        let array = OwnedArray::take((&raw mut array).cast::<ArrowArray>()).expect("an array");
        Batch::import(array, schema).expect("a batch")
    }
}

impl Forms {
    fn of(table: Table) -> Self {
        let fields = types(&table).into_iter().enumerate().map(|(i, ty)| Field::new(format!("c{i}"), ty, true));
        let arrow_schema = Arc::new(ArrowRsSchema::new(fields.collect::<Vec<_>>()));
        let ffi = FFI_ArrowSchema::try_from(arrow_schema.as_ref()).expect("a schema");
        // SAFETY: arrow-rs's struct is the interface's.
        let schema = unsafe { Schema::read((&raw const ffi).cast::<ArrowSchema>()).expect("a schema") };
        let block = rows_to_frames(&table, &mut Encoder::new(FAST));
        let (array, _) = ColumnDecoder::new().decode(&schema, &block, usize::MAX).expect("frames");
        // SAFETY: as above; arrow-rs releases it.
        let data = unsafe {
            from_ffi(std::mem::transmute::<ArrowArray, FFI_ArrowArray>(array.into_raw()), &ffi).expect("an array")
        };
        let all = RecordBatch::from(StructArray::from(data));
        let arrow: Vec<RecordBatch> = (0..all.num_rows())
            .step_by(BATCH_ROWS)
            .map(|at| all.slice(at, BATCH_ROWS.min(all.num_rows() - at)))
            .collect();
        let batches = arrow.iter().map(|batch| import(batch, &schema)).collect();
        Self { table, arrow, batches, schema }
    }
}

const FAST: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };
const ZSTD: CodecOptions = CodecOptions { codec: Codec::Zstd, level: Level::Fast };

fn rows_to_frames(table: &Table, encoder: &mut Encoder) -> Vec<u8> {
    let rows: Vec<&[u8]> = (0..table.rows()).map(|i| table.row(i)).collect();
    let mut block = Vec::new();
    let done: Result<(), ()> = encoder.encode(&rows, table.fields, |frame| {
        block.extend_from_slice(frame);
        Ok(())
    });
    done.expect("frames");
    block
}

fn columns_to_frames(batches: &[Batch], encoder: &mut ColumnEncoder) -> Vec<u8> {
    let refs: Vec<&Batch> = batches.iter().collect();
    let mut block = Vec::new();
    let done = encoder.encode_all(&refs, |frame| {
        block.extend_from_slice(frame);
        Ok::<(), ColumnError>(())
    });
    done.expect("frames");
    block
}

fn ipc(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).expect("a codec");
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("a batch"));
    writer.finish().expect("an end");
    writer.into_inner().expect("bytes")
}

fn frames_to_rows(block: &[u8], decoder: &mut Decoder, target: &mut [u8], lengths: &mut [u32]) -> usize {
    let (mut at, mut rows) = (0, 0);
    while at < block.len() {
        let header = FrameHeader::parse(&block[at..]).expect("a header");
        let end = at + HEADER_BYTES + header.encoded_bytes as usize;
        rows += decoder.decode(&block[at..end], target, lengths).expect("a frame");
        at = end;
    }
    rows
}

fn frames_to_columns(block: &[u8], schema: &Schema, decoder: &mut ColumnDecoder) -> usize {
    let (mut at, mut rows) = (0, 0);
    while at < block.len() {
        let (array, read) = decoder.decode(schema, &block[at..], BATCH_ROWS).expect("frames");
        rows += array.array().length as usize;
        at += read;
    }
    rows
}

/// The name of a way, how many bytes it makes (or reads), and its times.
struct Way<'w> {
    name: &'static str,
    bytes: usize,
    run: Box<dyn FnMut() -> usize + 'w>,
    times: Vec<f64>,
}

fn way<'w>(name: &'static str, run: impl FnMut() -> usize + 'w) -> Way<'w> {
    Way { name, bytes: 0, run: Box::new(run), times: Vec::new() }
}

/// Whether the argument, if there is one, is in this name.
fn wanted(argument: usize, name: &str) -> bool {
    std::env::args().nth(argument).is_none_or(|text| name.contains(&text))
}

/// Runs all ways in turn, and prints a line of a table for each.
fn measure(forms: &Forms, mut ways: Vec<Way<'_>>) {
    ways.retain(|way| wanted(2, way.name));
    for way in &mut ways {
        way.bytes = (way.run)();
    }
    let rounds = std::env::args().nth(3).map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"));
    for _ in 0..rounds {
        for way in &mut ways {
            let start = cpu();
            std::hint::black_box((way.run)());
            way.times.push(cpu() - start);
        }
    }
    let (rows, fields) = (forms.table.rows() as f64, f64::from(forms.table.fields));
    for way in &mut ways {
        way.times.sort_by(f64::total_cmp);
        let row = way.times[rounds / 2] / rows;
        println!(
            "| {} | {} | {row:.1} | {:.1} – {:.1} | {:.2} | {:.1} |",
            forms.table.name,
            way.name,
            way.times[0] / rows,
            way.times[rounds - 1] / rows,
            row / fields,
            way.bytes as f64 / rows
        );
    }
}

fn writing(forms: &Forms) {
    let (table, arrow, batches) = (&forms.table, &forms.arrow, &forms.batches);
    let (mut lz4, mut zstd) = (Encoder::new(FAST), Encoder::new(ZSTD));
    let mut columns = [FAST, FAST, ZSTD].map(ColumnEncoder::new);
    let [with_import, imported, columns_zstd] = &mut columns;
    measure(
        forms,
        vec![
            way("rows → frames, LZ4", || rows_to_frames(table, &mut lz4).len()),
            way("columns → frames, LZ4", || columns_to_frames(batches, imported).len()),
            way("… with the import of each batch", || {
                let batches: Vec<Batch> = arrow.iter().map(|batch| import(batch, &forms.schema)).collect();
                columns_to_frames(&batches, with_import).len()
            }),
            way("rows → frames, zstd", || rows_to_frames(table, &mut zstd).len()),
            way("columns → frames, zstd", || columns_to_frames(batches, columns_zstd).len()),
            way("columns → Arrow IPC", || ipc(arrow, None).len()),
            way("columns → Arrow IPC, LZ4", || ipc(arrow, Some(CompressionType::LZ4_FRAME)).len()),
            way("columns → Arrow IPC, zstd", || ipc(arrow, Some(CompressionType::ZSTD)).len()),
        ],
    );
}

/// Pages of the map tasks below.
const PAGE_BYTES: usize = 1 << 20;

/// What a map task of rows does natively: rows into pages, by partition into frames that stay in memory. All rows are
/// one batch, as those of the columns.
fn rows_by_partition(table: &Table, ids: &[u32], arena: &Arc<Arena>) -> MapOutputWriter {
    let output = MapOutputWriter::new(Arc::clone(arena), PARTITIONS, FAST).expect("partitions");
    let new_page = || arena.lease(PAGE_BYTES).expect("memory");
    let (mut pages, mut page, mut used, mut entries) = (Vec::new(), new_page(), 0, 0usize);
    for (i, id) in ids.iter().enumerate() {
        let row = table.row(i);
        if used + row.len() + (entries + 1) * 8 > PAGE_BYTES {
            pages.push((std::mem::replace(&mut page, new_page()), used, entries));
            (used, entries) = (0, 0);
        }
        let memory = page.as_mut_slice();
        memory[used..used + row.len()].copy_from_slice(row);
        entries += 1;
        let at = PAGE_BYTES - entries * 8;
        memory[at..at + 8].copy_from_slice(&(u64::from(*id) << 32 | used as u64).to_le_bytes());
        used += row.len();
    }
    pages.push((page, used, entries));
    encode(&output, table.fields, &pages);
    output
}

fn encode(output: &MapOutputWriter, fields: u32, pages: &[(Lease, usize, usize)]) {
    let pages: Vec<Page<'_>> = pages
        .iter()
        .map(|(lease, used, entries)| Page { memory: lease.as_slice(), used: *used, entries: *entries })
        .collect();
    output.encode(0, fields, &pages).expect("memory");
}

/// What a map task of batches does natively, as Spark's exchanges and Comet's give them: ids by Spark's hash, rows into
/// pages, by partition into frames that stay in memory.
fn batches_by_partition(
    forms: &Forms,
    partition_of: impl Fn(&Batch) -> Vec<u32>,
    filler: &mut PageFiller,
    arena: &Arc<Arena>,
) -> MapOutputWriter {
    let output = MapOutputWriter::new(Arc::clone(arena), PARTITIONS, FAST).expect("partitions");
    let new_page = || arena.lease(PAGE_BYTES).expect("memory");
    let (mut pages, mut page, mut used, mut entries) = (Vec::new(), new_page(), 0, 0);
    for batch in &forms.batches {
        let (ids, mut first) = (partition_of(batch), 0);
        while first < ids.len() {
            let mut rows = PageRows::of(page.as_mut_slice(), used, entries).expect("a page");
            first += filler.fill(batch, &ids, first, &mut rows).expect("a batch");
            (used, entries) = (rows.used(), rows.entries());
            if first < ids.len() {
                pages.push((std::mem::replace(&mut page, new_page()), used, entries));
                (used, entries) = (0, 0);
            }
        }
    }
    pages.push((page, used, entries));
    encode(&output, forms.table.fields, &pages);
    output
}

/// The bytes of an output's frames: of those in a file, as what holds them in memory is not full.
fn frame_bytes(output: &MapOutputWriter) -> usize {
    let path = std::env::temp_dir().join(format!("sluice-figures-{}", std::process::id()));
    let bytes = output.spill(&path).expect("disk");
    let _ = std::fs::remove_file(&path);
    bytes as usize
}

/// Into partitions by a hash of the first column: the frames of each.
fn partitioned(forms: &Forms) {
    let (table, batches) = (&forms.table, &forms.batches);
    let partition_of = |batch: &Batch| partition::hash(batch, &[0], PARTITIONS).expect("ids");
    let ids: Vec<u32> = batches.iter().flat_map(partition_of).collect();
    let mut sorted: Vec<Vec<&[u8]>> = vec![Vec::new(); PARTITIONS as usize];
    ids.iter().enumerate().for_each(|(i, id)| sorted[*id as usize].push(table.row(i)));
    let (mut rows, mut columns) = (Encoder::new(FAST), ColumnEncoder::new(FAST));
    let all: Vec<&Batch> = batches.iter().collect();
    let arena = Arena::with_provider(Arc::new(HostProvider::default()), &ArenaOptions::with_limit(4 << 30));
    let of_rows = frame_bytes(&rows_by_partition(table, &ids, &arena));
    let mut filler = PageFiller::new();
    let of_batches = frame_bytes(&batches_by_partition(forms, partition_of, &mut filler, &arena));
    assert_eq!(of_rows, of_batches, "columns give the frames of rows");
    measure(
        forms,
        vec![
            way("200 partitions: rows (sorted before) → frames", || {
                let mut bytes = 0;
                for rows_of in &sorted {
                    let done: Result<(), ()> = rows.encode(rows_of, table.fields, |frame| {
                        bytes += frame.len();
                        Ok(())
                    });
                    done.expect("frames");
                }
                bytes
            }),
            way("200 partitions: rows → pages, sort, frames", || {
                rows_by_partition(table, &ids, &arena);
                of_rows
            }),
            way("200 partitions: columns → hash, pages, sort, frames", || {
                batches_by_partition(forms, partition_of, &mut filler, &arena);
                of_batches
            }),
            way("200 partitions: columns → hash, sort, frames", || {
                let ids: Vec<Vec<u32>> = batches.iter().map(partition_of).collect();
                let refs: Vec<&[u32]> = ids.iter().map(|ids| &ids[..]).collect();
                let mut bytes = 0;
                let done = columns.encode_partitions(&all, &refs, PARTITIONS, |_, frame| {
                    bytes += frame.len();
                    Ok::<(), ColumnError>(())
                });
                done.expect("frames");
                bytes
            }),
        ],
    );
}

fn reading(forms: &Forms) {
    let (lz4, zstd) = (rows_to_frames(&forms.table, &mut Encoder::new(FAST)), {
        rows_to_frames(&forms.table, &mut Encoder::new(ZSTD))
    });
    let plain = ipc(&forms.arrow, None);
    let ipc_lz4 = ipc(&forms.arrow, Some(CompressionType::LZ4_FRAME));
    let ipc_zstd = ipc(&forms.arrow, Some(CompressionType::ZSTD));
    let (mut target, mut lengths) = (vec![0; 8 << 20], vec![0; 1 << 16]);
    let (mut rows, mut columns, mut columns_zstd) = (Decoder::new(), ColumnDecoder::new(), ColumnDecoder::new());
    let read = |bytes: &[u8]| {
        let reader = StreamReader::try_new(bytes, None).expect("a stream");
        reader.for_each(|batch| drop(std::hint::black_box(batch.expect("a batch"))));
        bytes.len()
    };
    measure(
        forms,
        vec![
            way("frames → rows, LZ4", || {
                frames_to_rows(&lz4, &mut rows, &mut target, &mut lengths);
                lz4.len()
            }),
            way("frames → columns, LZ4", || {
                frames_to_columns(&lz4, &forms.schema, &mut columns);
                lz4.len()
            }),
            way("frames → columns, zstd", || {
                frames_to_columns(&zstd, &forms.schema, &mut columns_zstd);
                zstd.len()
            }),
            way("Arrow IPC → columns", || read(&plain)),
            way("Arrow IPC, LZ4 → columns", || read(&ipc_lz4)),
            way("Arrow IPC, zstd → columns", || read(&ipc_zstd)),
        ],
    );
}

/// Makes a table.
type MakeTable = fn() -> Table;

/// A line of a file of /proc that begins with a word: what is behind its colon.
fn of_proc(file: &str, word: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{file}")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(word)).unwrap_or_default();
    line.split_once(':').map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

/// What a program prints.
fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program).args(arguments).output();
    output.map_or_else(|_| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What was measured, where and how.
fn head() {
    println!("# Columns to frames, and back\n");
    println!("`cd native && {COMMAND}`\n");
    let memory: f64 = of_proc("meminfo", "MemTotal").trim_end_matches(" kB").parse().unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let (date, commit) = (said_by("date", &["+%F"]), said_by("git", &["rev-parse", "--short", "HEAD"]));
    println!(
        "{}, {cores} cores, {:.0} GiB, {date}, commit {commit}. CPU time of the one thread, {ROUNDS} rounds, every way \
         once a round: median,\nleast and most. Tables of `sluice-testkit`: `mixed8` (five longs, a timestamp, a \
         double, a string; {ROWS} rows), `lineitem` (TPC-H's columns,\nfive strings; {} rows), `random90` (a \
         long and 90 random bytes; {} rows), in batches of {BATCH_ROWS} rows. Frames of rows and of\ncolumns are \
         compared before they are measured: they are the same bytes. Bytes are those of the encoded form.\n",
        of_proc("cpuinfo", "model name"),
        memory / 1024.0 / 1024.0,
        ROWS * 3 / 4,
        ROWS / 2,
    );
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default();
    if load > QUIET_LOAD {
        println!(
            "**Provisional: other programs ran beside it** (load {load:.1} on {cores} cores when it began). Compare \
             lines of a table with each\nother, not with other pages.\n"
        );
    }
    println!(
        "*Rows (sorted before)* leaves out how rows come to their partitions; *rows → pages, sort* is all that a map \
         task of rows does natively,\nwith ids that are there; *columns → hash, pages, sort* is what one of batches \
         does, whose ids it computes by Spark's hash;\n*columns → hash, sort* is `sluice_encode`, which makes no rows \
         before it sorts.\n"
    );
}

fn main() {
    if std::env::args().len() == 1 {
        head();
    }
    println!("| table | what | ns/row | least – most | ns/value | bytes/row |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let tables: [(&str, MakeTable); 3] = [
        ("mixed8", || bench_table(ROWS)),
        ("lineitem", || lineitem(ROWS * 3 / 4)),
        ("random90", || incompressible(ROWS / 2)),
    ];
    for (_, table) in tables.iter().filter(|(name, _)| wanted(1, name)) {
        let forms = Forms::of(table());
        let same = rows_to_frames(&forms.table, &mut Encoder::new(FAST))
            == columns_to_frames(&forms.batches, &mut ColumnEncoder::new(FAST));
        assert!(same, "columns give the frames of rows");
        writing(&forms);
        partitioned(&forms);
        reading(&forms);
    }
}
