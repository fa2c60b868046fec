//! Random lives: see `mainpath_testkit::world`. `MAINPATH_SEEDS` sets how many (500 if it is not set).

use mainpath_testkit::world::{Faults, World};

fn seeds() -> u64 {
    std::env::var("MAINPATH_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

#[test]
fn every_random_life_keeps_the_invariants_and_comes_to_its_end() {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    // A panic of a life, which names its seed, fails the test when the scope ends.
    std::thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || {
                for seed in (first..seeds()).step_by(usize::try_from(threads).unwrap()) {
                    let steps = 40 + u32::try_from(seed % 150).unwrap();
                    World::new(seed, Faults { crashes: 6, nonsense: 15 }).live(steps);
                }
            });
        }
    });
}

#[test]
fn a_life_without_faults_comes_to_its_end_as_well() {
    for seed in 0..seeds() / 5 {
        World::new(seed, Faults { crashes: 0, nonsense: 0 }).live(60);
    }
}
