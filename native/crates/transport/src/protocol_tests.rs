//! The protocol on the loopback wire: virtual time, ordered faults. Everything runs twice: with the loopback's own reads, and
//! with reads by system calls before them ([`Near`]).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sluice_mem::Arena;

use crate::agent::{Agent, Command, Options, PeerState, Shared};
use crate::completions::{Completion, Failure};
use crate::loopback::{Faults, Loopback, Network};
use crate::message::{Block, Body, InstanceId, Message, SAMPLE_BYTES, VERSION};
use crate::near::{Near, faults, permitted};
use crate::proof::{Handshake, Role, Secret};
use crate::windows::WINDOW_BYTES;
use crate::wire::{Event, Wire};

const TIMEOUT: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(1);

/// Who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    Loopback,
    Near,
}

/// A process: its agent, and what its callers see of it.
struct Process {
    agent: Agent<Near<Loopback>>,
    shared: Arc<Shared>,
    arena: Arc<Arena>,
    requests: u64,
}

/// Processes on one network, run in turn.
struct World {
    network: Network,
    start: Instant,
    elapsed: Duration,
    processes: Vec<Process>,
    files: PathBuf,
    reads: Reads,
    /// What was read by system calls, by all processes.
    near_bytes: Arc<AtomicU64>,
}

impl World {
    fn new(reads: Reads, seed: u64, secrets: &[&str]) -> Self {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let world = WORLDS.fetch_add(1, Ordering::Relaxed);
        let files = std::env::temp_dir().join(format!("sluice-transport-{}-{world}", std::process::id()));
        std::fs::create_dir_all(&files).expect("a folder");
        let network = Network::new(seed);
        let near_bytes = Arc::new(AtomicU64::new(0));
        let process = |secret: &&str| {
            let (shared, arena) = (Arc::new(Shared::default()), Arena::host(1 << 30));
            let options = Options {
                secret: secret.as_bytes().to_vec(),
                timeout: TIMEOUT,
                idle_window_bytes: 4 * WINDOW_BYTES as usize,
            };
            let wire = Near::new(network.wire(), reads == Reads::Near, Arc::clone(&near_bytes));
            let agent = Agent::new(wire, Arc::clone(&arena), Arc::clone(&shared), &options);
            Process { agent, shared, arena, requests: 0 }
        };
        let processes = secrets.iter().map(process).collect();
        Self { network, start: Instant::now(), elapsed: Duration::ZERO, processes, files, reads, near_bytes }
    }

    /// A wire of this network without an agent: the test speaks for it.
    fn stranger(&self) -> Near<Loopback> {
        Near::new(self.network.wire(), self.reads == Reads::Near, Arc::clone(&self.near_bytes))
    }

    /// A process's place on the network, which ends its address.
    fn node(&self, process: usize) -> Vec<u8> {
        let address = self.processes[process].agent.address();
        address[address.len() - 8..].to_vec()
    }

    fn command(&self, process: usize, command: Command) {
        self.processes[process].shared.commands.lock().expect("no panic").push(command);
    }

    /// The reader knows the owner by the owner's index.
    fn connect(&self, reader: usize, owner: usize) {
        let address = self.processes[owner].agent.address().to_vec();
        self.processes[reader].shared.peers.lock().expect("no panic").insert(owner as u64, PeerState::default());
        self.command(reader, Command::Connect { peer: owner as u64, attempt: 0, address });
    }

    /// So many connections of which the other side never hears.
    fn open_in_vain(&mut self, from: usize, to: usize, times: u32) {
        let address = self.processes[to].agent.address()[8..].to_vec();
        let wire = self.processes[from].agent.wire();
        for _ in 0..times {
            let opened = wire.open(&address).expect("there");
            wire.close(opened.endpoint);
        }
    }

    fn fetch(&mut self, reader: usize, owner: usize, blocks: &[Block]) -> u64 {
        self.processes[reader].requests += 1;
        let request = self.processes[reader].requests;
        self.command(reader, Command::Fetch { request, peer: owner as u64, blocks: blocks.to_vec() });
        request
    }

