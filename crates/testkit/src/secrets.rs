//! Secrets to plant: one of each kind, drawn, so that none of them is anybody's and none stands in a file.

use fastrand::Rng;

/// A secret as it is met.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its kind, as the vault names it.
    pub kind: &'static str,
    /// What is usually around it, the secret included.
    pub text: String,
    /// What must be nowhere: the secret, or its lines.
    pub secret: Vec<String>,
}

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Kinds that consist of a vendor's prefix and a fixed count of characters.
const VENDORS: &[(&str, &str, &str, usize)] = &[
    ("mainpath-key", "mp_", LETTERS, 43),
    ("vault-token", "hvs.", LETTERS, 95),
    ("docker-token", "dckr_pat_", LETTERS, 27),
    ("digitalocean-token", "dop_v1_", HEX, 64),
    ("databricks-token", "dapi", HEX, 32),
    ("shopify-token", "shpat_", HEX, 32),
    ("linear-key", "lin_api_", LETTERS, 40),
    ("doppler-token", "dp.pt.", LETTERS, 43),
    ("twilio-key", "SK", HEX, 32),
    ("notion-token", "ntn_", LETTERS, 46),
    ("figma-token", "figd_", LETTERS, 40),
    ("atlassian-token", "ATATT3", LETTERS, 186),
    ("newrelic-key", "NRAK-", CAPITALS, 27),
    ("grafana-token", "glsa_", LETTERS, 41),
    ("grafana-token", "eyJrIjoi", LETTERS, 80),
    ("sentry-token", "sntryu_", HEX, 64),
    ("heroku-key", "HRKU-AA", LETTERS, 58),
    ("xai-key", "xai-", LETTERS, 80),
    ("groq-key", "gsk_", LETTERS, 52),
    ("openrouter-key", "sk-or-v1-", HEX, 64),
    ("age-key", "AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    ("fly-token", "fo1_", LETTERS, 43),
    ("planetscale-token", "pscale_tkn_", LETTERS, 43),
    ("postman-key", "PMAK-", HEX, 59),
    ("pulumi-token", "pul-", HEX, 40),
    ("rubygems-key", "rubygems_", HEX, 48),
    ("brevo-key", "xkeysib-", HEX, 81),
    ("square-token", "sq0atp-", LETTERS, 22),
    ("prefect-token", "pnu_", LETTERS, 36),
    ("perplexity-key", "pplx-", LETTERS, 48),
    ("sendgrid-key", "SG.", LETTERS, 66),
];

fn drawn(rng: &mut Rng, from: &str, count: usize) -> String {
    let from: Vec<char> = from.chars().collect();
    // A digit first and last, so that no drawing is too plain to be a key.
    (0..count)
        .map(|at| if at == 0 || at + 2 == count { '7' } else { rng.choice(&from).copied().unwrap_or('x') })
        .collect()
}

/// A sample of every kind. The same seed draws the same ones.
pub fn samples(seed: u64) -> Vec<Sample> {
    let mut rng = Rng::with_seed(seed);
    let rng = &mut rng;
    let word = format!("{LETTERS}-_");
    let mut samples = Vec::new();
    let mut add = |kind, before: &str, secret: String, after: &str| {
        let text = format!("{before}{secret}{after}");
        samples.push(Sample { kind, text, secret: vec![secret] });
    };
    for prefix in ["AKIA", "ASIA"] {
        add("aws-key", "id ", format!("{prefix}{}", drawn(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)), ",");
    }
    add("credential", "aws_secret_access_key = ", drawn(rng, &format!("{LETTERS}+"), 40), "\n");
    add("github-token", "use ", format!("ghp_{}", drawn(rng, LETTERS, 36)), ".");
    add("github-token", "(", format!("github_pat_{}", drawn(rng, &format!("{LETTERS}_"), 82)), ")");
    add("gitlab-token", "\"", format!("glpat-{}", drawn(rng, &word, 20)), "\"");
    add("npm-token", "_authToken=", format!("npm_{}", drawn(rng, LETTERS, 36)), "\n");
    add("pypi-token", "", format!("pypi-AgEIcHlwaS5vcmc{}", drawn(rng, &word, 120)), " ");
    add("slack-token", "", format!("xoxb-{}-{}", drawn(rng, "0123456789", 12), drawn(rng, LETTERS, 24)), "!");
    add("slack-token", "https://hooks.slack.com/services/", format!("T0{}", drawn(rng, LETTERS, 40)), " ");
    add("stripe-key", "", format!("sk_live_{}", drawn(rng, LETTERS, 24)), ";");
    add("openai-key", "key: ", format!("sk-proj-{}", drawn(rng, &word, 120)), " ");
    add("openai-key", "'", format!("sk-{}", drawn(rng, LETTERS, 48)), "'");
    add("anthropic-key", "", format!("sk-ant-api03-{}AA", drawn(rng, &word, 93)), "\n");
    add("google-key", "?key=", format!("AIza{}", drawn(rng, &word, 35)), "&x=1");
    add("huggingface-token", "", format!("hf_{}", drawn(rng, LETTERS, 34)), " ");
    add("telegram-token", "bot7412589630:", format!("AA{}", drawn(rng, &word, 33)), "/getMe");
    add("feishu-webhook", "https://open.feishu.cn/open-apis/bot/v2/hook/", hex_words(rng), "\n");
    add("credential", "tenant_access_token: \"", format!("t-{}", drawn(rng, LETTERS, 32)), "\"");
    let token = |rng: &mut Rng| {
        format!("eyJ{}.eyJ{}.{}", drawn(rng, LETTERS, 33), drawn(rng, LETTERS, 80), drawn(rng, &word, 43))
    };
    add("jwt", "cookie: s=", token(rng), "; path=/");
    add("authorization", "Authorization: Bearer ", drawn(rng, LETTERS, 40), "\r\n");
    // `{user}:{password}` in base64.
    add("authorization", "authorization: basic ", basic(&drawn(rng, LETTERS, 21)), "\n");
    add("url-password", "postgres://app:", drawn(rng, LETTERS, 12), "@db.example/main?x=1");
    add("credential", "{\"password\": \"", drawn(rng, LETTERS, 24), "\"}");
    add("credential", "login --token ", drawn(rng, LETTERS, 32), " now");
    for (kind, prefix, from, count) in VENDORS {
        add(kind, "say ", format!("{prefix}{}", drawn(rng, from, *count)), " ");
    }
    add(
        "discord-webhook",
        "https://discord.com/api/webhooks/",
        format!("{}/{}", drawn(rng, DIGITS, 19), drawn(rng, &word, 68)),
        " ",
    );
    add("netrc-password", "machine host.example login me password ", drawn(rng, LETTERS, 12), "\n");
    add("curl-password", "curl -s -u me:", drawn(rng, LETTERS, 12), " https://host.example\n");
    let lines: Vec<String> = (0..3).map(|_| drawn(rng, LETTERS, 64)).collect();
    let text = format!("Private-Lines: 3\n{}\nPrivate-MAC: 00\n", lines.join("\n"));
    samples.push(Sample { kind: "putty-key", text, secret: lines });
    for label in ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"] {
        let lines: Vec<String> = (0..7).map(|at| drawn(rng, LETTERS, if at == 6 { 41 } else { 64 })).collect();
        let dashes = "-----";
        let text = format!("{dashes}BEGIN {label}{dashes}\n{}\n{dashes}END {label}{dashes}\n", lines.join("\n"));
        samples.push(Sample { kind: "private-key", text, secret: lines });
    }
    samples
}

fn hex_words(rng: &mut Rng) -> String {
    [8, 4, 4, 4, 12].map(|count| drawn(rng, "0123456789abcdef", count)).join("-")
}

/// Base64 of a name, a colon and this password, whose length with the name's leaves no remainder.
fn basic(password: &str) -> String {
    let text = format!("me:{password}");
    let alphabet: Vec<char> = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".chars().collect();
    let of = |three: &[u8]| {
        let bits = three.iter().fold(0usize, |bits, byte| bits << 8 | usize::from(*byte));
        [18, 12, 6, 0]
            .map(|shift| alphabet.get(bits >> shift & 63).copied().unwrap_or('='))
            .into_iter()
            .collect::<String>()
    };
    text.as_bytes().chunks(3).map(of).collect()
}
