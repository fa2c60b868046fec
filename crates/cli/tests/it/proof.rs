//! Signed heads: a log that was rewritten, shortened or signed by another is seen, by Mainpath and by the verifier of the page.

use crate::looking::{as_another, shut, unseal};
use crate::support::{Done, Place, scripted};
use mainpath::store::{Appended, FilesStore, Options, Scope, Store};
use mainpath::types::{Erased, Event, EventKind, Left, Part, Principal, TraceId};
use mainpath_testkit::model_server::Answer;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The exit code of what is not proven.
const UNPROVEN: i32 = 7;

/// A place with a key and a trace of one run.
pub struct Signer {
    pub place: Place,
    key: String,
    pub trace: String,
}

impl Signer {
    pub fn new() -> Signer {
        let place = Place::new();
        let server = scripted(vec![Answer::text("It was the heron.")]);
        place.run_on(&server, &["Who was it?"]);
        let (key, trace) = (place.ok(&["sign", "--new-key"]).trim().to_string(), place.trace());
        Signer { place, key, trace }
    }

    /// One more run in the trace.
    fn goes_on(&self) {
        let server = scripted(vec![Answer::text("And the pelican.")]);
        let done = self.place.run_on(&server, &["--trace", &self.trace, "Who else?"]);
        assert_eq!(done.code, 0, "{done:#?}");
    }

    fn signed(&self, more: &[&str]) -> Done {
        self.place.run(&[&["verify", "--signed", &self.trace], more].concat())
    }

    /// What the verifier of the page says.
    fn by_the_page(&self, more: &[&str]) -> (bool, String) {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify.py");
        let folder = self.place.home.join("traces").join(&self.trace);
        let done = Command::new("python3").arg(program).arg("--signed").args(more).arg(folder).output().unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(!said.contains("Traceback"), "{said}");
        (done.status.success(), said)
    }

    /// That Mainpath and the verifier of the page say the same; gives what Mainpath says.
    pub fn agree(&self, holds: bool, more: &[&str]) -> String {
        let done = self.signed(more);
        assert_eq!(done.code, if holds { 0 } else { UNPROVEN }, "{done:#?}");
        let with_key = [&["--key", self.key.as_str()], more].concat();
        let (page, said) = self.by_the_page(if more.contains(&"--key") { more } else { &with_key });
        assert_eq!(page, holds, "{said}\n{done:#?}");
        done.out
    }

    /// The events of the log.
    pub fn events(&self) -> Vec<Event> {
        events_of(&self.place, &self.trace)
    }

    fn put(&self, events: Vec<Event>) {
        replace_log(&self.place, &self.trace, events);
    }
}

/// The events of a trace's log.
pub fn events_of(place: &Place, trace: &str) -> Vec<Event> {
    let store = FilesStore::open(&place.home, Options::default()).unwrap();
    let trace: TraceId = trace.parse().unwrap();
    now(async { store.read(&Scope::local(), &trace, 1).await.unwrap().events })
}

/// Replaces the log of a trace by another one, with a chain and an end that are right: what somebody does who can write all files.
pub fn replace_log(place: &Place, trace: &str, events: Vec<Event>) {
    let other = tempfile::tempdir().unwrap();
    let store = FilesStore::open(other.path(), Options::default()).unwrap();
    let id: TraceId = trace.parse().unwrap();
    now(async {
        let lease = store.lease(&Scope::local(), &id, true).await.unwrap().lease;
        let head = events.len() as u64;
        assert_eq!(store.append(&lease, 0, events).await, Appended::Committed { head });
    });
    drop(store);
    for name in ["events.jsonl", "owner.lock"] {
        let made = other.path().join("traces").join(trace).join(name);
        std::fs::copy(made, place.file(trace, name)).unwrap();
    }
    for view in ["meta.json", "state.json"] {
        let _ = std::fs::remove_file(place.file(trace, view));
    }
    place.ok(&["verify", trace]);
}

