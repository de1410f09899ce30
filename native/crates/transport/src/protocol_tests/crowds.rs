//! Many peers of one agent: how memory for received blocks is shared among them, and what a turn may cost.

use std::time::Duration;

use sluice_mem::Arena;

use crate::agent::TransportOptions;
use crate::completions::{Completion, Failure};
use crate::crowd::Crowd;
use crate::statistics::Statistic;

const BLOCK: usize = 256 << 10;
const TURN: Duration = Duration::from_micros(10);

/// So many connected peers, and memory for so many blocks.
fn crowd(peers: usize, blocks: usize) -> Crowd {
    let options = TransportOptions { max_connections: 2 * peers, ..TransportOptions::default() };
    let mut crowd = Crowd::new(peers, BLOCK, Arena::host(blocks * BLOCK), &options).expect("good options");
    (0..peers).for_each(|peer| crowd.connect(peer));
    crowd.settle();
    crowd
}

/// Turns until so many blocks of a fetch have ended, all of them read; what has ended of others is released.
fn turns_until(crowd: &mut Crowd, request: u64, blocks: usize) -> usize {
    let (mut left, mut turns) = (blocks, 0);
    while left > 0 {
        crowd.turn_for(TURN);
        turns += 1;
        assert!(turns < 1_000_000, "{left} blocks did not come");
        let ended = crowd.take();
        assert!(ended.iter().all(|completion| completion.result.is_ok()), "{ended:?}");
        left -= ended.iter().filter(|completion| completion.request == request).count();
    }
    turns
}

/// One peer that serves 8 blocks a turn, and nine that serve one block in 50 turns.
fn with_slow_peers() -> Crowd {
    let mut crowd = crowd(10, 64);
    crowd.set_rate(0, 8 * BLOCK);
    (1..10).for_each(|peer| crowd.set_rate(peer, BLOCK / 50));
    crowd
}

#[test]
fn slow_peers_do_not_keep_memory_from_a_fast_one() {
    let mut alone = with_slow_peers();
    let request = alone.fetch(0, 400);
    let alone = turns_until(&mut alone, request, 400);
    let mut together = with_slow_peers();
    let request = together.fetch(0, 400);
    (1..10).for_each(|peer| _ = together.fetch(peer, 40));
    let beside = turns_until(&mut together, request, 400);
    println!("400 blocks of a fast peer: {alone} turns alone, {beside} beside 9 slow ones");
    assert!(beside <= 6 * alone, "{beside} turns, {alone} alone");
    // The slow ones come first and have begun what they could.
    let mut late = with_slow_peers();
    (1..10).for_each(|peer| _ = late.fetch(peer, 40));
    late.settle();
    let held: Vec<usize> = (1..10).map(|peer| late.bytes_in_flight(peer) / BLOCK).collect();
    assert!(held.iter().sum::<usize>() < 64, "some is free for who comes: {held:?}");
    let request = late.fetch(0, 400);
    let behind = turns_until(&mut late, request, 400);
    println!("{behind} turns when the slow ones had begun with {held:?} blocks");
    assert!(behind <= 10 * alone, "{behind} turns, {alone} alone");
    // Nobody is starved.
    while together.gets_in_flight() > 0 {
        together.turn_for(TURN);
        assert!(together.take().iter().all(|completion| completion.result.is_ok()));
    }
    assert_eq!((together.arena().leased_bytes(), together.waits().given_up), (0, 0));
    assert!(together.waits().waits > 0, "memory was short");
}

/// Blocks that tasks have not read yet take all memory; each second they give one back.
#[test]
fn blocks_wait_for_memory_and_the_peer_is_not_taken_for_silent() {
    let mut crowd = crowd(1, 4);
    let request = crowd.fetch(0, 30);
    let mut kept: Vec<Completion> = Vec::new();
    let mut read = 0;
    for _ in 0..60 {
        for _ in 0..100 {
            crowd.turn_for(Duration::from_millis(10));
        }
        kept.extend(crowd.take());
        assert!(kept.iter().all(|completion| completion.request == request && completion.result.is_ok()), "{kept:?}");
        if !kept.is_empty() {
            drop(kept.remove(0));
            read += 1;
        }
    }
    assert_eq!(read, 30);
    let waits = crowd.waits();
    assert!(waits.waits >= 20 && waits.time >= Duration::from_secs(15) && waits.given_up == 0, "{waits:?}");
    (0..100).for_each(|_| _ = crowd.turn_for(Duration::from_millis(1)));
    assert_eq!(crowd.statistic(Statistic::ReceiveWaits), waits.waits);
    assert_eq!(u128::from(crowd.statistic(Statistic::ReceiveWaitNanos)), waits.time.as_nanos());
    assert_eq!(crowd.arena().leased_bytes(), 0);
}

#[test]
fn blocks_that_wait_too_long_for_memory_are_given_up() {
    let mut crowd = crowd(2, 4);
    crowd.fetch(0, 4);
    crowd.settle();
    let kept = crowd.take();
    assert_eq!(kept.len(), 4);
    crowd.fetch(1, 10);
    (0..190).for_each(|_| _ = crowd.turn_for(Duration::from_millis(10)));
    assert!(crowd.take().is_empty(), "they wait");
    (0..30).for_each(|_| _ = crowd.turn_for(Duration::from_millis(10)));
    let ended = crowd.take();
    let is_refused = |completion: &Completion| matches!(completion.result, Err(Failure::NoMemory));
    assert!(ended.len() == 10 && ended.iter().all(is_refused), "{ended:?}");
    assert_eq!(crowd.waits().given_up, 10);
    drop(kept);
    crowd.fetch(1, 4);
    crowd.settle();
    assert_eq!(crowd.take().iter().filter(|completion| completion.result.is_ok()).count(), 4, "there is memory");
}

/// After a pause of the network all connections fail, and all peers are connected again at once.
#[test]
fn a_storm_of_connections_is_opened_a_few_a_turn() {
    const PEERS: usize = 1000;
    let mut crowd = crowd(PEERS, 4096);
    assert_eq!(crowd.take_greetings(), PEERS);
    crowd.fail_all();
    crowd.settle();
    assert_eq!(crowd.statistic(Statistic::Connections), 0);
    (0..PEERS).for_each(|peer| crowd.connect(peer));
    let first = crowd.fetch(0, 1);
    let (mut turns, mut opened) = (0, 0);
    while opened < PEERS {
        crowd.turn_for(TURN);
        turns += 1;
        let greetings = crowd.take_greetings();
        assert!((1..=16).contains(&greetings), "{greetings} connections in one turn");
        opened += greetings;
    }
    assert!(turns <= PEERS / 16 + 1, "{turns} turns");
    crowd.settle();
    assert_eq!(crowd.statistic(Statistic::Connections), PEERS as u64);
    let ended = crowd.take();
    assert!(ended.len() == 1 && ended[0].request == first && ended[0].result.is_ok(), "{ended:?}");
}
