//! Messages that go out: to the first channel that takes them, again where that may help, with a token of Feishu's as long as it lasts.

use mainpath_net::{Client, Reach};
use mainpath_people::{Channel, Kind, Outgoing, People, PeopleConfig, Sent, Unsent};
use mainpath_testkit::receiver::Receiver;
use mainpath_testkit::smtp::MailServer;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};

fn people(config: &str) -> People {
    let config: PeopleConfig = toml::from_str(config).unwrap();
    People::new(config, &Client::new(&Reach::default()), &|name| Some(format!("the secret {name}"))).unwrap()
}

#[test]
fn a_secret_that_signs_nothing_is_refused_with_its_name() {
    let made = |secret: &str| {
        let config = "[webhook]\nurl = \"http://127.0.0.1:9\"\nsecret = \"HOOK\"\n";
        let config: PeopleConfig = toml::from_str(config).unwrap();
        People::new(config, &Client::new(&Reach::default()), &|_| Some(secret.into()))
            .err()
            .map(|error| error.to_string())
    };
    let why =
        |why: &str| Some(format!("nothing can be signed with HOOK: {why}; set a secret, or whsec_ and its base64"));
    assert_eq!(made("whsec_"), why("it is empty"));
    assert_eq!(made(" \n"), why("it is empty"));
    assert_eq!(made("whsec_!!!"), why("what follows whsec_ is not base64"));
    assert_eq!(made(""), Some("HOOK is not set; set that variable, or HOOK under [secrets]".into()));
    assert_eq!((made("whsec_bm90IHZlcnkgc2VjcmV0"), made("some words")), (None, None));
}

fn message(kind: Kind) -> Outgoing {
    Outgoing {
        id: "20261125T120000.000Z-abc/2.0".into(),
        kind,
        trace: "20261125T120000.000Z-abc".into(),
        text: "Is it done?\r\nBcc: everybody@example.com".into(),
        choices: Vec::new(),
        files: Vec::new(),
        expires_at: None,
        default: None,
    }
}

fn send(people: &People, to: &str, message: &Outgoing) -> Result<Sent, Unsent> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(people.send(to, message))
}

fn mail(port: u16) -> String {
    format!("[email]\nhost = \"127.0.0.1\"\nport = {port}\nsecurity = \"none\"\nfrom = \"agent@example.com\"\n")
}

#[test]
fn the_first_channel_that_takes_a_message_has_it() {
    let (down, mails) = (Receiver::start(|_| (410, String::new())), MailServer::start(0));
    let config = format!(
        "[contacts.lan]\nwebhook = true\nemail = \"lan@example.com\"\n[webhook]\nurl = \"{}\"\nsecret = \"HOOK\"\n{}",
        down.url(),
        mail(mails.port())
    );
    let sent = send(&people(&config), "lan", &message(Kind::Question));
    assert_eq!(sent, Ok(Sent { channel: Channel::Email, receipt: None }));
    assert_eq!((down.received().len(), mails.mails().len()), (1, 1), "what is refused for good is not tried again");
    let unsent = send(&people(&config), "eve", &message(Kind::Question)).unwrap_err();
    assert_eq!(unsent, Unsent { problem: "there is no contact \"eve\"; the contacts are: lan".into(), again: false });
}

#[test]
fn what_a_question_says_cannot_add_headers_to_a_mail() {
    let mails = MailServer::start(0);
    let people = people(&format!("[contacts.lan]\nemail = \"lan@example.com\"\n{}", mail(mails.port())));
    send(&people, "lan", &message(Kind::Question)).unwrap();
    let taken = mails.mails().pop().unwrap();
    assert_eq!(taken.to, ["lan@example.com"]);
    let (head, _) = taken.text.split_once("\n\n").unwrap();
    assert!(!head.lines().any(|line| line.starts_with("Bcc:")), "{head}");
    assert_eq!(taken.header("Message-ID"), "<20261125T120000.000Z-abc.2.0@example.com>");
}

#[test]
fn mail_that_must_be_encrypted_is_not_sent_to_a_server_that_cannot() {
    let mails = MailServer::start(0);
    let config = format!(
        "[contacts.lan]\nemail = \"lan@example.com\"\n[email]\nhost = \"127.0.0.1\"\nport = {}\nfrom = \"agent@example.com\"\nuser = \"u\"\npassword = \"MAIL\"\n",
        mails.port()
    );
    let unsent = send(&people(&config), "lan", &message(Kind::Question)).unwrap_err();
    assert!(!unsent.problem.contains("the secret"), "{unsent}");
    assert_eq!(mails.mails(), []);
    let heard = mails.heard();
    assert!(heard.iter().all(|line| !line.starts_with("AUTH") && !line.starts_with("MAIL")), "{heard:?}");
}

#[test]
fn a_token_is_asked_for_once_and_again_when_the_platform_no_longer_knows_it() {
    let sent = AtomicU32::new(0);
    let platform = Receiver::start(move |received| {
        let body = match received.path.starts_with("/open-apis/auth/") {
            true => json!({"code": 0, "tenant_access_token": "t-1", "expire": 7200}),
            // The second message finds the token gone.
            false if sent.fetch_add(1, Ordering::AcqRel) == 1 => json!({"code": 99_991_663, "msg": "token invalid"}),
            false => json!({"code": 0, "data": {"message_id": "om_1"}}),
        };
        (200, body.to_string())
    });
    let config = format!(
        "[contacts.team]\nfeishu = \"oc_team\"\n[feishu]\napp_id = \"cli_1\"\napp_secret = \"APP\"\nurl = \"{}\"\n",
        platform.url()
    );
    let people = people(&config);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..3 {
            let sent = people.send("team", &message(Kind::Message)).await;
            assert_eq!(sent, Ok(Sent { channel: Channel::Feishu, receipt: Some("om_1".into()) }));
        }
    });
    let paths: Vec<String> =
        platform.received().iter().map(|one| one.path.rsplit('/').next().unwrap().to_string()).collect();
    let message = "messages?receive_id_type=chat_id";
    assert_eq!(paths, ["internal", message, message, "internal", message, message]);
    let uuids: Vec<serde_json::Value> = platform
        .received()
        .iter()
        .filter(|one| one.path.contains("messages"))
        .map(|one| one.json()["uuid"].clone())
        .collect();
    assert!(uuids.iter().all(|uuid| *uuid == uuids[0] && uuid.as_str().unwrap().len() == 32), "{uuids:?}");
}

#[test]
fn what_feishu_refuses_is_told_without_the_secret() {
    let platform = Receiver::start(|_| (200, json!({"code": 10_003, "msg": "invalid param"}).to_string()));
    let config = format!("[feishu]\napp_id = \"cli_1\"\napp_secret = \"APP\"\nurl = \"{}\"\n", platform.url());
    let unsent = send(&people(&config), "feishu:ou_1", &message(Kind::Message)).unwrap_err();
    assert_eq!(unsent, Unsent { problem: "Feishu refused it: invalid param (code 10003)".into(), again: false });
    let bad = send(&people(&config), "feishu:../x", &message(Kind::Message)).unwrap_err();
    assert!(bad.problem.contains("cannot be reached"), "{bad}");
}
