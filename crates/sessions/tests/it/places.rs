use mainpath_sessions::*;
use mainpath_testkit::redis::Redis;
use mainpath_types::{Message, Part, Role, Seq, TraceId};

/// Where sessions are kept on it.
fn server(redis: &Redis) -> RedisServer {
    RedisServer {
        url: redis.url(),
        password: Some(Redis::PASSWORD.into()),
        prefix: "mp:".into(),
        ..RedisServer::default()
    }
}

async fn direct<T: redis::FromRedisValue>(redis: &Redis, words: &[&str]) -> T {
    let client = redis::Client::open(redis.open_url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(word);
    }
    command.query_async(&mut connection).await.unwrap()
}

fn kept(head: u64, messages: u32) -> Kept {
    let message = |n: u32| Message {
        seq: Some(Seq(n)),
        role: if n % 2 == 1 { Role::User } else { Role::Assistant },
        parts: vec![Part::text(format!("第 {n}: \"quoted\"\nand {}", "x".repeat(200)))],
    };
    Kept { trace: "20260101-t".parse().unwrap(), head, messages: (1..=messages).map(message).collect(), lost: 0 }
}

/// What every place must do.
async fn conforms(place: &dyn SessionPlace) {
    assert_eq!(place.get("chat", 0).await.unwrap(), None);
    let many = kept(7, 5_000);
    place.put("chat", &many, Some(60_000)).await.unwrap();
    place.put("other", &kept(9, 3), None).await.unwrap();
    assert_eq!(place.get("chat", 0).await.unwrap().unwrap(), many);
    for window in [1, 2, 20, 3_000, 6_000] {
        let got = place.get("chat", window).await.unwrap().unwrap();
        let from = many.messages.len().saturating_sub(window);
        assert_eq!((got.head, got.messages.as_slice()), (7, &many.messages[from..]), "{window}");
    }
    place.put("chat", &kept(8, 1), None).await.unwrap();
    assert_eq!(place.get("chat", 20).await.unwrap().unwrap(), kept(8, 1), "what was there is gone");
    place.put("chat", &kept(8, 0), None).await.unwrap();
    assert_eq!(place.get("chat", 20).await.unwrap().unwrap(), kept(8, 0));
    place.remove("chat").await.unwrap();
    place.remove("chat").await.unwrap();
    assert_eq!(place.get("chat", 0).await.unwrap(), None);
    assert_eq!(place.get("other", 0).await.unwrap().unwrap(), kept(9, 3));
    // What was said in a trace is forgotten in whichever session it is kept.
    let trace: TraceId = "20260101-other".parse().unwrap();
    place.put("chat", &Kept { trace: trace.clone(), ..kept(8, 4) }, None).await.unwrap();
    place.put("again", &Kept { trace: trace.clone(), ..kept(8, 2) }, None).await.unwrap();
    place.forget(&["20260101-none".parse().unwrap(), trace.clone()]).await.unwrap();
    let shared = !place.list().await.unwrap().is_empty();
    for gone in ["chat", "again"] {
        // Where others can see it, it stays known whose it was.
        let mark = Kept { trace: trace.clone(), head: 0, messages: Vec::new(), lost: 0 };
        assert_eq!(place.get(gone, 0).await.unwrap(), shared.then_some(mark), "{gone}");
        let earlier = [known("20260101-t", None), known(trace.as_str(), Some(7))];
        let refused = place.replace(gone, &kept(9, 3), None, &earlier).await.unwrap();
        assert_eq!(refused, shared.then_some(trace.clone()), "what was said earlier does not come back: {gone}");
        place.remove(gone).await.unwrap();
        assert_eq!(place.get(gone, 0).await.unwrap(), None, "{gone}");
    }
    assert_eq!(place.get("other", 0).await.unwrap().unwrap(), kept(9, 3));
    place.forget(&[kept(9, 3).trace]).await.unwrap();
    assert_eq!(place.get("other", 0).await.unwrap().map_or(0, |kept| kept.messages.len()), 0);
    place.put("other", &kept(9, 3), None).await.unwrap();
    // What another trace holds is replaced only by who knows of it.
    let theirs = Kept { trace: "20260101-theirs".parse().unwrap(), ..kept(4, 2) };
    assert_eq!(place.replace("shared", &theirs, None, &[]).await.unwrap(), None, "nothing was there");
    if shared {
        let names: Vec<String> =
            place.list().await.unwrap().into_iter().map(|one| format!("{} {}", one.name, one.trace)).collect();
        assert_eq!(names, ["other 20260101-t", "shared 20260101-theirs"]);
        let others = [known("20260101-x", None), known("20260101-theirs", Some(3))];
        let refused = place.replace("shared", &kept(5, 1), Some(60_000), &others).await.unwrap();
        assert_eq!(refused, Some(theirs.trace.clone()));
        assert_eq!(place.get("shared", 0).await.unwrap().unwrap(), theirs);
    }
    let newer = Kept { head: 5, ..theirs.clone() };
    assert_eq!(place.replace("shared", &newer, None, &[]).await.unwrap(), None, "its own trace");
    let over = [known("20260101-x", None), known("20260101-theirs", Some(5))];
    assert_eq!(place.replace("shared", &kept(6, 3), Some(60_000), &over).await.unwrap(), None);
    assert_eq!(place.get("shared", 0).await.unwrap().unwrap(), kept(6, 3));
    let over = [known("20260101-t", None)];
    assert_eq!(place.replace("shared", &newer, None, &over).await.unwrap(), None, "up to any event");
    place.remove("shared").await.unwrap();
}