    /// Publishes a map output with these partitions; returns its bytes.
    fn publish(&self, owner: usize, map: u64, partitions: &[usize]) -> Vec<u8> {
        let bytes: Vec<u8> = (0..partitions.iter().sum()).map(|i: usize| (i * 31 + map as usize * 7) as u8).collect();
        let path = self.files.join(format!("{owner}-{map}"));
        std::fs::write(&path, &bytes).expect("written");
        let ends = partitions.iter().scan(0u64, |end, bytes| {
            *end += *bytes as u64;
            Some(*end)
        });
        let offsets = std::iter::once(0).chain(ends).collect();
        let catalog = &self.processes[owner].shared.catalog;
        catalog.publish(1, map, path, None, offsets).expect("good offsets");
        bytes
    }

    fn withdraw(&self, owner: usize, map: u64) {
        let output = self.processes[owner].shared.catalog.withdraw(1, map).expect("published");
        self.command(owner, Command::Withdraw(vec![output]));
    }

    fn step(&mut self, time: Duration) {
        self.network.advance(time);
        self.elapsed += time;
        let now = self.start + self.elapsed;
        self.processes.iter_mut().for_each(|process| _ = process.agent.turn(now));
    }

    fn run(&mut self, steps: usize) {
        (0..steps).for_each(|_| self.step(STEP));
    }

    /// Runs until so many blocks have ended, and a little longer: too many would show.
    fn ended(&mut self, reader: usize, blocks: usize) -> Vec<Completion> {
        let mut ended = Vec::new();
        for _ in 0..60_000 {
            self.step(STEP);
            ended.extend(self.take(reader));
            if ended.len() >= blocks {
                break;
            }
        }
        self.run(200);
        ended.extend(self.take(reader));
        assert_eq!(ended.len(), blocks, "each block ends once");
        ended
    }

    fn take(&self, process: usize) -> Vec<Completion> {
        self.processes[process].shared.completions.take(usize::MAX, Duration::ZERO).expect("not stopped")
    }

    fn error(&self, reader: usize, owner: usize) -> String {
        let peers = self.processes[reader].shared.peers.lock().expect("no panic");
        peers.get(&(owner as u64)).and_then(|state| state.error.clone()).unwrap_or_default()
    }

    fn pins(&self, owner: usize) -> usize {
        self.processes[owner].agent.windows().counts().1
    }

    fn assert_nothing_left(&self) {
        for process in &self.processes {
            assert!(process.agent.reader().is_idle(), "nothing is under way");
            assert_eq!(process.agent.windows().counts().1, 0, "no window is pinned");
            assert_eq!(process.arena.leased_bytes(), 0, "no memory is leased");
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.files);
    }
}

fn block(map: u64, first: u32, end: u32) -> Block {
    Block { shuffle: 1, map, first, end }
}

fn bytes_of(completion: &Completion) -> Vec<u8> {
    let lease = completion.result.as_ref().expect("the block was read");
    lease.as_ref().map_or_else(Vec::new, |lease| lease.as_slice().to_vec())
}

fn failure_of(completion: &Completion) -> Failure {
    *completion.result.as_ref().expect_err("the block was not read")
}

/// Each of these, with both ways of reading.
macro_rules! suite {
    ($($name:ident)*) => {
        mod by_loopback {
            $(#[test] fn $name() { super::$name(super::Reads::Loopback) })*
        }
        mod near {
            $(#[test] fn $name() {
                if super::permitted(stringify!($name)) {
                    super::$name(super::Reads::Near)
                }
            })*
        }
    };
}

suite! {
    blocks_are_read_and_what_is_not_there_is_not_found
    a_block_may_lie_in_several_windows
    memory_that_is_not_there_is_said_and_the_rest_is_read
    blocks_that_wait_take_no_memory
    who_does_not_know_the_secret_is_told_nothing
    locations_and_proofs_without_a_right_proof_before_are_refused
    an_owner_that_answers_twice_is_given_up_and_no_memory_is_lost
    an_answer_that_was_lost_is_noticed_by_the_next
    who_is_read_wrongly_is_never_asked
    who_cannot_be_read_is_never_asked
    a_read_that_fails_alone_ends_its_block_only
    a_silent_peer_is_given_up_after_the_timeout_and_can_be_connected_again
    a_pause_of_this_process_is_no_silence_of_its_peers
    pauses_one_after_another_do_not_hide_that_a_peer_is_silent
    a_dead_peer_ends_what_was_asked_of_it
    a_reader_that_dies_leaves_no_pin
    an_output_withdrawn_while_it_is_read_is_read_to_its_end
    a_file_that_is_gone_or_too_short_is_not_found
    both_read_from_each_other_over_one_connection
    who_connects_again_cuts_nobody_off
    a_reader_whose_connections_came_to_nothing_is_followed
    an_owner_whose_connections_came_to_nothing_is_followed_by_the_next_attempt
    greetings_that_cross_leave_one_good_connection
    ten_thousand_connections_leave_nothing_behind
    idle_windows_are_bounded
    a_stopped_agent_gives_everything_back
}