impl Signer {
    /// Leaves the first lines of the log, and removes all that tells of more.
    fn cut(&self, lines: usize) {
        let file = self.place.file(&self.trace, "events.jsonl");
        let log = std::fs::read_to_string(&file).unwrap();
        let kept: String = log.split_inclusive('\n').take(lines).collect();
        std::fs::write(&file, kept).unwrap();
        for other in ["owner.lock", "meta.json", "state.json", "mailbox.jsonl"] {
            let _ = std::fs::remove_file(self.place.file(&self.trace, other));
        }
    }
}

impl Signer {
    /// Takes what one event says out of the log, without a key, and has the log say something else in its place: what somebody does who
    /// can write the files.
    pub fn forge(&self, of: &str, change: impl Fn(&mut EventKind)) {
        let events = self.events();
        let (last, mut event) =
            (events.last().unwrap().id, events.into_iter().find(|event| event.kind.name() == of).unwrap());
        change(&mut event.kind);
        let left = vec![Left { event: event.id, kind: event.kind }];
        let erased = Erased { left, by: Principal::local_user(), why: None };
        let marker = Event { id: last + 1, ts: event.ts, turn: 0, mail: None, kind: erased.into() };
        let store = FilesStore::open(&self.place.home, Options::default()).unwrap();
        let trace: TraceId = self.trace.parse().unwrap();
        now(async {
            let lease = store.lease(&Scope::local(), &trace, false).await.unwrap().lease;
            assert_eq!(store.erase(&lease, marker).await, Appended::Committed { head: last + 1 });
        });
        for view in ["meta.json", "state.json"] {
            let _ = std::fs::remove_file(self.place.file(&self.trace, view));
        }
    }
}

fn now<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

/// Changes what was said in the first message.
fn reworded(mut events: Vec<Event>) -> Vec<Event> {
    let said = events.iter_mut().find_map(|event| match &mut event.kind {
        EventKind::MessageQueued(data) => Some(&mut data.parts),
        _ => None,
    });
    *said.unwrap() = vec![Part::text("Nobody asked this.")];
    events
}

#[test]
fn a_key_is_made_once_for_its_owner_alone_and_openssl_reads_it() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("Done.")]);
    place.run_on(&server, &["Do it."]);
    let none = place.run(&["sign"]);
    assert!(none.code == 1 && none.err.contains("make one with mainpath sign --new-key"), "{none:#?}");
    let key = place.ok(&["sign", "--new-key"]).trim().to_string();
    assert_eq!((key.len(), place.ok(&["sign", "--public-key"]).trim()), (43, key.as_str()));
    let file = place.home.join("signing.key");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(&file).unwrap();
    let again = place.run(&["sign", "--new-key"]);
    assert!(again.code == 1 && again.err.contains("there is a key already"), "{again:#?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // Where OpenSSL is there, it has the same public key of it.
    if let Ok(done) = Command::new("openssl").args(["pkey", "-pubout", "-in"]).arg(&file).output() {
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(said, place.ok(&["sign", "--public-key", "--pem"]), "{done:?}");
    }
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = place.run(&["sign"]);
    assert!(open.code == 1 && open.err.contains("others can read the key"), "{open:#?}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, "no key").unwrap();
    let wrong = place.run(&["sign"]);
    assert!(wrong.code == 1 && wrong.err.contains("is no private key of ed25519 in PEM"), "{wrong:#?}");
    let mut agent = place.command(&["sign"]);
    agent.env("MAINPATH_CALL", "1");
    let done = agent.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr).trim(), "mainpath: agents cannot sign; run this command yourself");
}

