use crate::Place;
use mainpath_index::{Index, IndexError, Refreshed};
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn whatever_becomes_of_the_file_it_comes_back() {
    let place = Place::new();
    place.talk("t", &[("find this", "done")]).await;
    let whole = place.list();
    let path = place.file("index.sqlite");
    let remove = |end: &str| drop(std::fs::remove_file(place.file(&format!("index.sqlite{end}"))));
    // What was written lies in the file itself, not in SQLite's log of changes beside it.
    let settled = "PRAGMA wal_checkpoint(TRUNCATE)";
    Connection::open(&path).unwrap().query_row(settled, [], |row| row.get::<_, i64>(0)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for (what, spoilt) in [
        ("deleted", None),
        ("no database", Some(b"no database at all, but a good deal of text, again and again".to_vec())),
        ("empty", Some(Vec::new())),
        ("cut off", Some(bytes[..bytes.len() / 2].to_vec())),
        ("zeroed", Some([&bytes[..100], &vec![0; bytes.len() - 100][..]].concat())),
    ] {
        ["", "-wal", "-shm"].iter().for_each(|end| remove(end));
        if let Some(spoilt) = spoilt {
            std::fs::write(&path, spoilt).unwrap();
        }
        assert_eq!(place.list(), whole, "{what}");
        assert_eq!(place.found("this"), ["t 1 user this"], "{what}");
    }
    // Without what SQLite keeps beside it, and the other way round.
    for ends in [&["-wal", "-shm"][..], &[""]] {
        ends.iter().for_each(|end| remove(end));
        assert_eq!(place.list(), whole, "{ends:?}");
        assert_eq!(place.found("this"), ["t 1 user this"], "{ends:?}");
    }
    // Another version, and a table that is not as it should be.
    let other = Connection::open(&path).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    assert_eq!(place.list(), whole);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("DROP TABLE message; DELETE FROM mark").unwrap();
    drop(other);
    assert_eq!(place.list(), whole);
    assert_eq!(place.found("this").len(), 1);
}

#[tokio::test]
async fn many_that_make_the_file_at_the_same_time_all_find_everything() {
    let place = Place::new();
    for name in ["t", "u", "v"] {
        place.talk(name, &[("find this", "done")]).await;
    }
    for round in 0..20 {
        ["", "-wal", "-shm"]
            .iter()
            .for_each(|end| drop(std::fs::remove_file(place.file(&format!("index.sqlite{end}")))));
        let begin = std::sync::Barrier::new(6);
        let look = || {
            begin.wait();
            let mut index = Index::open(&place.store, &place.scope)?;
            index.refresh()?;
            Ok::<_, IndexError>((index.newest(10)?.1, index.search("this", 10, None)?.len()))
        };
        let all: Vec<_> = std::thread::scope(|threads| {
            let threads: Vec<_> = (0..6).map(|_| threads.spawn(look)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for found in all {
            assert_eq!(found.map_err(|error| error.to_string()), Ok((3, 3)), "round {round}");
        }
    }
}

#[tokio::test]
async fn a_file_that_another_process_writes_is_said_to_be_busy() {
    let place = Place::new();
    place.talk("t", &[("one", "1")]).await;
    let mut index = place.index();
    index.refresh().unwrap();
    let other = Connection::open(place.file("index.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    place.talk("u", &[("two", "2")]).await;
    let busy = index.refresh();
    assert!(matches!(&busy, Err(IndexError::Busy(_))), "{busy:?}");
    assert_eq!(index.newest(10).unwrap().1, 1, "it can be read all the same");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(index.refresh().unwrap(), Refreshed { read: 1, gone: 0 });
}

#[tokio::test]
async fn it_is_for_its_owner_only() {
    let place = Place::new();
    place.talk("t", &[("one", "1")]).await;
    let mut index = Index::open(&place.store, &place.scope).unwrap();
    index.refresh().unwrap();
    for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        let mode = std::fs::metadata(place.file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_sum_of_the_names_that_is_wrong_is_counted_anew() {
    let place = Place::new();
    place.talk("a", &[("one", "1")]).await;
    place.list();
    let sum = |db: &Connection| -> String {
        db.query_row("SELECT value FROM mark WHERE name = 'names'", [], |row| row.get(0)).unwrap()
    };
    let db = Connection::open(place.file("index.sqlite")).unwrap();
    let right = sum(&db);
    // Another build may sum in another way.
    db.execute("UPDATE mark SET value = '1 12345' WHERE name = 'names'", []).unwrap();
    drop(db);
    std::fs::create_dir(place.file("traces/b")).unwrap();
    place.list();
    std::fs::remove_dir(place.file("traces/b")).unwrap();
    place.list();
    assert_eq!(sum(&Connection::open(place.file("index.sqlite")).unwrap()), right);
}

#[tokio::test]
async fn what_can_be_known_is_told_whatever_can_be_written() {
    let place = Place::new();
    place.talk("t", &[("find this", "done")]).await;
    let listed = || {
        let rows = Index::at_hand(&place.store, &place.scope).unwrap().newest(100).unwrap().0;
        rows.into_iter().map(|row| row.trace.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(listed(), ["t"]);
    // While another writes it, it is told as it is.
    let other = Connection::open(place.file("index.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    place.talk("u", &[("find that", "done")]).await;
    assert_eq!(listed(), ["t"]);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(listed(), ["u", "t"]);
    // Where there can be none, from the logs.
    drop(other);
    ["", "-wal", "-shm"].iter().for_each(|end| drop(std::fs::remove_file(place.file(&format!("index.sqlite{end}")))));
    std::fs::create_dir_all(place.file("index.sqlite/full")).unwrap();
    assert_eq!(listed(), ["u", "t"]);
}