fn blocks_are_read_and_what_is_not_there_is_not_found(reads: Reads) {
    let mut world = World::new(reads, 1, &["s", "s"]);
    let data = world.publish(1, 7, &[10, 0, 3 << 20, 5]);
    world.connect(0, 1);
    let blocks = [block(7, 0, 1), block(7, 1, 2), block(7, 2, 3), block(7, 0, 4), block(7, 3, 5), block(8, 0, 1)];
    world.fetch(0, 1, &blocks);
    let mut ended = world.ended(0, blocks.len());
    ended.sort_by_key(|completion| completion.index);
    let large = 10 + (3 << 20);
    assert_eq!(bytes_of(&ended[0]), data[..10]);
    assert_eq!(bytes_of(&ended[1]), []);
    assert_eq!(bytes_of(&ended[2]), data[10..large]);
    assert_eq!(bytes_of(&ended[3]), data);
    assert_eq!(failure_of(&ended[4]), Failure::NotFound, "there are four partitions");
    assert_eq!(failure_of(&ended[5]), Failure::NotFound, "there is no such map");
    let near = if reads == Reads::Near { SAMPLE_BYTES + large + data.len() } else { 0 };
    assert_eq!(world.near_bytes.load(Ordering::Relaxed), near as u64);
    drop(ended);
    world.assert_nothing_left();
}

fn a_block_may_lie_in_several_windows(reads: Reads) {
    let mut world = World::new(reads, 2, &["", ""]);
    let path = world.files.join("large");
    let file = std::fs::File::create(&path).expect("created");
    let (total, edge) = (2 * WINDOW_BYTES + 100, WINDOW_BYTES);
    file.set_len(total).expect("sparse");
    std::os::unix::fs::FileExt::write_all_at(&file, b"over the edge", edge - 4).expect("written");
    let offsets = vec![0, edge - 10, edge + 20, total];
    world.processes[1].shared.catalog.publish(1, 1, path, None, offsets).expect("good");
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 1, 2), block(1, 0, 3)]);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.index);
    assert_eq!(&bytes_of(&ended[0])[6..19], b"over the edge");
    let whole = bytes_of(&ended[1]);
    assert_eq!(whole.len() as u64, total);
    assert_eq!(&whole[edge as usize - 4..edge as usize + 9], b"over the edge");
    drop(ended);
    world.assert_nothing_left();
}

fn memory_that_is_not_there_is_said_and_the_rest_is_read(reads: Reads) {
    let mut world = World::new(reads, 3, &["", ""]);
    let data = world.publish(1, 1, &[100, 8 << 20]);
    world.processes[0].arena.set_limit(1 << 20);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1), block(1, 1, 2)]);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.index);
    assert_eq!(bytes_of(&ended[0]), data[..100]);
    assert_eq!(failure_of(&ended[1]), Failure::NoMemory);
    drop(ended);
    world.assert_nothing_left();
}

fn blocks_that_wait_take_no_memory(reads: Reads) {
    let mut world = World::new(reads, 16, &["", ""]);
    let data = world.publish(1, 1, &[1 << 20; 40]);
    world.processes[0].arena.set_limit(8 << 20);
    world.connect(0, 1);
    let blocks: Vec<Block> = (0..40).map(|first| block(1, first, first + 1)).collect();
    world.fetch(0, 1, &blocks);
    let mut right = 0;
    for _ in 0..200 {
        world.step(STEP);
        for completion in world.take(0) {
            assert!(bytes_of(&completion) == data[(completion.index as usize) << 20..][..1 << 20]);
            right += 1;
        }
    }
    assert_eq!(right, 40);
    world.assert_nothing_left();
}

