//! The small server: whoever says nothing does not keep others out.

use crate::replies::Clerk;
use crate::signatures::headers;
use mainpath_net::{Client, Reach};
use mainpath_people::{Answer, ListenLimits, People, PeopleConfig, Taken, listen_within, sign};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CONFIG: &str = "[webhook]\nurl = \"http://127.0.0.1:9\"\nsecret = \"HOOK\"\n";

/// Bounds a wait. Nothing here takes this long; what does, hangs.
const LONG: Duration = Duration::from_secs(60);

/// A server in a thread of its own, up to the end of the test.
fn served(clerk: &Arc<Clerk>, limits: ListenLimits) -> SocketAddr {
    let (clerk, (say, heard)) = (Arc::clone(clerk), std::sync::mpsc::channel());
    std::thread::spawn(move || {
        let config: PeopleConfig = toml::from_str(CONFIG).unwrap();
        let people = People::new(config, &Client::new(&Reach::default()), &|_| Some("a secret".into())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            say.send(listener.local_addr().unwrap()).unwrap();
            listen_within(limits, listener, Arc::new(people), clerk, std::future::pending()).await;
        });
    });
    heard.recv().unwrap()
}

/// What is answered to these bytes before the other side hangs up; it must before [`LONG`] is over.
fn answered(mut stream: &TcpStream, bytes: &[u8]) -> String {
    stream.write_all(bytes).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn many_that_say_nothing_do_not_keep_a_reply_out() {
    let clerk = Arc::new(Clerk::new(Taken::Recorded("t/2.0".into())));
    // Whoever has said nothing is sent away; the reply itself may take its time.
    let limits = ListenLimits { head: Duration::from_secs(1), connection: LONG };
    let address = served(&clerk, limits);
    // More than there is room for at once.
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    silent.iter().for_each(|mut stream| stream.write_all(b"POST /people/webhook HTTP/1.1\r\nHost: x\r\n").unwrap());
    let body = r#"{"question":"t/2.0","answer":"yes"}"#;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut request = format!("POST /people/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in &headers(&sign("a secret", "m1", now, body.as_bytes())) {
        request += &format!("{name}: {}\r\n", value.to_str().unwrap());
    }
    let told = answered(&TcpStream::connect(address).unwrap(), format!("{request}\r\n{body}").as_bytes());
    assert!(told.starts_with("HTTP/1.1 200 OK\r\n"), "{told}");
    assert_eq!(clerk.taken().into_iter().map(|Answer { text, .. }| text).collect::<Vec<_>>(), ["yes"]);
    // Those were sent away.
    assert!(!answered(&silent[0], b"").contains("200 OK"));
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let clerk = Arc::new(Clerk::new(Taken::NotTheirs));
    let address = served(&clerk, ListenLimits { head: LONG, connection: Duration::from_millis(300) });
    let begun = b"POST /people/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{";
    assert_eq!(answered(&TcpStream::connect(address).unwrap(), begun), "");
    assert_eq!(clerk.taken(), []);
}