fn known(trace: &str, head: Option<u64>) -> Known {
    Known { trace: trace.parse().unwrap(), head }
}

/// What is told of a session of which nothing can be read.
async fn damage(place: &dyn SessionPlace, session: &str) -> String {
    let error = place.get(session, 0).await.unwrap_err();
    assert!(error.is_damage && error.to_string().contains("mainpath session prepare"), "{error}");
    error.problem
}

#[tokio::test]
async fn a_file_keeps_messages() {
    let folder = tempfile::tempdir().unwrap();
    let place = FilePlace::new(folder.path().join("sessions"));
    conforms(&place).await;
    let file = folder.path().join("sessions/chat.messages.jsonl");
    place.put("chat", &kept(1, 3), None).await.unwrap();
    let whole = std::fs::read(&file).unwrap();
    for cut in [0, 5, whole.len() - 1] {
        std::fs::write(&file, &whole[..cut]).unwrap();
        assert_eq!(place.get("chat", 0).await.unwrap(), None, "cut at {cut}: as if there were nothing");
    }
}

#[tokio::test]
async fn a_database_keeps_messages_that_others_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.db");
    let place = SqlitePlace::new(file.clone());
    conforms(&place).await;
    let db = rusqlite::Connection::open(&file).unwrap();
    let (role, message): (String, String) = db
        .query_row("SELECT role, message FROM message WHERE session = 'other' AND n = 2", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!((role.as_str(), serde_json::from_str(&message).unwrap()), ("assistant", kept(9, 3).messages[1].clone()));
    // What others have put there is no trace of ours: it is told, named by nobody, and replaced.
    db.execute("INSERT INTO session VALUES('odd', 'no trace name!', 3, 1)", []).unwrap();
    db.execute("INSERT INTO session VALUES('torn', '20260101-x', 3, 1)", []).unwrap();
    db.execute("INSERT INTO message VALUES('torn', 1, 'user', 'no json')", []).unwrap();
    let names: Vec<String> = place.list().await.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["other", "torn"]);
    assert!(damage(&place, "odd").await.starts_with("the session odd is damaged: its trace is not a trace's name"));
    assert!(damage(&place, "torn").await.starts_with("the session torn is damaged: its messages cannot be read"));
    db.execute("INSERT INTO message VALUES('left', 1, 'user', '{}')", []).unwrap();
    assert!(damage(&place, "left").await.contains("its row in the table session is missing"));
    // Each that is missing or no message counts, wherever it stood.
    let changes = [
        "DELETE FROM message WHERE session = 'lossy' AND n = 2",
        "UPDATE message SET message = '{broken' WHERE session = 'lossy' AND n = 3",
        "UPDATE message SET message = x'ff' WHERE session = 'lossy' AND n = 4",
        "DELETE FROM message WHERE session = 'lossy' AND n = 6",
    ];
    place.put("lossy", &kept(9, 6), None).await.unwrap();
    for (done, change) in (1u64..).zip(changes) {
        db.execute(change, []).unwrap();
        let left = place.get("lossy", 0).await.unwrap().unwrap();
        assert_eq!((left.lost, left.messages.len() as u64), (done, 6 - done), "{change}");
    }
    assert_eq!(place.get("lossy", 1).await.unwrap().unwrap().lost, 1, "the last one is not the last");
    assert_eq!(place.replace("odd", &kept(6, 3), None, &[]).await.unwrap(), None);
    assert_eq!(place.get("odd", 0).await.unwrap().unwrap(), kept(6, 3));
    std::fs::write(folder.path().join("bad.db"), "no database, though long enough to be looked at").unwrap();
    let bad = SqlitePlace::new(folder.path().join("bad.db")).get("chat", 0).await.unwrap_err();
    assert!(bad.place.ends_with("bad.db") && bad.problem.contains("not a database") && !bad.is_damage, "{bad}");
}