fn who_does_not_know_the_secret_is_told_nothing(reads: Reads) {
    for secrets in [["a", "b"], ["", "b"], ["a", ""]] {
        let mut world = World::new(reads, 4, &secrets);
        world.publish(1, 1, &[100]);
        world.connect(0, 1);
        world.fetch(0, 1, &[block(1, 0, 1)]);
        let ended = world.ended(0, 1);
        assert_eq!(failure_of(&ended[0]), Failure::Peer);
        assert!(world.error(0, 1).contains("secret"), "{}", world.error(0, 1));
        assert_eq!(world.network.regions(), 0, "nothing was registered for it");
    }
}

fn locations_and_proofs_without_a_right_proof_before_are_refused(reads: Reads) {
    let mut world = World::new(reads, 5, &["s"]);
    world.publish(0, 1, &[100]);
    let mut stranger = world.stranger();
    let owner = world.processes[0].agent.address().to_vec();
    let link = stranger.open(&owner[8..]).expect("there");
    let me = InstanceId(99);
    let address = [&me.0.to_le_bytes(), stranger.address()].concat();
    let mut say = |world: &mut World, body: Body| {
        stranger.send(link.endpoint, Message { sender: me, body }.encode());
        world.run(5);
        let mut events = Vec::new();
        stranger.progress(&mut events);
        events
    };
    let nonce = [1; 16];
    let challenge =
        say(&mut world, Body::Hello { version: VERSION, number: link.number, nonce, address: address.clone() });
    assert_eq!(challenge.len(), 1, "the owner proves itself and asks for the same");
    for body in [
        Body::Locate { batch: 1, done: vec![], blocks: vec![block(1, 0, 1)] },
        Body::Proof { proof: [0; 32] },
        Body::Done { batches: vec![1] },
    ] {
        for event in say(&mut world, body) {
            assert!(is_refusal(&event), "{event:?}");
        }
    }
    let old = say(&mut world, Body::Hello { version: 0, number: link.number, nonce, address });
    assert!(old.iter().any(is_refusal), "{old:?}");
    assert_eq!(world.network.regions(), 0);
}

/// An owner that the test plays, of a reader that is process 0 of a world and knows it as peer 7. It has proven itself.
struct Stranger {
    world: World,
    wire: Near<Loopback>,
    endpoint: crate::wire::Endpoint,
}

const STRANGER: InstanceId = InstanceId(99);
const STRANGER_PEER: u64 = 7;

impl Stranger {
    fn new(reads: Reads, seed: u64) -> Self {
        let mut world = World::new(reads, seed, &[""]);
        let mut wire = world.stranger();
        let address = [&STRANGER.0.to_le_bytes(), wire.address()].concat();
        world.processes[0].shared.peers.lock().expect("no panic").insert(STRANGER_PEER, PeerState::default());
        world.command(0, Command::Connect { peer: STRANGER_PEER, attempt: 0, address });
        world.run(2);
        let reader_address = world.processes[0].agent.address().to_vec();
        let endpoint = wire.open(&reader_address[8..]).expect("there").endpoint;
        let mut heard = Vec::new();
        wire.progress(&mut heard);
        let Event::Message(hello) = &heard[0] else { panic!("{heard:?}") };
        let Message { sender: reader, body: Body::Hello { nonce: reader_nonce, .. } } =
            Message::decode(hello).expect("good")
        else {
            panic!("{heard:?}")
        };
        let owner_nonce = [2; 16];
        let about = Handshake { owner: STRANGER, reader, reader_address: &reader_address, owner_nonce, reader_nonce };
        let proof = Secret::new(b"").prove(Role::Owner, &about);
        let mut stranger = Self { world, wire, endpoint };
        stranger.say(Body::Challenge { reader_nonce, nonce: owner_nonce, proof });
        stranger.world.run(2);
        stranger
    }

    fn say(&mut self, body: Body) {
        self.wire.send(self.endpoint, Message { sender: STRANGER, body }.encode());
    }

    /// Shows `memory` as what the reader is to read first, and says that it is `content`.
    fn show(&mut self, memory: &[u8; 64], content: [u8; 64]) {
        let address = memory.as_ptr().expose_provenance();
        // SAFETY: the tests keep `memory` for as long as the world runs.
        let (_, key) = unsafe { self.wire.register(address, 64) }.expect("registered");
        self.say(Body::Sample { address: address as u64, content, key });
        self.world.run(3);
    }

    /// Has the reader ask for one block more; batch numbers begin with the token of the sample, 1.
    fn fetch(&mut self) {
        self.world.processes[0].requests += 1;
        let request = self.world.processes[0].requests;
        self.world.command(0, Command::Fetch { request, peer: STRANGER_PEER, blocks: vec![block(1, 0, 1)] });
        self.world.run(2);
    }