#[test]
fn what_is_signed_is_told_with_by_whom_up_to_where_and_what_is_newer() {
    let signer = Signer::new();
    let before = signer.signed(&[]);
    assert_eq!(before.code, UNPROVEN, "{before:#?}");
    assert!(before.out.contains("not proven: no head of it is signed"), "{before:#?}");
    let count = signer.events().len();
    let said = signer.place.ok(&["sign"]);
    assert!(said.starts_with(&format!("{}: signed event {count}, head ", signer.trace)), "{said}");
    signer.place.ok(&["sign", &signer.trace]);
    let lines = std::fs::read_to_string(signer.place.file(&signer.trace, "signatures.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 1, "one head is signed once: {lines}");
    let told = signer.agree(true, &[]);
    assert!(told.contains(&format!("signed: event {count} at ")) && told.contains(&signer.key), "{told}");
    assert!(told.contains(&format!("as signed up to event {count}; nothing is newer")), "{told}");
    signer.goes_on();
    let newer = signer.events().len() - count;
    let told = signer.agree(true, &[]);
    assert!(
        told.contains(&format!("as signed up to event {count}; {newer} events are newer, and not signed")),
        "{told}"
    );
    signer.place.ok(&["sign"]);
    assert!(signer.agree(true, &[]).contains("nothing is newer"));
    // Views and other commands leave it as it is.
    signer.place.ok(&["replay"]);
    signer.place.ok(&["verify"]);
    signer.agree(true, &[]);
}

#[test]
fn a_log_that_was_rewritten_with_a_right_chain_is_seen() {
    let signer = Signer::new();
    signer.place.ok(&["sign"]);
    signer.put(reworded(signer.events()));
    let told = signer.agree(false, &[]);
    assert!(told.contains("the log was rewritten: nothing of it is as it was signed"), "{told}");
    let again = signer.place.run(&["sign"]);
    assert!(again.code == 1 && again.err.contains("it is not what this key signed before"), "{again:#?}");
}

#[test]
fn a_log_that_was_cut_to_an_earlier_signed_head_is_seen_with_a_witness() {
    let signer = Signer::new();
    let witness = signer.place.root().join("witness.jsonl").display().to_string();
    signer.place.ok(&["sign", "--witness", &witness]);
    let (file, count) = (signer.place.file(&signer.trace, "signatures.jsonl"), signer.events().len());
    let mail = std::fs::read(signer.place.file(&signer.trace, "mailbox.jsonl"));
    let early = std::fs::read(&file).unwrap();
    signer.goes_on();
    signer.place.ok(&["sign", "--witness", &witness]);
    signer.place.ok(&["sign", "--witness", &witness]);
    assert_eq!(std::fs::read_to_string(&witness).unwrap().lines().count(), 2);
    let told = signer.agree(true, &["--witness", &witness]);
    assert_eq!(told.matches("holds, witnessed").count(), 2, "{told}");
    let later = signer.events().len();
    signer.cut(count);
    if let Ok(mail) = mail {
        std::fs::write(signer.place.file(&signer.trace, "mailbox.jsonl"), mail).unwrap();
    }
    signer.place.ok(&["verify", &signer.trace]);
    let told = signer.agree(false, &[]);
    assert!(told.contains("its end was removed"), "{told}");
    // The signature of what is gone is gone as well: without a witness nobody can know.
    std::fs::write(&file, early).unwrap();
    signer.agree(true, &[]);
    let told = signer.agree(false, &["--witness", &witness]);
    assert!(told.contains(&format!("the head of event {later}, ")) && told.contains("its end was removed"), "{told}");
    // Signatures that were removed while the log stayed.
    std::fs::remove_file(&file).unwrap();
    let told = signer.agree(false, &["--witness", &witness]);
    assert!(told.contains("a witness has it, and signatures.jsonl does not: signatures were removed"), "{told}");
    // A trace that is not there any more.
    signer.place.ok(&["rm", &signer.trace, "--yes"]);
    let all = signer.place.run(&["verify", "--signed", "--all", "--witness", &witness]);
    assert_eq!(all.code, UNPROVEN, "{all:#?}");
    assert!(all.out.contains("the witness has signed heads of it, and it is not here"), "{all:#?}");
}

#[test]
fn forged_foreign_and_unreadable_signatures_are_told_apart() {
    let signer = Signer::new();
    signer.place.ok(&["sign"]);
    let other = Place::new();
    let stranger = other.ok(&["sign", "--new-key"]).trim().to_string();
    let told = signer.agree(false, &["--key", &stranger]);
    assert!(told.contains(&format!("by the key {}, which is not trusted", signer.key)), "{told}");
    signer.agree(true, &["--key", &stranger, "--key", &signer.key]);
    let file = signer.place.file(&signer.trace, "signatures.jsonl");
    let line = std::fs::read_to_string(&file).unwrap();
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let count = signer.events().len();
    write(&line.replace(&format!("\"event\":{count},"), &format!("\"event\":{},", count - 1)));
    assert!(signer.agree(false, &[]).contains("forged, or changed"));
    // Somebody else's signature under the owner's name.
    write(&line.replace(&signer.key, &stranger));
    assert!(signer.agree(false, &["--key", &stranger]).contains("forged, or changed"));
    for bad in
        ["no line of ours\n", "{}\n", "\n", &line.replace("\"v\":1", "\"v\": 1"), &line.replace("\"v\":1", "\"v\":2")]
    {
        write(&format!("{line}{bad}"));
        let told = signer.agree(false, &[]);
        assert!(told.contains("signatures.jsonl, line 2: it is no signed head"), "{bad:?}: {told}");
    }
    // What a crash left of a line was never acknowledged, and the next one takes its place.
    write(&format!("{line}{}", &line[..40]));
    signer.agree(true, &[]);
    signer.goes_on();
    signer.place.ok(&["sign"]);
    assert!(signer.agree(true, &[]).contains("nothing is newer"));
    // That of another trace.
    signer.place.ok(&["fork", &signer.trace, "--no-run"]);
    let forked = signer.place.traces().into_iter().find(|trace| *trace != signer.trace).unwrap();
    std::fs::copy(&file, signer.place.file(&forked, "signatures.jsonl")).unwrap();
    let done = signer.place.run(&["verify", "--signed", &forked]);
    assert_eq!(done.code, UNPROVEN, "{done:#?}");
    assert!(done.out.contains("it is about another trace"), "{done:#?}");
}

#[test]
fn another_machine_checks_with_the_public_key_alone() {
    let (here, there) = (Signer::new(), Place::new());
    here.place.ok(&["sign"]);
    let from = here.place.home.join("traces").join(&here.trace);
    let to = there.home.join("traces").join(&here.trace);
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let no_key = there.run(&["verify", "--signed"]);
    assert!(no_key.code == 2 && no_key.err.contains("name the one that signed with --key"), "{no_key:#?}");
    there.ok(&["verify", "--signed", "--key", &here.key]);
    let pem = there.root().join("owner.pem");
    std::fs::write(&pem, here.place.ok(&["sign", "--public-key", "--pem"])).unwrap();
    there.ok(&["verify", "--signed", "--key", &pem.display().to_string()]);
    let (holds, said) = here.by_the_page(&["--key", &pem.display().to_string()]);
    assert!(holds, "{said}");
    there
        .run(&["verify", "--signed", "--key", "nonsense"])
        .fails(2, "\"nonsense\" is no public key of ed25519 (43 characters, or PEM), and no file with one");
    // Both machines sign it: each counts where its key is trusted.
    let second = there.ok(&["sign", "--new-key"]).trim().to_string();
    there.ok(&["sign"]);
    assert_eq!(there.run(&["verify", "--signed"]).code, UNPROVEN, "the first one's is of a stranger here");
    there.ok(&["verify", "--signed", "--key", &here.key, "--key", &second]);
}

#[test]
fn runs_end_with_a_signed_head_where_the_configuration_says_so() {
    let place = Place::new();
    let witness = place.root().join("witness.jsonl");
    let stranger = Place::new().ok(&["sign", "--new-key"]).trim().to_string();
    place.config(&format!("[sign]\nat_end = true\nwitness = {witness:?}\ntrusted = [{stranger:?}]\n"));
    let server = scripted(vec![Answer::text("Done."), Answer::text("Done again.")]);
    let done = place.run_on(&server, &["Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(done.err.contains("could not be signed: there is no key in "), "{done:#?}");
    place.ok(&["sign", "--new-key"]);
    let done = place.run_on(&server, &["--trace", &place.trace(), "Again."]);
    assert!(done.code == 0 && !done.err.contains("could not be signed"), "{done:#?}");
    let told = place.ok(&["verify", "--signed"]);
    assert!(told.contains("holds, witnessed") && told.contains("nothing is newer"), "{told}");
    assert_eq!(std::fs::read_to_string(&witness).unwrap().lines().count(), 1);
    place.config("[sign]\ntrusted = [\"nonsense\"]\n");
    let wrong = place.run(&["verify", "--signed"]);
    assert!(
        wrong.code == 1 && wrong.err.contains("config.toml, line 2: \"nonsense\" is no public key of ed25519"),
        "{wrong:#?}"
    );
}

#[test]
fn a_witness_command_gets_the_line_and_its_failure_is_told() {
    let signer = Signer::new();
    let told = signer.place.root().join("told");
    let command = format!("cat >> {}", told.display());
    let line = signer.place.ok(&["sign", "--witness-command", &command, "--json"]);
    assert_eq!(std::fs::read_to_string(&told).unwrap(), line);
    signer
        .place
        .run(&["sign", "--witness-command", " "])
        .fails(2, "the witness command is empty; leave it out for none");
    let failed = signer.place.run(&["sign", "--witness-command", "exit 3"]);
    assert!(failed.code == 1 && failed.err.contains("the witness command failed (exit status: 3)"), "{failed:#?}");
    signer.place.ok(&["verify", "--signed", "--witness", &told.display().to_string()]);
    let gone = signer.place.run(&["sign", "--witness", "/nowhere/at/all"]);
    assert!(gone.code == 1 && gone.err.contains("the witness /nowhere/at/all cannot be written"), "{gone:#?}");
    let missing = signer.signed(&["--witness", "/nowhere/at/all"]);
    assert!(missing.code == 1 && missing.err.contains("the witness /nowhere/at/all cannot be read"), "{missing:#?}");
}

/// Puts words in the place of the answer.
pub fn alice(kind: &mut EventKind) {
    let EventKind::ModelFinished(data) = kind else { panic!("{kind:?}") };
    data.parts = vec![Part::text("Alice said yes.")];
}

#[test]
fn what_a_witness_has_is_not_signed_over_where_the_signatures_beside_the_log_are_gone() {
    let signer = Signer::new();
    let witness = signer.place.root().join("witness.jsonl");
    let with = ["--witness", witness.to_str().unwrap()];
    let sign = |more: &[&str]| signer.place.run(&[&["sign", &signer.trace], &with[..], more].concat());
    assert_eq!(sign(&[]).code, 0);
    signer.forge("model_finished", alice);
    std::fs::remove_file(signer.place.file(&signer.trace, "signatures.jsonl")).unwrap();
    let refused = sign(&[]);
    assert!(refused.code == 1 && refused.err.contains("mainpath sign --with-erasures"), "{refused:#?}");
    signer.agree(false, &with);
    assert_eq!(sign(&["--with-erasures"]).code, 0);
    // A log that was rewritten is not signed either.
    signer.put(reworded(signer.events()));
    let _ = std::fs::remove_file(signer.place.file(&signer.trace, "signatures.jsonl"));
    let refused = sign(&["--with-erasures"]);
    assert!(refused.code == 1 && refused.err.contains("it is not what this key signed before"), "{refused:#?}");
}

#[test]
fn a_new_key_does_not_sign_over_what_an_old_one_that_is_trusted_signed() {
    let signer = Signer::new();
    signer.place.ok(&["sign", &signer.trace]);
    signer.forge("model_finished", alice);
    std::fs::rename(signer.place.home.join("signing.key"), signer.place.root().join("old.key")).unwrap();
    signer.place.ok(&["sign", "--new-key"]);
    signer.place.config(&format!("[sign]\ntrusted = [{:?}]\n", signer.key));
    let refused = signer.place.run(&["sign", &signer.trace]);
    assert!(refused.code == 1 && refused.err.contains("mainpath sign --with-erasures"), "{refused:#?}");
    signer.put(reworded(signer.events()));
    let refused = signer.place.run(&["sign", &signer.trace]);
    let words = format!("it is not what the key {} signed before", signer.key);
    assert!(refused.code == 1 && refused.err.contains(&words), "{refused:#?}");
}

#[test]
fn nothing_is_written_through_a_link_in_a_traces_folder() {
    let signer = Signer::new();
    let outside = signer.place.root().join("outside.txt");
    std::fs::write(&outside, "a line\nand a piece").unwrap();
    for (name, args) in [
        ("signatures.jsonl", vec!["sign", &signer.trace]),
        ("mailbox.jsonl", vec!["steer", &signer.trace, "Look there."]),
    ] {
        let file = signer.place.file(&signer.trace, name);
        let _ = std::fs::remove_file(&file);
        std::os::unix::fs::symlink(&outside, &file).unwrap();
        let refused = signer.place.run(&args);
        assert!(refused.code == 1 && refused.err.contains("it is a link; remove it"), "{name}: {refused:#?}");
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "a line\nand a piece", "{name}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_configuration_that_cannot_be_read_may_name_the_witness_and_so_nothing_is_proven() {
    let signer = Signer::new();
    let witness = signer.place.root().join("witness.jsonl");
    let right = format!("[sign]\nwitness = {witness:?}\n");
    signer.place.config(&right);
    signer.place.ok(&["sign"]);
    signer.place.ok(&["verify", "--signed", "--all"]);
    for wrong in [format!("{right}at_edn = true\n"), format!("{right}[[\n"), format!("{right}[run]\nx = 1\n")] {
        signer.place.config(&wrong);
        for args in [&["verify", "--signed", "--all"][..], &["verify", "--signed", "--key", &signer.key]] {
            let done = signer.place.run(args);
            assert!(done.code == 1 && done.err.contains("config.toml, line "), "{wrong}: {done:#?}");
            assert!(!done.out.contains("holds"), "{done:#?}");
        }
        // What is named is enough.
        let named = ["--key", &signer.key, "--witness", witness.to_str().unwrap()];
        signer.place.ok(&[&["verify", "--signed"], &named[..]].concat());
    }
    for (line, words) in [
        ("witness = \"heads.jsonl\"", "\"heads.jsonl\" is no whole path: begin it with / or ~/"),
        ("witness = \"\"", "\"\" is no whole path"),
        ("witness_command = \" \"", "the witness command is empty; leave it out for none"),
    ] {
        signer.place.config(&format!("[sign]\n{line}\n"));
        let done = signer.place.run(&["sign"]);
        assert!(done.code == 1 && done.err.contains(words) && done.err.contains("config.toml, line 2"), "{done:#?}");
    }
    signer.place.config("[sign]\nwitness = \"~/heads.jsonl\"\n");
    let mut sign = signer.place.command(&["sign"]);
    let done = sign.env("HOME", signer.place.root()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(std::fs::read_to_string(signer.place.root().join("heads.jsonl")).unwrap().lines().count(), 1);
}

#[test]
fn a_line_that_a_crash_left_in_a_witness_breaks_no_proof() {
    let signer = Signer::new();
    let witness = signer.place.root().join("witness.jsonl");
    let named = ["--witness", witness.to_str().unwrap()];
    signer.place.ok(&[&["sign"], &named[..]].concat());
    let whole = std::fs::read_to_string(&witness).unwrap();
    let add = |text: &str| {
        let mut file = std::fs::OpenOptions::new().append(true).open(&witness).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    add("{\"v\":1,\"ten");
    signer.agree(true, &named);
    // What comes next begins on a line of its own, and the piece stays where nothing can be taken away.
    signer.goes_on();
    signer.place.ok(&[&["sign"], &named[..]].concat());
    let lines = std::fs::read_to_string(&witness).unwrap();
    assert_eq!(lines.lines().nth(1), Some("{\"v\":1,\"ten"), "{lines}");
    assert!(signer.agree(true, &named).contains("nothing is newer"));
    // A command that only adds puts the next line behind the piece.
    add(&format!("{}{whole}", &whole[..90]));
    signer.agree(true, &named);
    std::fs::write(
        signer.place.file(&signer.trace, "signatures.jsonl"),
        lines.lines().nth(2).unwrap().to_string() + "\n",
    )
    .unwrap();
    std::fs::write(&witness, format!("{}{whole}", &whole[..90])).unwrap();
    assert!(signer.agree(false, &named).contains("signatures were removed"), "the line behind the piece counts");
    std::fs::write(&witness, "a line\n").unwrap();
    assert!(signer.agree(false, &named).contains("line 1"));
}

#[test]
fn a_key_is_taken_as_pem_and_also_where_it_begins_with_a_hyphen() {
    let signer = Signer::new();
    signer.place.ok(&["sign"]);
    let pem = signer.place.ok(&["sign", "--public-key", "--pem"]);
    assert!(pem.starts_with("-----BEGIN"), "{pem}");
    signer.agree(true, &["--key", &pem]);
    let hyphen = format!("-{}A", "A".repeat(41));
    assert!(signer.agree(false, &["--key", &hyphen]).contains("which is not trusted"));
    let (_, said) = signer.by_the_page(&["--key", "nonsense"]);
    assert_eq!(said.trim(), "'nonsense' is no public key of ed25519");
}

#[test]
fn nothing_is_proven_where_there_is_no_trace_or_only_the_signatures_of_one() {
    let place = Place::new();
    place.ok(&["sign", "--new-key"]);
    let none = place.run(&["verify", "--signed", "--all"]);
    assert!(none.code == UNPROVEN && none.err.contains("there is no trace here"), "{none:#?}");
    let signer = Signer::new();
    signer.place.ok(&["sign"]);
    for name in ["events.jsonl", "meta.json", "state.json"] {
        let _ = std::fs::remove_file(signer.place.file(&signer.trace, name));
    }
    let lost = signer.place.run(&["verify", "--signed", "--all"]);
    assert!(lost.code == UNPROVEN && lost.err.contains(&signer.trace), "{lost:#?}");
}

#[test]
fn what_is_signed_and_could_not_be_told_is_said_to_be_signed() {
    let signer = Signer::new();
    let done = signer.place.run(&["sign", "--witness-command", "exit 3"]);
    assert!(done.code == 1 && done.out.contains(": signed event "), "{done:#?}");
    assert!(done.err.contains(&format!("{} is signed, but the witness command failed", signer.trace)), "{done:#?}");
    signer.place.config("[sign]\nat_end = true\nwitness_command = \"exit 3\"\n");
    let server = scripted(vec![Answer::text("And the pelican.")]);
    let done = signer.place.run_on(&server, &["--trace", &signer.trace, "Who else?"]);
    assert!(done.code == 0 && done.err.contains("is signed, but the witness command failed"), "{done:#?}");
    signer.place.ok(&["verify", "--signed"]);
}

#[test]
fn where_nothing_can_be_written_signing_says_that_it_must() {
    let signer = Signer::new();
    shut(&signer.place);
    let done = as_another(&signer.place, &["sign"]);
    unseal(&signer.place.home);
    assert!(done.code == 1 && done.err.contains("signing writes beside the logs, and "), "{done:#?}");
}

#[test]
fn a_signed_head_with_a_time_that_is_none_is_no_signed_head() {
    let signer = Signer::new();
    signer.place.ok(&["sign"]);
    let file = signer.place.file(&signer.trace, "signatures.jsonl");
    let line = std::fs::read_to_string(&file).unwrap();
    let at = line.find("\"at\":\"").unwrap() + 6;
    for time in ["2026-02-30T00:00:00.000Z", "yesterday, in the evening", "2026-11-26 22:31:02.114Z"] {
        std::fs::write(&file, format!("{}{time}{}", &line[..at], &line[at + 24..])).unwrap();
        assert!(signer.agree(false, &[]).contains("line 1: it is no signed head"), "{time}");
    }
}
