//! Who has the memory of batches and arrays, until when; and what a failing call leaves.

use super::*;

/// What is leased when all that was freed has come back.
fn leased(setting: &Setting) -> usize {
    setting.stream.flush();
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    setting.arena.memory().leased_bytes()
}

/// An array's columns may be moved out and outlive it, and any thread may release them.
#[test]
fn columns_outlive_their_batch() {
    let Some(setting) = Setting::new() else { return };
    let block = row_frames(&vec![unsafe_row(&[Value::Word(7), Value::Bytes(b"text".to_vec())]); 40], 2, FAST).concat();
    let schema = schema_of(&["l", "u"]);
    let before = leased(&setting);
    // SAFETY: frames of the host.
    let made = unsafe {
        decode_columns(&setting.kernels, &setting.stream, FramesIn::Host(&[&block]), &schema, long()).unwrap()
    };
    let batch = owned(made.array);
    // SAFETY: the batch has two children.
    let child = unsafe { OwnedArray::take(*batch.array().children).unwrap() };
    drop(batch);
    // SAFETY: the child has two buffers.
    let values = unsafe { *child.array().buffers.add(1) }.addr() as u64;
    assert_eq!(download(&setting, values, 16), [7u64.to_le_bytes(), 7u64.to_le_bytes()].concat());
    std::thread::scope(|scope| scope.spawn(move || drop(child)).join().unwrap());
    assert!(leased(&setting) <= before);
    setting.finish();
}

/// A producer's event is waited for: the copy that fills the batch has not been done when it is handed over.
#[test]
fn the_producers_event_comes_first() {
    let Some(setting) = Setting::new() else { return };
    let context = setting.stream.stream().context().clone();
    let producer = context.new_stream().unwrap();
    let rows = 300usize;
    let words: Vec<u8> = (0..rows as u64).flat_map(|i| (i * 3).to_le_bytes()).collect();
    let memory = setting.stream.lease(words.len(), long()).unwrap();
    let event = context.event().unwrap();
    // SAFETY: the bytes live until the stream has finished.
    unsafe { producer.copy_to_device(memory.address(), words.as_ptr(), words.len()).unwrap() };
    event.record(&producer).unwrap();
    let spec = batch_of(rows as i64, vec![column(rows, vec![None, Some(words.clone())])]);
    let array = array_at(&spec, &mut |_| memory.address().0);
    let mut handle = event.handle();
    let sync_event = std::ptr::from_mut(&mut handle).cast();
    let array = ArrowDeviceArray { array, device_id: 0, device_type: DEVICE_CUDA, sync_event, reserved: [0; 3] };
    // SAFETY: just made; the event lives.
    let batch = unsafe { DeviceBatch::describe(&array, &schema_of(&["l"])).unwrap() };
    assert_eq!((batch.rows(), batch.device()), (rows, 0));
    // SAFETY: as above.
    unsafe { setting.stream.stream().wait_for_foreign(*batch.event().cast()).unwrap() };
    // SAFETY: all live until the call has returned.
    let columns = unsafe { PartitionedColumns::of(&batch, DeviceAddress(0), 1) };
    let made = encode_columns(&setting.kernels, &setting.stream, columns, FAST, long()).unwrap();
    let all: Vec<Vec<u8>> = (0..rows as u64).map(|i| unsafe_row(&[Value::Word(i * 3)])).collect();
    check_frames(&setting, &made, &expected(&all, &vec![0; rows], 1, 1, FAST), "behind an event");
    producer.finish(long()).unwrap();
    setting.stream.free(memory);
    drop(owned(array.array));
    drop((made, event, producer, context));
    setting.finish();
}

/// A call of the driver that fails anywhere: declined, nothing is left, and the next batch works.
#[test]
fn calls_that_fail_leave_nothing() {
    let Some(setting) = Setting::simulated() else { return };
    let formats = ["l".to_owned(), "u".to_owned()];
    let made = batch_for_device(&mut Random::new(3), &formats, 200);
    let schema = made.schema.read().unwrap();
    let block = row_frames(&made.rows, 2, FAST).concat();
    check(&setting, &made, &formats, 1, FAST);
    let before = leased(&setting);
    for nth in [1, 2, 3, 7, 12, 20] {
        setting.simulator().configure(&format!("fail=cuLaunchKernel@{nth}:1"));
        let failed = encode(&setting, &made.array, &schema, None, 1, FAST).map(drop);
        assert!(matches!(failed, Err(Declined::Device(_))), "launch {nth}: {failed:?}");
        assert_eq!(leased(&setting), before, "launch {nth} of an encode");
    }
    for nth in [1, 2, 4, 6, 7, 8] {
        setting.simulator().configure(&format!("fail=cuLaunchKernel@{nth}:1"));
        let failed = decode_of(&setting, &block, &["l", "u"]);
        assert!(matches!(failed, Err(Declined::Device(_))), "launch {nth}: {failed:?}");
        assert_eq!(leased(&setting), before, "launch {nth} of a decode");
    }
    check(&setting, &made, &formats, 1, FAST);
    setting.finish();
}