    /// Memory that the reader cannot read.
    fn locate(&mut self, batch: u64) {
        let keys = vec![crate::message::Key { region: 1, bytes: vec![0; 40] }];
        let range = crate::message::Range { key: 0, address: 1, bytes: 4096 };
        self.say(Body::Located { batch, keys, found: vec![Some(vec![range])] });
    }

    fn assert_given_up(&mut self, blocks: usize, why: &str) {
        self.world.run(5);
        let ended = self.world.take(0);
        assert_eq!(ended.len(), blocks, "each block ends once");
        assert!(ended.iter().all(|completion| failure_of(completion) == Failure::Peer), "{ended:?}");
        let error = self.world.error(0, STRANGER_PEER as usize);
        assert!(error.contains(why), "{error}");
        assert_eq!(self.world.processes[0].arena.leased_bytes(), 0);
    }
}

fn an_owner_that_answers_twice_is_given_up_and_no_memory_is_lost(reads: Reads) {
    let mut stranger = Stranger::new(reads, 15);
    let memory = [5; 64];
    stranger.show(&memory, memory);
    stranger.fetch();
    stranger.fetch();
    // Both answers arrive in one turn, before a read of the first has failed.
    stranger.locate(2);
    stranger.locate(2);
    stranger.assert_given_up(2, "out of turn");
}

fn an_answer_that_was_lost_is_noticed_by_the_next(reads: Reads) {
    let mut stranger = Stranger::new(reads, 17);
    let memory = [5; 64];
    stranger.show(&memory, memory);
    stranger.fetch();
    stranger.fetch();
    stranger.locate(3);
    stranger.assert_given_up(2, "out of turn");
}

fn who_is_read_wrongly_is_never_asked(reads: Reads) {
    let mut stranger = Stranger::new(reads, 18);
    let memory = [5; 64];
    stranger.fetch();
    stranger.show(&memory, [6; 64]);
    stranger.assert_given_up(1, "self-test read other bytes");
}

fn who_cannot_be_read_is_never_asked(reads: Reads) {
    let mut stranger = Stranger::new(reads, 19);
    stranger.fetch();
    stranger.say(Body::Sample { address: 8, content: [0; 64], key: vec![0; 40] });
    stranger.assert_given_up(1, "self-test could not read");
}

/// Memory of the owner's that is not readable is the block's misfortune; the next block is read.
fn a_read_that_fails_alone_ends_its_block_only(reads: Reads) {
    let mut stranger = Stranger::new(reads, 20);
    let memory = [5; 64];
    stranger.show(&memory, memory);
    stranger.fetch();
    stranger.locate(2);
    stranger.world.run(5);
    assert_eq!(failure_of(&stranger.world.take(0)[0]), Failure::NotRead);
    stranger.fetch();
    let address = memory.as_ptr().expose_provenance();
    // SAFETY: `memory` lives until the end.
    let (_, key) = unsafe { stranger.wire.register(address, 64) }.expect("registered");
    let keys = vec![crate::message::Key { region: 1, bytes: key }];
    let range = crate::message::Range { key: 0, address: address as u64, bytes: 64 };
    stranger.say(Body::Located { batch: 4, keys, found: vec![Some(vec![range])] });
    stranger.world.run(5);
    assert_eq!(bytes_of(&stranger.world.take(0)[0]), memory);
    assert_eq!(stranger.world.error(0, STRANGER_PEER as usize), "");
}

fn is_refusal(event: &Event) -> bool {
    let Event::Message(bytes) = event else { return false };
    matches!(Message::decode(bytes).expect("well-formed").body, Body::Refused { .. })
}

fn a_silent_peer_is_given_up_after_the_timeout_and_can_be_connected_again(reads: Reads) {
    let mut world = World::new(reads, 6, &["", ""]);
    let data = world.publish(1, 1, &[100]);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    drop(world.ended(0, 1));
    let owner = world.node(1);
    world.network.silence(&owner, true);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(TIMEOUT.as_millis() as usize - 1000);
    assert!(world.take(0).is_empty(), "not yet");
    let ended = world.ended(0, 1);
    assert_eq!(failure_of(&ended[0]), Failure::Timeout);
    assert!(world.error(0, 1).contains("20000 ms"), "{}", world.error(0, 1));
    world.network.silence(&owner, false);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    world.assert_nothing_left();
}

