//! Many peers of one agent: how memory for received blocks is shared among them, and what a turn may cost.

use std::time::Duration;

use sluice_mem::Arena;
use sluice_testkit::memory::live_bytes;

use crate::agent::TransportOptions;
use crate::completions::{Completion, Failure};
use crate::crowd::Crowd;
use crate::effort::MOST_MESSAGES;
use crate::links::MAX_OPENED;
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

/// How long blocks wait while none is given memory.
const PATIENCE: Duration = Duration::from_millis(20);
const STEP: Duration = Duration::from_micros(100);

/// Lets time pass by steps; what ends meanwhile, each with the time since the beginning.
fn pass(crowd: &mut Crowd, time: Duration) -> Vec<(Duration, Completion)> {
    let (mut ended, mut passed) = (Vec::new(), Duration::ZERO);
    while passed < time {
        passed += STEP;
        crowd.turn_for(STEP);
        // What a turn has asked and located, it begins to read in the same or in the next one.
        crowd.settle_for(2);
        ended.extend(crowd.take().into_iter().map(|completion| (passed, completion)));
    }
    ended
}

fn is_refused(completion: &Completion) -> bool {
    matches!(completion.result, Err(Failure::NoMemory))
}

/// Has tasks keep so many blocks of a peer.
fn keep(crowd: &mut Crowd, peer: usize, blocks: usize) -> Vec<Completion> {
    crowd.fetch(peer, blocks);
    crowd.settle();
    let kept = crowd.take();
    assert!(kept.len() == blocks && kept.iter().all(|completion| completion.result.is_ok()), "{kept:?}");
    kept
}

/// Blocks that tasks have not read yet take all memory; they give one back after the other.
#[test]
fn blocks_wait_for_memory_that_comes_in_time() {
    let mut crowd = crowd(1, 4);
    let mut kept = keep(&mut crowd, 0, 4);
    crowd.fetch(0, 4);
    for _ in 0..4 {
        assert!(pass(&mut crowd, Duration::from_millis(4)).is_empty());
        drop(kept.remove(0));
        let ended = pass(&mut crowd, 2 * STEP);
        assert!(ended.len() == 1 && ended[0].1.result.is_ok(), "{ended:?}");
        kept.extend(ended.into_iter().map(|(_, completion)| completion));
    }
    drop(kept);
    pass(&mut crowd, Duration::from_millis(1));
    let waits = crowd.waits();
    assert!(waits.waits >= 4 && waits.time >= Duration::from_millis(16) && waits.given_up == 0, "{waits:?}");
    assert_eq!(crowd.statistic(Statistic::ReceiveWaits), waits.waits);
    assert_eq!(u128::from(crowd.statistic(Statistic::ReceiveWaitNanos)), waits.time.as_nanos());
    assert_eq!(crowd.arena().leased_bytes(), 0);
}

/// Every 10 ms one block is given back, so there are always some that wait; each waits for 2 s at most.
#[test]
fn no_block_waits_longer_than_its_patience_however_often_others_get_memory() {
    const LONGEST: Duration = Duration::from_secs(2);
    let mut crowd = crowd(1, 4);
    let mut kept = keep(&mut crowd, 0, 4);
    crowd.fetch(0, 400);
    let (mut read, mut refused, mut passed) = (0, 0, Duration::ZERO);
    while read + refused < 400 {
        for (time, completion) in pass(&mut crowd, Duration::from_millis(10)) {
            assert!(passed + time <= LONGEST + 2 * STEP, "it has waited for too long");
            (read, refused) = if is_refused(&completion) { (read, refused + 1) } else { (read + 1, refused) };
            kept.extend(completion.result.is_ok().then_some(completion));
        }
        passed += Duration::from_millis(10);
        drop(kept.remove(0));
    }
    assert!((150..=201).contains(&read), "{read} read, {refused} refused");
    assert_eq!((crowd.waits().given_up, crowd.statistic(Statistic::ReceiveGivenUp)), (refused, refused));
}

