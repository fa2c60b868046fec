use mainpath_sessions::{Session, SessionError, Sessions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_pointer_is_a_small_file_that_comes_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(folder.path().join("sessions"));
    let list = || sessions.list().unwrap().into_iter().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(list(), []);
    assert!(matches!(sessions.get("chat-1"), Err(SessionError::Unknown(name)) if name == "chat-1"));
    let mut first = Session::new("chat-1", 20, Some(5_000), 1_000);
    sessions.put(&first).unwrap();
    first.trace = Some("20260101-x".parse().unwrap());
    sessions.put(&first).unwrap();
    let second = Session::new("b@example.com", 0, None, 1_000);
    sessions.put(&second).unwrap();
    assert_eq!(list(), [second.clone(), first.clone()]);
    assert_eq!(sessions.get("chat-1").unwrap(), first);
    let file = sessions.folder().join("chat-1.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for bad in ["", "../x", ".x", "a/b", "中", "a b", "x\0"] {
        assert!(matches!(sessions.get(bad), Err(SessionError::BadName(_))), "{bad:?}");
    }
    std::fs::write(&file, "{").unwrap();
    let damaged = sessions.get("chat-1").unwrap_err().to_string();
    assert!(damaged.contains("chat-1.json is not a session: ") && damaged.contains("remove it"), "{damaged}");
    let told: Vec<Result<Session, String>> =
        sessions.list().unwrap().into_iter().map(|session| session.map_err(|error| error.to_string())).collect();
    assert_eq!(told, [Ok(second), Err(damaged)], "one that is damaged hides no other");
    sessions.remove("chat-1").unwrap();
    assert!(matches!(sessions.remove("chat-1"), Err(SessionError::Unknown(_))));
    assert_eq!(sessions.list().unwrap().len(), 1);
}

#[test]
fn a_session_begins_anew_when_its_time_is_over() {
    let session = Session::new("x", 20, Some(5_000), 1_000);
    assert_eq!([6_000, 6_001].map(|now| session.is_expired(now)), [false, true]);
    assert!(!Session { ttl_ms: None, ..session }.is_expired(u64::MAX));
}