/// Nobody can give a sign to a process that stands still.
fn a_pause_of_this_process_is_no_silence_of_its_peers(reads: Reads) {
    let mut world = World::new(reads, 21, &["", "", ""]);
    let data = [1, 2].map(|owner| world.publish(owner, 1, &[20 << 20]));
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    [1, 2].into_iter().for_each(|owner| world.connect(0, owner));
    world.run(40);
    [1, 2].into_iter().for_each(|owner| _ = world.fetch(0, owner, &[block(1, 0, 1)]));
    world.run(1);
    // It has asked, and stands still. When it comes round no answer is there yet.
    world.step(2 * TIMEOUT);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.request);
    assert!(bytes_of(&ended[0]) == data[0] && bytes_of(&ended[1]) == data[1]);
    drop(ended);
    world.assert_nothing_left();
}

fn pauses_one_after_another_do_not_hide_that_a_peer_is_silent(reads: Reads) {
    let mut world = World::new(reads, 22, &["", ""]);
    world.publish(1, 1, &[100]);
    world.connect(0, 1);
    world.run(40);
    let owner = world.node(1);
    world.network.silence(&owner, true);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    let late = Duration::from_millis(300);
    (0..2 * TIMEOUT.as_millis() / late.as_millis() + 5).for_each(|_| world.step(late));
    assert_eq!(failure_of(&world.take(0)[0]), Failure::Timeout);
}

fn a_dead_peer_ends_what_was_asked_of_it(reads: Reads) {
    let mut world = World::new(reads, 7, &["", "", ""]);
    world.publish(1, 1, &[50 << 20]);
    let data = world.publish(2, 1, &[1000]);
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.connect(0, 2);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(12);
    assert!(world.pins(1) > 0, "it is being read");
    let owner = world.node(1);
    world.network.kill(&owner);
    let ended = world.ended(0, 1);
    assert_eq!(failure_of(&ended[0]), Failure::Peer);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(failure_of(&world.ended(0, 1)[0]), Failure::Peer, "and what is asked later");
    world.fetch(0, 2, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data, "others go on");
    assert_eq!(world.processes[0].arena.leased_bytes(), 0);
}

fn a_reader_that_dies_leaves_no_pin(reads: Reads) {
    let mut world = World::new(reads, 8, &["", ""]);
    world.publish(1, 1, &[50 << 20]);
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(12);
    assert!(world.pins(1) > 0, "it is reading");
    let reader = world.node(0);
    world.network.kill(&reader);
    world.run(10);
    assert_eq!(world.pins(1), 0);
}

fn an_output_withdrawn_while_it_is_read_is_read_to_its_end(reads: Reads) {
    let mut world = World::new(reads, 9, &["", ""]);
    let data = world.publish(1, 1, &[20 << 20]);
    world.network.set_faults(Faults { delay: Duration::from_millis(5), ..Faults::default() });
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    while world.pins(1) == 0 {
        world.run(1);
    }
    world.withdraw(1, 1);
    std::fs::remove_file(world.files.join("1-1")).expect("removed");
    world.fetch(0, 1, &[block(1, 0, 1)]);
    let mut ended = world.ended(0, 2);
    ended.sort_by_key(|completion| completion.request);
    assert!(bytes_of(&ended[0]) == data);
    assert_eq!(failure_of(&ended[1]), Failure::NotFound);
    drop(ended);
    world.assert_nothing_left();
    assert_eq!(world.network.regions(), 1, "the last reader's end gave the window up; the sample stays");
}

fn a_file_that_is_gone_or_too_short_is_not_found(reads: Reads) {
    let mut world = World::new(reads, 10, &["", ""]);
    world.publish(1, 1, &[100]);
    world.publish(1, 2, &[100]);
    std::fs::remove_file(world.files.join("1-1")).expect("removed");
    std::fs::write(world.files.join("1-2"), [0; 99]).expect("cut");
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1), block(2, 0, 1)]);
    let ended = world.ended(0, 2);
    assert!(ended.iter().all(|completion| failure_of(completion) == Failure::NotFound));
}