/// When a block was given up, those behind it and later ones do not wait until memory has come free.
#[test]
fn nothing_waits_while_nothing_has_come_free_since_a_block_was_given_up() {
    let mut crowd = crowd(2, 4);
    let mut kept = keep(&mut crowd, 0, 4);
    crowd.fetch(1, 2);
    assert!(pass(&mut crowd, PATIENCE * 3 / 4).is_empty());
    crowd.fetch(1, 2);
    let ended = pass(&mut crowd, PATIENCE / 4 + 2 * STEP);
    assert!(ended.len() == 4 && ended.iter().all(|(_, one)| is_refused(one)), "{ended:?}");
    for _ in 0..3 {
        crowd.fetch(1, 5);
        let ended = pass(&mut crowd, 2 * STEP);
        assert!(ended.len() == 5 && ended.iter().all(|(_, one)| is_refused(one)), "not another wait: {ended:?}");
    }
    drop(kept.pop());
    crowd.fetch(1, 2);
    let ended = pass(&mut crowd, 2 * STEP);
    assert!(ended.len() == 1 && ended[0].1.result.is_ok(), "one has come free, the other waits: {ended:?}");
}

/// A connection whose own reads use up its share waits for these, and not for others' memory.
#[test]
fn time_over_its_share_does_not_count_as_a_wait_for_memory() {
    let mut crowd = crowd(2, 8);
    crowd.set_rate(0, 0);
    let slow = crowd.fetch(0, 6);
    pass(&mut crowd, 2 * STEP);
    let (held, mut kept) = (crowd.gets_in_flight(), Vec::new());
    assert!((1..6).contains(&held), "{held} of 6 have memory");
    crowd.fetch(1, 8 - held);
    kept.extend(pass(&mut crowd, Duration::from_millis(30)));
    assert_eq!((kept.len(), crowd.waits().given_up), (8 - held, 0));
    crowd.set_rate(0, usize::MAX);
    // Its own reads end, and now others have all memory and have kept it for long.
    kept.extend(pass(&mut crowd, 2 * STEP));
    let refused: Vec<&Completion> = kept.iter().map(|(_, one)| one).filter(|one| is_refused(one)).collect();
    assert!(refused.len() == 6 - held && refused.iter().all(|one| one.request == slow), "{refused:?}");
    assert_eq!((kept.len(), crowd.waits().given_up), (14 - held, 6 - held as u64));
}

/// It does not wait, so those behind it come.
#[test]
fn a_block_of_more_than_a_64th_of_the_memory_is_read_at_once_or_not_at_all() {
    let mut crowd = crowd(2, 64);
    let kept = keep(&mut crowd, 0, 52);
    crowd.set_block_bytes(1, 16 * BLOCK);
    let large = crowd.fetch(1, 1);
    let ended = pass(&mut crowd, 2 * STEP);
    assert!(ended.len() == 1 && ended[0].1.request == large && is_refused(&ended[0].1), "{ended:?}");
    crowd.set_block_bytes(1, BLOCK);
    crowd.fetch(1, 6);
    let ended = pass(&mut crowd, 2 * STEP);
    assert!(ended.len() == 6 && ended.iter().all(|(_, one)| one.result.is_ok()), "{ended:?}");
    assert_eq!(crowd.waits().given_up, 1);
    drop((kept, ended));
    crowd.set_block_bytes(1, 16 * BLOCK);
    crowd.fetch(1, 1);
    let ended = pass(&mut crowd, 2 * STEP);
    assert!(ended.len() == 1 && ended[0].1.result.is_ok(), "{ended:?}");
}

/// What an owner has told of stays registered there until it has been read.
#[test]
fn nothing_is_asked_over_a_connection_that_waits_for_memory() {
    let mut crowd = crowd(2, 4);
    let kept = keep(&mut crowd, 0, 4);
    crowd.take_questions();
    crowd.fetch(1, 1);
    pass(&mut crowd, 2 * STEP);
    assert_eq!(crowd.take_questions(), 1);
    (0..3).for_each(|_| _ = crowd.fetch(1, 1));
    assert!(pass(&mut crowd, Duration::from_millis(10)).is_empty());
    assert_eq!(crowd.take_questions(), 0);
    drop(kept);
    let kept = pass(&mut crowd, 10 * STEP);
    assert!(kept.len() == 4 && kept.iter().all(|(_, one)| one.result.is_ok()));
    assert_eq!(crowd.take_questions(), 3);
    // What was not asked for has waited all the same.
    crowd.fetch(1, 1);
    pass(&mut crowd, 2 * STEP);
    (0..5).for_each(|_| _ = crowd.fetch(1, 1));
    let ended = pass(&mut crowd, PATIENCE + 2 * STEP);
    assert!(ended.len() == 6 && ended.iter().all(|(_, one)| is_refused(one)), "{} have ended", ended.len());
    drop(kept);
}