#[tokio::test]
async fn a_database_of_an_earlier_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute_batch(
        "CREATE TABLE session(name TEXT PRIMARY KEY, trace TEXT NOT NULL, head INTEGER NOT NULL);
         CREATE TABLE message(session TEXT NOT NULL, n INTEGER NOT NULL, role TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY(session, n)) WITHOUT ROWID;
         INSERT INTO session VALUES('chat', '20260101-t', 3);",
    )
    .unwrap();
    for (n, message) in (1..).zip(kept(3, 3).messages) {
        let text = serde_json::to_string(&message).unwrap();
        db.execute("INSERT INTO message VALUES('chat', ?1, 'user', ?2)", rusqlite::params![n, text]).unwrap();
    }
    let place = SqlitePlace::new(file);
    assert_eq!(place.get("chat", 0).await.unwrap().unwrap(), kept(3, 3));
    db.execute("DELETE FROM message WHERE n = 2", []).unwrap();
    assert_eq!(place.get("chat", 0).await.unwrap().unwrap().lost, 1);
    assert_eq!(place.replace("chat", &kept(4, 4), None, &[]).await.unwrap(), None);
    assert_eq!(place.get("chat", 0).await.unwrap().unwrap(), kept(4, 4));
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_file_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (files, db) = (folder.path().join("sessions"), folder.path().join("chat.db"));
    // As it was written before what is replaced was wiped: the words are in pages that nobody uses.
    let old = rusqlite::Connection::open(&db).unwrap();
    old.execute_batch("PRAGMA secure_delete = off; CREATE TABLE old(words TEXT);").unwrap();
    old.execute(
        "INSERT INTO old VALUES(?1)",
        [kept(1, 60).messages[58].parts[0].clone()].map(|part| format!("{part:?}")),
    )
    .unwrap();
    old.execute_batch("DROP TABLE old").unwrap();
    drop(old);
    let places: [&dyn SessionPlace; 2] = [&FilePlace::new(files), &SqlitePlace::new(db)];
    let holds = |path: &std::path::Path| std::fs::read(path).unwrap().windows(8).any(|at| at == "xxxxxxxx".as_bytes());
    let all = || {
        let folders = [folder.path().to_path_buf(), folder.path().join("sessions")];
        folders
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file() && holds(path))
            .count()
    };
    for place in places {
        place.put("chat", &kept(7, 60), None).await.unwrap();
    }
    assert_eq!(all(), 2);
    for place in places {
        place.forget(&[kept(7, 1).trace]).await.unwrap();
    }
    assert_eq!(all(), 0);
    let nowhere = SqlitePlace::new(folder.path().join("none.db"));
    nowhere.forget(&[kept(7, 1).trace]).await.unwrap();
    assert!(!folder.path().join("none.db").exists(), "none is made for it");
}

#[tokio::test]
async fn a_redis_server_keeps_messages_for_their_time() {
    let redis = Redis::start();
    let place = RedisPlace::new(&server(&redis)).unwrap();
    conforms(&place).await;
    place.put("chat", &kept(7, 2), Some(90_000)).await.unwrap();
    for key in ["mp:session:chat", "mp:session:chat:of"] {
        let left: i64 = direct(&redis, &["PTTL", key]).await;
        assert!((1..=90_000).contains(&left), "{key}: {left}");
    }
    let texts: Vec<String> = direct(&redis, &["LRANGE", "mp:session:chat", "0", "-1"]).await;
    assert_eq!(serde_json::from_str::<Message>(&texts[0]).unwrap(), kept(7, 2).messages[0]);
    // Each that is missing or no message counts; where none is left, that is told.
    let _: () = direct(&redis, &["LSET", "mp:session:chat", "0", "no message"]).await;
    let left = place.get("chat", 0).await.unwrap().unwrap();
    assert_eq!((left.lost, left.messages.as_slice()), (1, &kept(7, 2).messages[1..]));
    let _: String = direct(&redis, &["RPOP", "mp:session:chat"]).await;
    assert!(damage(&place, "chat").await.contains("its messages cannot be read"));
    let _: i64 = direct(&redis, &["DEL", "mp:session:chat"]).await;
    assert!(damage(&place, "chat").await.contains("its messages cannot be read"));
    let _: String = direct(&redis, &["SET", "mp:session:chat", "text"]).await;
    assert!(damage(&place, "chat").await.contains("WRONGTYPE"));
    place.put("chat", &kept(7, 2), Some(90_000)).await.unwrap();
    let _: i64 = direct(&redis, &["DEL", "mp:session:chat:of"]).await;
    assert!(damage(&place, "chat").await.contains("its trace is not a trace's name"));
    // A mark lives no longer than what was taken out.
    place.put("chat", &kept(7, 2), Some(90_000)).await.unwrap();
    place.forget(&[kept(7, 2).trace]).await.unwrap();
    let left: i64 = direct(&redis, &["PTTL", "mp:session:chat:of"]).await;
    assert!((1..=90_000).contains(&left), "{left}");
    let refused = RedisServer { password: Some("wrong".into()), ..server(&redis) };
    let refused = RedisPlace::new(&refused).unwrap().get("chat", 0).await.unwrap_err().to_string();
    assert!(refused.starts_with(&redis.url()) && !refused.contains("wrong"), "{refused}");
    let url = "redis://user:secretpass@127.0.0.1/".to_string();
    let bad = RedisPlace::new(&RedisServer { url, ..RedisServer::default() }).err().unwrap().to_string();
    assert!(bad.contains("user and password are set beside it") && !bad.contains("secretpass"), "{bad}");
}