fn both_read_from_each_other_over_one_connection(reads: Reads) {
    let mut world = World::new(reads, 11, &["s", "s"]);
    let data = [world.publish(0, 1, &[5000]), world.publish(1, 1, &[7000])];
    world.connect(0, 1);
    world.connect(1, 0);
    world.run(10);
    assert_eq!(world.network.connections(), 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data[1]);
    assert_eq!(bytes_of(&world.take(1)[0]), data[0]);
    world.command(0, Command::Disconnect { peer: 1 });
    world.run(5);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(1, 1)[0]), data[0], "the connection stays for the other side");
    world.assert_nothing_left();
}

/// The driver may have lost sight of both for a while: then each forgets the other and is told of it again.
fn who_connects_again_cuts_nobody_off(reads: Reads) {
    let mut world = World::new(reads, 23, &["s", "s"]);
    let data = [world.publish(0, 1, &[60 << 20]), world.publish(1, 1, &[50 << 20])];
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.connect(1, 0);
    world.run(40);
    let lost = world.fetch(0, 1, &[block(1, 0, 1)]);
    world.fetch(1, 0, &[block(1, 0, 1)]);
    world.run(12);
    assert!(world.pins(0) > 0 && world.pins(1) > 0, "both are being read");
    world.command(0, Command::Disconnect { peer: 1 });
    world.connect(0, 1);
    let again = world.fetch(0, 1, &[block(1, 0, 1)]);
    let ended = world.ended(0, 2);
    let of = |request| ended.iter().find(|completion| completion.request == request).expect("ended");
    assert_eq!(failure_of(of(lost)), Failure::Peer);
    assert!(bytes_of(of(again)) == data[1]);
    assert!(bytes_of(&world.ended(1, 1)[0]) == data[0], "this one has heard of nothing");
    assert_eq!(world.network.connections(), 1);
    drop(ended);
    world.assert_nothing_left();
}

fn a_reader_whose_connections_came_to_nothing_is_followed(reads: Reads) {
    let mut world = World::new(reads, 24, &["s", "s"]);
    let data = world.publish(1, 1, &[1000]);
    world.open_in_vain(0, 1, 3);
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    assert_eq!(world.network.connections(), 1, "so that the owner can end it");
    world.assert_nothing_left();
}

fn an_owner_whose_connections_came_to_nothing_is_followed_by_the_next_attempt(reads: Reads) {
    for in_vain in [1, 3, 3000] {
        let mut world = World::new(reads, 25, &["s", "s"]);
        let data = world.publish(1, 1, &[1000]);
        world.open_in_vain(1, 0, in_vain);
        let mut attempts = 0;
        loop {
            attempts += 1;
            world.connect(0, 1);
            world.fetch(0, 1, &[block(1, 0, 1)]);
            let ended = world.ended(0, 1);
            if ended[0].result.is_ok() {
                assert_eq!(bytes_of(&ended[0]), data);
                break;
            }
            assert!(world.error(0, 1).contains("it knows connection"), "{}", world.error(0, 1));
        }
        assert_eq!(attempts, 2 + in_vain / 1024, "{in_vain}");
        assert_eq!(world.network.connections(), 1);
        world.assert_nothing_left();
    }
}

/// The one with the lower number is refused by one who was followed meanwhile.
fn greetings_that_cross_leave_one_good_connection(reads: Reads) {
    let mut world = World::new(reads, 26, &["s", "s"]);
    let data = world.publish(1, 1, &[1000]);
    world.network.set_faults(Faults { delay: Duration::from_millis(5), ..Faults::default() });
    world.open_in_vain(0, 1, 5);
    world.connect(0, 1);
    world.connect(1, 0);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), data);
    assert!(world.error(1, 0).contains("connected again"), "{}", world.error(1, 0));
    world.connect(1, 0);
    world.run(100);
    assert_eq!((world.error(0, 1).as_str(), world.error(1, 0).as_str()), ("", ""));
    assert_eq!(world.network.connections(), 1);
    world.assert_nothing_left();
}

fn ten_thousand_connections_leave_nothing_behind(reads: Reads) {
    let mut world = World::new(reads, 12, &["s", "s"]);
    let data = world.publish(1, 1, &[100]);
    for cycle in 0..10_000 {
        world.connect(0, 1);
        if cycle % 100 == 0 {
            world.fetch(0, 1, &[block(1, 0, 1)]);
            let ended = loop {
                world.run(1);
                let ended = world.take(0);
                if !ended.is_empty() {
                    break ended;
                }
            };
            assert_eq!(bytes_of(&ended[0]), data);
        }
        world.command(0, Command::Disconnect { peer: 1 });
        world.run(if cycle % 3 == 0 { 4 } else { 1 });
    }
    world.run(10);
    assert_eq!(world.network.connections(), 0);
    assert_eq!(world.network.regions(), 2, "the sample, and one window, which nobody reads");
    world.assert_nothing_left();
}