/// Ten peers with blocks of 25 to 250 KiB; a block is given back 2 ms after it has come.
#[test]
fn unequal_blocks_all_come_while_memory_is_short() {
    const BLOCKS: usize = 200;
    let mut crowd = crowd(10, 64);
    for peer in 0..10 {
        crowd.set_block_bytes(peer, (peer + 1) * (25 << 10));
    }
    crowd.set_common_rate(4 * BLOCK);
    (0..10).for_each(|peer| _ = crowd.fetch(peer, BLOCKS));
    let (mut kept, mut ended, mut turns) = (std::collections::VecDeque::new(), 0, 0);
    while ended < 10 * BLOCKS {
        crowd.turn_for(TURN);
        turns += 1;
        assert!(turns < 1_000_000, "{ended} blocks have come");
        let taken = crowd.take();
        assert!(taken.iter().all(|completion| completion.result.is_ok()), "{taken:?}");
        ended += taken.len();
        kept.push_back(taken);
        if kept.len() > 200 {
            drop(kept.pop_front());
        }
    }
    assert!(crowd.waits().waits > 0 && crowd.waits().given_up == 0, "{:?}", crowd.waits());
    drop(kept);
    crowd.settle();
    assert_eq!((crowd.arena().leased_bytes(), crowd.take().len()), (0, 0), "each ends once");
}

#[test]
fn blocks_that_wait_too_long_for_memory_are_given_up() {
    let mut crowd = crowd(2, 4);
    crowd.fetch(0, 4);
    crowd.settle();
    let kept = crowd.take();
    assert_eq!(kept.len(), 4);
    crowd.fetch(1, 10);
    (0..190).for_each(|_| _ = crowd.turn_for(STEP));
    assert!(crowd.take().is_empty(), "they wait");
    (0..30).for_each(|_| _ = crowd.turn_for(STEP));
    let ended = crowd.take();
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
    crowd.connect(PEERS - 1);
    crowd.settle();
    crowd.take_greetings();
    (0..PEERS - 1).for_each(|peer| crowd.connect(peer));
    let (last, connected) = (crowd.fetch(PEERS - 2, 1), crowd.fetch(PEERS - 1, 1));
    let (mut turns, mut opened) = (0, 0);
    while opened < PEERS - 1 {
        crowd.turn_for(TURN);
        turns += 1;
        let greetings = crowd.take_greetings();
        assert!((1..=MAX_OPENED).contains(&greetings), "{greetings} connections in one turn");
        opened += greetings;
        assert!(opened == PEERS - 1 || crowd.queued() >= PEERS - 1 - opened, "{} are queued", crowd.queued());
        if turns == 4 {
            let ended = crowd.take();
            assert!(
                ended.len() == 1 && ended[0].request == connected && ended[0].result.is_ok(),
                "not held up: {ended:?}"
            );
        }
    }
    assert!(turns <= PEERS / MAX_OPENED + 1, "{turns} turns");
    crowd.settle();
    assert_eq!((crowd.statistic(Statistic::Connections), crowd.queued()), (PEERS as u64, 0));
    let ended = crowd.take();
    assert!(ended.len() == 1 && ended[0].request == last && ended[0].result.is_ok(), "{ended:?}");
}

