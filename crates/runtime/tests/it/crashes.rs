//! The process dies at any of many moments, and another one carries on.

use crate::support::*;
use mainpath_runtime::*;
use mainpath_types::*;
use std::time::Duration;

#[test]
fn a_process_that_dies_anywhere_is_carried_on_without_repeating_a_side_effect() {
    for moment in 0..60u64 {
        let data = tempfile::TempDir::new().unwrap();
        let trace = id("t");
        let first = Place::files(&data, Brain::steps(ALL_KINDS));
        let hands = first.hands.clone();
        // The runtime and all its tasks are dropped in mid-air, as a killed process drops them.
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let runtime = {
            let _inside = tokio.enter();
            first.runtime()
        };
        tokio.block_on(async {
            let begun = runtime.start(&local(), &trace, first.spec(), Mail::message("do all")).await;
            begun.unwrap();
            tokio::time::sleep(Duration::from_micros(moment * 90)).await;
        });
        tokio.shutdown_timeout(Duration::from_secs(5));
        drop(runtime);
        // The store goes with its process; the folder that the tools work in stays.
        let Place { workspace, store, .. } = first;
        drop(store);

        let second = Place { hands, workspace, ..Place::files(&data, Brain::new(|seen| step(ALL_KINDS, seen))) };
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio.block_on(async {
            let runtime = second.runtime();
            runtime.resume(&local(), &trace);
            assert_eq!(settled(&runtime, &trace).await, Phase::Idle, "moment {moment}");
            let log = second.inspect(&trace).await;
            assert_eq!(reasons(&log), [FinishReason::Final], "moment {moment}");
        });
        for key in ["a", "b", "c"] {
            assert!(second.hands.count(key) <= 1, "{key} was done twice, moment {moment}");
        }
    }
}
