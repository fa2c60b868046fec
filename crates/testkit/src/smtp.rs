//! A mail server on loopback, as much of RFC 5321 as a sender sees. It keeps what it takes.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A mail that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// Headers and body, lines ended by `\n`.
    pub text: String,
}

impl Mail {
    /// A header that stands on one line.
    pub fn header(&self, name: &str) -> &str {
        let line = self.text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_default()
    }
}

/// A server for a test. It ends with its value.
pub struct MailServer {
    address: SocketAddr,
    taken: Arc<Mutex<Vec<Mail>>>,
    said: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicBool>,
    busy: Arc<AtomicU32>,
}

impl MailServer {
    /// Takes all mail, but answers the first so many senders that it is busy.
    pub fn start(busy: u32) -> MailServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = MailServer {
            address: listener.local_addr().expect("an address"),
            taken: Arc::default(),
            said: Arc::default(),
            ended: Arc::default(),
            busy: Arc::new(AtomicU32::new(busy)),
        };
        let (taken, said, ended, busy) =
            (Arc::clone(&server.taken), Arc::clone(&server.said), Arc::clone(&server.ended), Arc::clone(&server.busy));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let (taken, said, busy) = (Arc::clone(&taken), Arc::clone(&said), Arc::clone(&busy));
                std::thread::spawn(move || {
                    let _ = serve(stream, &taken, &said, &busy);
                });
            }
        });
        server
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What it has taken.
    pub fn mails(&self) -> Vec<Mail> {
        self.taken.lock().expect("no panic").clone()
    }

    /// The commands that it heard.
    pub fn heard(&self) -> Vec<String> {
        self.said.lock().expect("no panic").clone()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(
    mut stream: TcpStream,
    taken: &Mutex<Vec<Mail>>,
    said: &Mutex<Vec<String>>,
    busy: &AtomicU32,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    stream.write_all(b"220 mail.test ESMTP\r\n")?;
    let mut mail = Mail { from: String::new(), to: Vec::new(), text: String::new() };
    while let Some(line) = lines.next() {
        let line = line?;
        said.lock().expect("no panic").push(line.clone());
        let path = || {
            line.split_once(':')
                .map_or("", |(_, path)| path.split(' ').next().unwrap_or_default())
                .trim_matches(['<', '>'])
        };
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let answer: &[u8] = match verb.as_str() {
            "EHLO" => b"250-mail.test\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n",
            "HELO" | "RSET" | "NOOP" => b"250 fine\r\n",
            "MAIL" if busy.load(Ordering::Acquire) > 0 => {
                busy.fetch_sub(1, Ordering::AcqRel);
                b"451 busy, try again later\r\n"
            }
            "MAIL" => {
                mail.from = path().into();
                b"250 fine\r\n"
            }
            "RCPT" if path().starts_with("nobody@") => b"550 no such person\r\n",
            "RCPT" => {
                mail.to.push(path().into());
                b"250 fine\r\n"
            }
            "DATA" => {
                stream.write_all(b"354 go on\r\n")?;
                for line in lines.by_ref() {
                    let line = line?;
                    if line == "." {
                        break;
                    }
                    mail.text += line.strip_prefix('.').unwrap_or(&line);
                    mail.text.push('\n');
                }
                taken.lock().expect("no panic").push(mail.clone());
                (mail.to, mail.text) = (Vec::new(), String::new());
                b"250 taken\r\n"
            }
            "QUIT" => {
                return stream.write_all(b"221 bye\r\n");
            }
            _ => b"502 not here\r\n",
        };
        stream.write_all(answer)?;
    }
    Ok(())
}