/// The same from the other side: all peers greet at once, as they do when this process was not reached for a while.
#[test]
fn a_storm_of_greetings_is_answered_a_few_a_turn() {
    const PEERS: usize = 1000;
    let options = TransportOptions { max_connections: 2 * PEERS, ..TransportOptions::default() };
    let mut crowd = Crowd::new(PEERS, 4096, Arena::host(BLOCK), &options).expect("good options");
    (0..PEERS).for_each(|peer| crowd.greet(peer));
    let (mut turns, mut opened) = (0, 0);
    while opened < PEERS {
        crowd.turn_for(TURN);
        turns += 1;
        let openings = crowd.take_openings();
        assert!((1..=MAX_OPENED).contains(&openings), "{openings} connections in one turn");
        opened += openings;
    }
    assert!(turns <= PEERS / MAX_OPENED + 1, "{turns} turns");
    crowd.settle();
    assert_eq!((crowd.statistic(Statistic::Connections), crowd.queued()), (PEERS as u64, 0));
}

/// Somebody has recorded the greetings of all readers, and sends all of them again and again at once.
#[test]
fn recorded_greetings_count_towards_what_a_turn_does_and_take_no_memory() {
    const PEERS: usize = 1000;
    const ROUNDS: usize = 20;
    let options = TransportOptions { max_connections: 2 * PEERS, ..TransportOptions::default() };
    let mut crowd = Crowd::new(PEERS, 4096, Arena::host(BLOCK), &options).expect("good options");
    (0..PEERS).for_each(|peer| crowd.greet(peer));
    crowd.settle();
    assert_eq!(crowd.statistic(Statistic::Connections), PEERS as u64);
    crowd.take_openings();
    let (mut before, mut live) = (crowd.statistic(Statistic::UnprovenMessages), 0);
    for round in 1..=ROUNDS {
        (0..PEERS).for_each(|peer| crowd.greet(peer));
        let mut turns = 0;
        while crowd.turn_for(TURN) {
            let dropped = crowd.statistic(Statistic::UnprovenMessages);
            assert!(dropped - before <= MOST_MESSAGES as u64, "{} in one turn", dropped - before);
            (before, turns) = (dropped, turns + 1);
        }
        assert!(turns >= PEERS / MOST_MESSAGES, "{turns} turns");
        if round == 2 {
            live = live_bytes();
        }
    }
    assert_eq!(before, (ROUNDS * PEERS) as u64, "each of them was dropped and counted");
    assert_eq!((crowd.take_openings(), crowd.queued()), (0, 0));
    let grown = live_bytes() - live;
    assert!(grown < 64 << 10, "{grown} bytes were kept of {} greetings", ROUNDS * PEERS);
}

/// A peer whose attempts have failed has a higher number, which this side reaches by opening and closing as often.
#[test]
fn a_turn_opens_few_connections_also_to_reach_a_peers_number() {
    let mut crowd = Crowd::new(1, 4096, Arena::host(BLOCK), &TransportOptions::default()).expect("good options");
    crowd.greet_with(0, 100);
    let mut opened = 0;
    while opened < 100 {
        crowd.turn_for(TURN);
        let openings = crowd.take_openings();
        assert!((1..=MAX_OPENED).contains(&openings), "{openings} connections in one turn");
        opened += openings;
    }
    crowd.settle();
    assert_eq!((opened, crowd.take_openings(), crowd.statistic(Statistic::Connections)), (100, 0, 1));
}

/// What `perftest --gets` measures: that many reads of whole blocks, no more and no fewer while there are blocks.
#[test]
fn as_many_whole_blocks_are_read_at_once_as_are_asked_for() {
    const LARGE: usize = 8 << 20;
    for gets in [1, 8] {
        let options = TransportOptions { max_gets: Some(gets), ..TransportOptions::default() };
        let mut crowd = Crowd::new(1, LARGE, Arena::host(64 * LARGE), &options).expect("good options");
        crowd.connect(0);
        crowd.settle();
        crowd.set_rate(0, LARGE);
        crowd.fetch(0, 40);
        let (mut ended, mut most) = (0, 0);
        while ended < 40 {
            ended += crowd.take().len();
            crowd.turn_for(TURN);
            let under_way = crowd.gets_in_flight();
            assert_eq!(crowd.bytes_in_flight(0), under_way * LARGE);
            most = most.max(under_way);
        }
        assert_eq!(most, gets);
    }
}
