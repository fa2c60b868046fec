//! Random lives: see `mainpath_testkit::world`. `MAINPATH_SEEDS` sets how many (500 if it is not set).

use mainpath_testkit::world::{Faults, World};

fn seeds() -> u64 {
    std::env::var("MAINPATH_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

#[test]
fn every_random_life_keeps_the_invariants_and_comes_to_its_end() {
    for seed in 0..seeds() {
        let steps = 40 + u32::try_from(seed % 150).unwrap();
        World::new(seed, Faults { crashes: 6, nonsense: 15 }).live(steps);
    }
}

#[test]
fn a_life_without_faults_comes_to_its_end_as_well() {
    for seed in 0..seeds() / 5 {
        World::new(seed, Faults { crashes: 0, nonsense: 0 }).live(60);
    }
}
