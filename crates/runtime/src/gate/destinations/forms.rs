//! What says where something goes or to whom: names of arguments and fields, and how addresses, accounts and ids look.

/// Words in the names of arguments and fields that say where to or to whom. In a result, what stands under such a name is the server's word.
const PLACES: [&str; 97] = [
    "account",
    "accounts",
    "address",
    "addresses",
    "assignee",
    "assignees",
    "attendee",
    "attendees",
    "author",
    "bcc",
    "beneficiary",
    "board",
    "bucket",
    "callback",
    "cc",
    "channel",
    "channels",
    "chat",
    "contact",
    "contacts",
    "conversation",
    "counterparty",
    "creditor",
    "database",
    "dest",
    "destination",
    "dir",
    "directory",
    "domain",
    "email",
    "emails",
    "endpoint",
    "file",
    "filename",
    "filepath",
    "files",
    "folder",
    "from",
    "group",
    "groups",
    "guest",
    "guests",
    "handle",
    "host",
    "hostname",
    "href",
    "iban",
    "id",
    "ids",
    "invitee",
    "invitees",
    "link",
    "mail",
    "member",
    "members",
    "mobile",
    "org",
    "organization",
    "organizer",
    "owner",
    "participant",
    "participants",
    "passphrase",
    "password",
    "path",
    "paths",
    "payee",
    "people",
    "person",
    "phone",
    "project",
    "receiver",
    "recipient",
    "recipients",
    "repo",
    "repository",
    "room",
    "sender",
    "server",
    "site",
    "space",
    "target",
    "team",
    "thread",
    "to",
    "uri",
    "url",
    "urls",
    "user",
    "username",
    "users",
    "uuid",
    "wallet",
    "webhook",
    "website",
    "with",
    "workspace",
];
/// Those that name files, for which a model makes up names of its own.
const FILES: [&str; 8] = ["dir", "directory", "file", "filename", "filepath", "folder", "path", "paths"];
/// Those of arguments that have a tool return what lies somewhere.
const READS: [&str; 6] = ["filename", "filepath", "path", "paths", "uri", "url"];
/// Names of fields that are the server's word besides.
const NAMES: [&str; 2] = ["name", "login"];

/// Names of fields whose values their bearers choose.
const CHOSEN: [&str; 8] = ["handle", "href", "link", "links", "login", "name", "site", "website"];

/// Words in the names of arguments and fields with free text.
const TEXTS: [&str; 27] = [
    "bio",
    "body",
    "caption",
    "comment",
    "comments",
    "content",
    "contents",
    "data",
    "description",
    "details",
    "html",
    "instructions",
    "markdown",
    "memo",
    "message",
    "messages",
    "note",
    "notes",
    "payload",
    "review",
    "reviews",
    "snippet",
    "subject",
    "summary",
    "text",
    "texts",
    "value",
];
/// Words in the names of arguments that name what a call makes.
const TITLES: [&str; 2] = ["subject", "title"];

/// Returns true if an argument or a field has free text.
pub(super) fn is_text(name: &str) -> bool {
    words(name).any(|word| TEXTS.contains(&word.as_str())) && !is_id(name)
}

/// Returns true if an argument is the title of what a call creates, such as an event.
pub(super) fn is_title(name: &str) -> bool {
    TITLES.iter().any(|title| name.eq_ignore_ascii_case(title))
}

/// Whether an argument says where to or to whom.
pub(super) fn is_place(name: &str) -> bool {
    words(name).any(|word| PLACES.contains(&word.as_str()))
}

/// Whether a field of a result is filled by the server rather than by whoever wrote a text.
pub(super) fn is_field(name: &str) -> bool {
    is_place(name) || NAMES.contains(&name.to_lowercase().as_str())
}

/// Whether a field may hold addresses and account numbers. In names of people and files, and in links, whoever is meant by them has a say.
pub(super) fn holds_addresses(name: &str) -> bool {
    is_field(name) && !words(name).any(|word| CHOSEN.contains(&word.as_str()) || FILES.contains(&word.as_str()))
}

/// Whether an argument names a file, and not its id.
pub(super) fn is_file(name: &str) -> bool {
    words(name).any(|word| FILES.contains(&word.as_str())) && !is_id(name)
}