fn idle_windows_are_bounded(reads: Reads) {
    let mut world = World::new(reads, 13, &["", ""]);
    world.connect(0, 1);
    for map in 0..6 {
        let path = world.files.join(format!("large-{map}"));
        std::fs::File::create(&path).expect("created").set_len(WINDOW_BYTES).expect("sparse");
        world.processes[1].shared.catalog.publish(1, map, path, None, vec![0, 5, WINDOW_BYTES]).expect("good");
        world.fetch(0, 1, &[block(map, 0, 1)]);
        drop(world.ended(0, 1));
    }
    assert_eq!(world.network.regions(), 5, "the sample, and the windows that may be idle");
    world.fetch(0, 1, &[block(0, 0, 1)]);
    assert_eq!(bytes_of(&world.ended(0, 1)[0]), [0; 5], "what was given up is mapped again");
}

fn a_stopped_agent_gives_everything_back(reads: Reads) {
    let mut world = World::new(reads, 14, &["", ""]);
    world.publish(1, 1, &[50 << 20]);
    world.network.set_faults(Faults { delay: Duration::from_millis(3), ..Faults::default() });
    world.connect(0, 1);
    world.fetch(0, 1, &[block(1, 0, 1)]);
    world.run(12);
    world.processes[0].agent.stop();
    assert!(world.processes[0].shared.completions.take(1, Duration::from_secs(60)).is_none(), "at once");
    assert_eq!(world.processes[0].arena.leased_bytes(), 0);
    world.processes[1].agent.stop();
    assert_eq!((world.network.regions(), world.network.connections()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_fails_each_block_ends_once_and_is_right_or_failed(
        seed: u64,
        near: bool,
        near_not_read in 0u32..300,
        near_refused in 0u32..30,
        delay in 0u64..20,
        failing_reads in 0u32..30,
        failing_messages in 0u32..30,
        sizes in prop::collection::vec(prop_oneof![Just(0usize), 1..5000usize, 1_000_000..3_000_000usize], 1..12),
        rounds in 1usize..12,
        in_vain in 0u32..3,
    ) {
        let reads = if near { Reads::Near } else { Reads::Loopback };
        faults::order(seed, near_not_read, near_refused);
        let mut world = World::new(reads, seed, &["s", "s", "s"]);
        let mut data = HashMap::new();
        for owner in [1, 2] {
            for map in 0..3 {
                data.insert((owner, map), world.publish(owner, map, &sizes));
            }
        }
        world.open_in_vain(0, 1, in_vain);
        world.open_in_vain(2, 0, in_vain);
        let delay = Duration::from_millis(delay);
        world.network.set_faults(Faults { delay, failing_reads, failing_messages });
        let (mut expected, mut total) = (HashMap::new(), 0);
        for _ in 0..rounds {
            for owner in [1, 2] {
                if !world.error(0, owner).is_empty() || world.processes[0].agent.reader().owner_of(owner as u64).is_none() {
                    world.connect(0, owner);
                }
                let blocks: Vec<Block> = (0..3).flat_map(|map| {
                    (0..sizes.len() as u32).map(move |first| block(map, first, first + 1))
                }).collect();
                let request = world.fetch(0, owner, &blocks);
                total += blocks.len();
                expected.insert(request, (owner, blocks));
            }
            world.run(3);
        }
        for completion in world.ended(0, total) {
            let (owner, blocks) = &expected[&completion.request];
            let block = blocks[completion.index as usize];
            if let Ok(lease) = &completion.result {
                let start: usize = sizes[..block.first as usize].iter().sum();
                let right = &data[&(*owner, block.map)][start..start + sizes[block.first as usize]];
                prop_assert!(lease.as_ref().map_or(&[][..], |lease| lease.as_slice()) == right);
            } else {
                prop_assert!(failing_reads + failing_messages + near_not_read + in_vain > 0, "{:?}", completion);
            }
        }
        world.network.set_faults(Faults::default());
        world.run(TIMEOUT.as_millis() as usize + 1000);
        world.assert_nothing_left();
    }
}
