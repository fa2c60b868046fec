use crate::Home;
use mainpath_store::conformance::{events, run_all};
use mainpath_store::*;
use std::sync::Mutex;

/// Folders have to outlive their stores.
fn files(dirs: &Mutex<Vec<tempfile::TempDir>>) -> FilesStore {
    let Home { store, dir } = Home::new();
    dirs.lock().unwrap().push(dir);
    store
}

#[tokio::test]
async fn files_conform() {
    let dirs = Mutex::default();
    run_all(|| files(&dirs)).await;
}

#[tokio::test]
async fn memory_conforms() {
    run_all(MemoryStore::default).await;
}

#[tokio::test]
async fn a_wrapper_without_faults_conforms() {
    let dirs = Mutex::default();
    run_all(|| Faulty::none(MemoryStore::default())).await;
    run_all(|| Faulty::none(files(&dirs))).await;
}

#[tokio::test]
async fn seeded_salts_make_the_same_bytes_in_memory_and_in_files() {
    let (scope, trace) = (Scope::local(), "t".parse().unwrap());
    let home = Home::with(Options { salts: Salts::Seeded(7), ..Options::default() });
    let memory = MemoryStore::new(scheduler::system_clock, Salts::Seeded(7));
    let mut logs = Vec::new();
    for store in [&home.store as &dyn Store, &memory] {
        let lease = store.lease(&scope, &trace, true).await.unwrap().lease;
        assert_eq!(store.append(&lease, 0, events(1, 5)).await, Appended::Committed { head: 5 });
        assert_eq!(store.append(&lease, 5, events(6, 9)).await, Appended::Committed { head: 9 });
    }
    logs.push(home.store.log_bytes(&scope.tenant, &trace));
    logs.push(memory.log_bytes(&scope.tenant, &trace));
    assert_eq!(logs[0], logs[1]);
}