/// Whether an argument or a field is an id: `id`, `event_id`, `fileIds`.
pub(super) fn is_id(name: &str) -> bool {
    words(name).last().is_some_and(|word| matches!(word.as_str(), "id" | "ids" | "uuid"))
}

/// Whether a call with this argument returns what lies in a place, such as a page or a file: text, even if it is JSON.
pub(super) fn reads_place(name: &str) -> bool {
    name.eq_ignore_ascii_case("file") || words(name).any(|word| READS.contains(&word.as_str()))
}

/// The words of a name: `shareWith`, `share_with`, `share-with`.
pub(super) fn words(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    let mut last_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && last_small {
            spaced.push(' ');
        }
        last_small = letter.is_lowercase() || letter.is_ascii_digit();
        spaced.extend(letter.to_lowercase());
    }
    let words: Vec<String> = spaced.split(|letter: char| !letter.is_alphanumeric()).map(String::from).collect();
    words.into_iter().filter(|word| !word.is_empty())
}

/// The addresses in a text, as they are written: of mail, of the web, of bank accounts; those behind percent signs too.
pub(super) fn addresses(text: &str) -> Vec<String> {
    let mut found = accounts(text);
    let decoded = percent_decoded(text);
    let apart = |letter: char| letter.is_whitespace() || letter.is_control() || "<>()[]{}\"'`,;|".contains(letter);
    let bare = |word: &str| word.trim_matches(|letter: char| ".:!?*".contains(letter)).to_string();
    for word in text.split(apart).map(bare) {
        if is_web(&word) {
            found.push(word);
        } else {
            found.extend(mails(&word));
        }
    }
    for word in decoded.iter().flat_map(|text| text.split(apart)).map(bare).filter(|word| !is_web(word)) {
        found.extend(mails(&word).filter(|mail| !text.contains(mail.as_str())));
    }
    found
}

/// The addresses of mail in a word, as forms and links have them: `to=anna@corp.example&x=1`, `mailto:anna@corp.example?subject=x`.
fn mails(word: &str) -> impl Iterator<Item = String> {
    word.split(['=', '&', '?', ':', '/']).filter(|piece| is_mail(piece)).map(String::from)
}

/// A text with `%40` and the like as what they stand for; `None` if it has none.
pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let hex = |at: usize| u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok();
    let mut decoded = Vec::with_capacity(text.len());
    let (bytes, mut at, mut changed) = (text.as_bytes(), 0, false);
    while let Some(byte) = bytes.get(at) {
        match (*byte == b'%').then(|| hex(at)).flatten() {
            Some(meant) => {
                decoded.push(meant);
                (at, changed) = (at + 3, true);
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    changed.then(|| String::from_utf8_lossy(&decoded).into_owned())
}

/// `https://…`, `www.…`, and `host.example/…`.
pub(super) fn is_web(word: &str) -> bool {
    if word.contains("://") || word.to_ascii_lowercase().starts_with("www.") {
        return true;
    }
    word.split_once('/').is_some_and(|(host, _)| is_host(host))
}

/// A server's name, words with dots between of which the last has no digits; or its number (IPv4).
pub(super) fn is_host(word: &str) -> bool {
    let host = word.split(':').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let is_label =
        |label: &&str| !label.is_empty() && label.chars().all(|letter| letter.is_alphanumeric() || letter == '-');
    let top = labels.last().copied().unwrap_or_default();
    if labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok()) {
        return true;
    }
    labels.len() > 1
        && labels.iter().all(is_label)
        && top.chars().count() > 1
        && (top.starts_with("xn--") || top.chars().all(char::is_alphabetic))
}

/// The server of an address, without user and port.
pub(super) fn host(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next()?.rsplit('@').next()?;
    let host = match authority.strip_prefix('[') {
        Some(number) => number.split(']').next()?,
        None => authority.split(':').next()?,
    };
    (!host.is_empty()).then_some(host)
}

fn is_mail(word: &str) -> bool {
    word.split_once(AT).is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// The sign between name and server, and those that look like it.
pub(super) const AT: [char; 3] = ['@', '\u{ff20}', '\u{fe6b}'];

/// Account numbers (IBAN), in one piece or in groups, whose check digits are right.
fn accounts(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at + 15 <= letters.len() {
        let begins = (at == 0 || !letters[at - 1].is_alphanumeric())
            && letters[at..at + 2].iter().all(char::is_ascii_alphabetic)
            && letters[at + 2..at + 4].iter().all(char::is_ascii_digit);
        match begins.then(|| account(&letters[at..])).flatten() {
            Some((account, length)) => {
                found.push(account);
                at += length;
            }
            None => at += 1,
        }
    }
    found
}

/// The longest account number that letters begin with, and how many of them it takes.
fn account(letters: &[char]) -> Option<(String, usize)> {
    let mut plain = String::new();
    let mut found = None;
    for (at, letter) in letters.iter().enumerate() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => plain.push(letter.to_ascii_uppercase()),
            ' ' | '-' | '\u{a0}' => continue,
            _ => break,
        }
        let ends = letters.get(at + 1).is_none_or(|next| !next.is_alphanumeric());
        if ends && (15..=34).contains(&plain.len()) && checks(&plain) {
            found = Some((plain.clone(), at + 1));
        }
        if plain.len() > 34 {
            break;
        }
    }
    found
}

/// Whether the check digits of an account number are right (ISO 13616: the rest by 97 is 1).
fn checks(account: &str) -> bool {
    // No country's numbers have fewer digits, and words have none.
    if account.chars().filter(char::is_ascii_digit).count() < 8 {
        return false;
    }
    let (head, tail) = account.split_at(4);
    let digits = tail.chars().chain(head.chars()).filter_map(|letter| letter.to_digit(36));
    digits.fold(0u32, |rest, digit| if digit < 10 { (rest * 10 + digit) % 97 } else { (rest * 100 + digit) % 97 }) == 1
}

/// Whether a value is an address, a number or an id (`evt-2041`, `lobby-open`), which nobody makes up. Others are names (`general`), which texts
/// and models have by chance, and short numbers.
pub(super) fn is_telling(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    if is_address(value) || digits >= 7 {
        return true;
    }
    let is_joint = |(at, letter): (usize, char)| at > 0 && "-_.:/".contains(letter);
    let letters = value.chars().any(char::is_alphabetic);
    let one_word = !value.contains(char::is_whitespace);
    one_word && letters && (digits > 0 || value.char_indices().any(is_joint)) || one_word && digits >= 5
}

/// Whether a value is an address of mail or of the web.
pub(super) fn is_address(value: &str) -> bool {
    value.contains(AT) || is_web(value) || is_host(value)
}

/// Whether a value is a day or a time of day, which goes nowhere.
pub(super) fn is_time(value: &str) -> bool {
    let bytes = value.as_bytes();
    let digits = |from: usize, to: usize| bytes.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let day = digits(0, 4)
        && bytes.get(4) == Some(&b'-')
        && digits(5, 7)
        && (bytes.len() == 7 || bytes.get(7) == Some(&b'-') && digits(8, 10));
    let hour = digits(0, 2) && bytes.get(2) == Some(&b':') && digits(3, 5);
    (day || hour) && value.chars().all(|letter| letter.is_ascii_digit() || "-:+.TZ ".contains(letter))
}

/// A value as it is compared with what people said and servers filled in: without case, without a mark of a channel or a person before it,
/// numbers without what groups them.
pub(super) fn normal(value: &str) -> String {
    let value = value.trim().to_lowercase();
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let grouped = |letter: char| letter.is_ascii_alphanumeric() || " -()\u{a0}+".contains(letter);
    if digits >= 7 && value.chars().all(grouped) {
        return value.chars().filter(char::is_ascii_alphanumeric).collect();
    }
    value.strip_prefix(['#', '@']).unwrap_or(&value).to_string()
}

/// Letters and digits alone, without case and without what nobody sees: what is written with blanks and dots between is the same.
pub(super) fn squeezed(text: &str) -> String {
    crate::gate::fold::folded(text).chars().filter(|letter| letter.is_alphanumeric()).collect()
}
